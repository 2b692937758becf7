// SPDX-License-Identifier: Apache-2.0
#include "client/clear/rm.h"

#include <chrono>
#include <iterator>
#include <thread>

#include "base/text.h"
#include "client/open/reserve.h"
#include "controller/controller.h"
#include "ledger/collect/doomed.h"
#include "ledger/paths.h"

namespace stoker::client {
namespace {

constexpr Duration kPatience = Duration::Seconds(10);

// It may have ended, and nobody has noticed; the machine of one that has just ended goes within a
// moment.
void AwaitEnd(Client& client, Ledger& ledger, Controller& controller, const std::string& id) {
  const MonoTime until = client.clock().Mono() + kPatience;
  for (;;) {
    const auto pass = controller.Pass(id);
    const bool over = !pass.ok() || !IsFinal(pass->job.state) ||
                      KeptUntil(pass->job, pass->store_now) ||
                      !ledger.store().Head(paths::Active(id)).ok();
    if (over || client.clock().Mono() >= until) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

std::set<std::string> Resolve(Client& client, const std::vector<std::string>& words, Ledger& ledger,
                              Controller& controller, Refused* refused) {
  std::set<std::string> ids;
  for (const std::string& word : words) {
    const auto id = client.ResolveJob(word);
    if (!id.ok()) {
      refused->emplace_back(Printable(word), id.status());
      continue;
    }
    AwaitEnd(client, ledger, controller, *id);
    ids.insert(*id);
  }
  return ids;
}

Status MustStay(const Survey& survey, const std::string& id) {
  if (survey.unreadable.contains(id)) {
    return Status(Code::kInvalid, "the record of job " + id + " cannot be read: it may run",
                  "docs/bucket-layout.md says how to give up such a job");
  }
  if (survey.active.contains(id)) {
    const auto kin = survey.kin.find(id);
    const bool ended = kin != survey.kin.end() && kin->second.ended;
    return Status(Code::kInvalid,
                  "job " + id + (ended ? " has machines that are not gone yet" : " has not ended"),
                  "'stoker cancel " + id + "' ends " + (ended ? "them" : "it"));
  }
  return Status::Ok();
}

// Takes out of `ids` what must stay.
void Refuse(const Survey& survey, std::set<std::string>* ids, Refused* refused) {
  for (auto id = ids->begin(); id != ids->end();) {
    const Status why = MustStay(survey, *id);
    if (!why.ok()) refused->emplace_back(*id, why);
    id = why.ok() ? std::next(id) : ids->erase(id);
  }
  for (const auto& [id, by] : NeededOf(survey, *ids)) {
    ids->erase(id);
    refused->emplace_back(id, survey.blind.contains(by)
                                  ? Status(Code::kInvalid,
                                           "job " + id + " stays: the record of job " + by +
                                               " cannot be read, and it may begin from any other",
                                           "Put back an older version of records/" + by + ".json")
                                  : Status(Code::kInvalid,
                                           "job " + id + " stays: job " + by +
                                               " goes on from it, and may still begin from it",
                                           "Remove both: stoker rm " + id + " " + by));
  }
}

}  // namespace

Result<Removable> FindRemovable(Client& client, const std::vector<std::string>& words) {
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  STOKER_ASSIGN(Controller * controller, client.controller());
  Removable found;
  found.ids = Resolve(client, words, *ledger, *controller, &found.refused);
  STOKER_TRY(Recheck(
      *ledger, [&](const std::string& what) { client.Progress(what); }, &found.survey));
  Refuse(found.survey, &found.ids, &found.refused);
  return found;
}

Result<RemovedJobs> RemoveJobs(Client& client, bool now, Removable* jobs) {
  STOKER_ASSIGN(Ledger * opened, client.ledger());
  Ledger& ledger = *opened;
  RemovedJobs done;
  const std::vector<std::string> ids(jobs->ids.begin(), jobs->ids.end());
  if (ids.empty()) return done;
  CollectRequest request;
  request.by = client.user();
  request.progress = [&](const std::string& what) { client.Progress(what); };
  if (now) {
    STOKER_ASSIGN(done.removed, RemoveNow(ledger, ids, request, &jobs->survey));
    return done;
  }
  // What is doomed already goes when it was to go.
  STOKER_ASSIGN(const DoomedRead doomed, ReadDoomed(ledger));
  const auto already = GoesAt(doomed);
  std::vector<std::string> fresh;
  for (const std::string& id : ids) {
    if (!already.contains(id)) fresh.push_back(id);
  }
  auto lists = Doom(ledger, doomed.now, fresh, {}, request.by, false);
  if (lists.status().Is(Code::kNoSpace) && LetGoOfReserve(client)) {
    lists = Doom(ledger, doomed.now, fresh, {}, request.by, false);
    KeepReserve(client);
  }
  if (lists.status().Is(Code::kNoSpace)) {
    return lists.status().WithNext("'stoker rm --now' removes a job at once, and needs no room");
  }
  if (!lists.ok()) return lists.status();
  for (const std::string& id : ids) {
    const auto known = already.find(id);
    done.goes[id] = known != already.end() ? known->second : doomed.now + kDoomedFor;
  }
  return done;
}

}  // namespace stoker::client
