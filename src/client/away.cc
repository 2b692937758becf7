// SPDX-License-Identifier: Apache-2.0
#include "client/away.h"

#include <utility>

#include "base/text.h"
#include "controller/away/away_note.h"
#include "controller/away/bound.h"
#include "ledger/places.h"
#include "spec/text/infra.h"

namespace stoker::client {
namespace {

// It looks each five minutes; a run that failed is repeated within three.
constexpr Duration kLate = Duration::Minutes(15);

Result<Infra> Place(const std::string& word) {
  const auto infra = CheckInfra("WHERE", word);
  if (infra.ok()) return ParseInfra(*infra);
  return Status(Code::kUsage, infra.status().message(), infra.status().next());
}

// What the note says of where it is taken away.
Status IsElsewhere(const std::string& infra, const std::string& noted) {
  const std::string word = Printable(infra.substr(0, infra.find('/')));
  const std::string region = noted.substr(noted.rfind('.') + 1);  // npos + 1 is 0
  return {
      Code::kInvalid,
      "one is set up at " + word + " in " + Printable(noted) + ", and a ledger has one there alone",
      "Take that away first: stoker controller --uninstall " + word + "/" + Printable(region)};
}

// Again while others, a run of it among them, write it too. `bound`: as it is from now on; null =
// it is not known yet.
Status Note(Ledger& ledger, const std::string& provider, const std::string& infra,
            const std::string& place, const Bound* bound) {
  for (int time = 0; time < 10; ++time) {
    STOKER_ASSIGN(AwayRead read, ReadAway(ledger, provider));
    if (!read.note.where.empty() && !IsSamePlace(read.note.where, place)) {
      return IsElsewhere(infra, read.note.where);
    }
    if (read.note.installed.ms == 0) read.note.installed = read.store_now;
    read.note.where = place;
    if (bound != nullptr) read.note.bound = Described(*bound);
    const auto written = WriteAway(ledger, provider, read);
    if (!written.status().Is(Code::kConflict)) return written.status();
  }
  return Status(Code::kBusy, "what was set up could not be noted in the ledger: others write it",
                "Run this again");
}

}  // namespace

Result<AwayPlan> PlanAway(Client& client, const std::string& infra, Bound bound) {
  STOKER_ASSIGN(const Infra parts, Place(infra));
  STOKER_ASSIGN(AwayHost * host, client.away(parts.provider));
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  AwayWish wish;
  wish.ledger = ledger->id();
  wish.store = &ledger->store();
  wish.where = parts.where;
  wish.bound = std::move(bound);
  wish.binary = client.self_exe();
  return host->Plan(wish);
}

Result<std::vector<std::string>> InstallAway(Client& client, const std::string& infra,
                                             const AwayPlan& plan) {
  STOKER_ASSIGN(const Infra parts, Place(infra));
  STOKER_ASSIGN(AwayHost * host, client.away(parts.provider));
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  // Before anything is made, so that --uninstall knows where to look.
  const std::string& place = plan.place.empty() ? plan.wish.where : plan.place;
  STOKER_TRY(Note(*ledger, parts.provider, infra, place, nullptr));
  auto done = host->Install(plan);
  if (!done.ok()) return done;
  STOKER_TRY(Note(*ledger, parts.provider, infra, place, &plan.wish.bound));
  return done;
}

Result<AwayTaken> UninstallAway(Client& client, const std::string& infra) {
  STOKER_ASSIGN(const Infra parts, Place(infra));
  STOKER_ASSIGN(AwayHost * host, client.away(parts.provider));
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  STOKER_ASSIGN(const auto noted, NotedPlaces(ledger->store(), parts.provider));
  const auto read = ReadAway(*ledger, parts.provider);
  if (!read.ok() && parts.where.empty()) {
    return Status(read.status().code(),
                  "where it was set up cannot be read: " + read.status().message(),
                  "Name the region: " + Printable(infra) + "/REGION");
  }
  // With a region, one that cannot be read is taken away with the rest.
  const AwayWhere where = WhereToTake(parts.where, noted, read.ok() ? read->note : AwayNote());
  if (where.regions.empty()) {
    return Status(Code::kInvalid, "the ledger has noted no region of " + Printable(infra),
                  "Name the one in which to look: " + Printable(infra) + "/REGION");
  }
  AwayTaken taken = host->Uninstall(ledger->id(), where);
  // By it others, and the next try, know where to look.
  if (taken.left.ok() && where.shared) taken.left = RemoveAway(*ledger, parts.provider);
  return taken;
}

std::vector<AwaySeen> SeeAway(Client& client) {
  std::vector<AwaySeen> all;
  const auto ledger = client.ledger();
  if (!ledger.ok()) return all;
  for (const std::string& provider : AwayProviders(**ledger).value_or(std::vector<std::string>())) {
    AwaySeen seen;
    const auto broker = client.broker(provider);
    seen.title = broker.ok() ? (*broker)->traits().title : Printable(provider);
    const auto read = ReadAway(**ledger, provider);
    if (!read.ok()) {
      seen.trouble = read.status().ToString();
    } else {
      const AwayNote& note = read->note;
      seen.where = Printable(note.where);
      seen.bound = Printable(note.bound);
      seen.version = Printable(note.version);
      seen.did = Printable(note.did);
      if (note.installed.ms > 0) seen.installed = read->store_now - note.installed;
      if (note.looked.ms > 0) seen.looked = read->store_now - note.looked;
    }
    all.push_back(std::move(seen));
  }
  return all;
}

bool IsLate(const AwaySeen& seen) {
  if (seen.looked) return *seen.looked > kLate;
  return !seen.installed || *seen.installed > kLate;
}

std::string Told(const AwaySeen& seen) {
  std::string text = "a function at " + seen.title;
  if (!seen.where.empty()) text += " in " + seen.where;
  if (!seen.trouble.empty()) return text + ", of which nothing can be read: " + seen.trouble;
  text += seen.looked ? ", which looked " + HumanDuration(*seen.looked) + " ago"
                      : ", which has not looked yet";
  if (IsLate(seen)) text += " and should have looked since: see its log, or 'stoker doctor'";
  return text;
}

}  // namespace stoker::client
