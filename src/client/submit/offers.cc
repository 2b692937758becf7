// SPDX-License-Identifier: Apache-2.0
#include "client/submit/offers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "client/submit/machine_wants.h"
#include "ledger/blobs.h"
#include "provider/job_secrets.h"
#include "provider/local/local_prospect.h"
#include "provider/registry.h"
#include "spec/choices.h"
#include "spec/text/infra.h"

namespace stoker::client {
namespace {

bool IsLocal(const JobSpec& spec) {
  return ParseInfra(spec.resources.infra).provider == kLocalProvider;
}

// That a place cannot do it is said before anything is made.
Status CheckOnStop(const Provider& provider, const JobSpec& spec) {
  if (spec.on_stop == OnStop::kReplace || provider.traits().can_start) return Status::Ok();
  return Status(Code::kInvalid,
                "on_stop: restart: machines of " + spec.resources.infra +
                    " never come up again once they are off",
                "Leave on_stop out: what is taken is replaced");
}

Status CheckContainer(const BrokerTraits& traits, const JobSpec& spec) {
  if (spec.container.image.empty() || traits.runs_containers) return Status::Ok();
  return Status(Code::kInvalid,
                std::string("container: ") + traits.machines +
                    " cannot run the program in one: that is not built yet",
                "Start the container in 'run', or name this machine or boxes that ssh reaches");
}

Status CheckCloudLog(const BrokerTraits& traits, const JobSpec& spec) {
  if (!spec.logs.cloud || CloudLogOf(traits.name).open != nullptr) return Status::Ok();
  return Status(Code::kInvalid,
                std::string("logs.cloud: ") + traits.machines + " have no cloud that keeps logs",
                "Leave it out, here or of the choices: 'stoker logs' has all lines anyway");
}

// Of a job that goes to one place.
Result<std::vector<Offer>> ResolveOne(Client& client, const JobSpec& spec, WallTime submitted,
                                      bool has_private) {
  const Infra infra = ParseInfra(spec.resources.infra);
  STOKER_ASSIGN(Broker * broker, client.broker(infra.provider));
  STOKER_TRY(CheckContainer(broker->traits(), spec));
  STOKER_TRY(CheckCloudLog(broker->traits(), spec));
  STOKER_ASSIGN(const Provider* const provider, broker->Machines());
  STOKER_TRY(CheckOnStop(*provider, spec));
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  const OfferAsk ask{spec,      infra.where, infra.within, {ledger->id(), &ledger->store()},
                     submitted, has_private};
  STOKER_TRY(broker->Reach(ask));
  STOKER_TRY(CheckReferences(spec, broker->traits()));
  return broker->Resolve(ask);
}

bool Has(const Offer& offer, bool BrokerTraits::*trait) {
  const BrokerTraits* const traits = TraitsOf(offer.ask.place.provider);
  return traits != nullptr && traits->*trait;
}

// As a choice among others: which are asked first.
void TakePart(const JobSpec& all, size_t number, std::vector<Offer>* offers) {
  for (Offer& offer : *offers) {
    // Machines of one's own cost nothing more.
    const int cheapest = Has(offer, &BrokerTraits::rents) ? 1 : 0;
    offer.rank = all.ordered ? static_cast<int>(number) : cheapest;
  }
}

// What is full is not waited for in line, where others may have room.
void WaitForNone(std::vector<Offer>* offers) {
  for (Offer& offer : *offers) {
    if (!Has(offer, &BrokerTraits::has_line)) continue;
    std::string& options = offer.ask.options;
    options += (options.empty() ? "" : " ") + std::string(kNoWaiting);
  }
}

// What cannot be had now, or not of what is there, leaves the others: "" = it is a mistake.
std::string WhyWithout(const JobSpec& one, const Status& status) {
  const bool passes = status.transient() || status.Is(Code::kUnavailable);
  const bool lacks = IsLocal(one) && !CheckItFits(one).ok();
  if (!passes && !lacks) return "";
  return "without " + one.resources.infra + ": " + status.message();
}

}  // namespace

const BrokerTraits& TraitsOfChoice(const JobSpec& choice) {
  static constexpr BrokerTraits kNone{"", "", "", {}};
  const BrokerTraits* const traits = TraitsOf(ParseInfra(choice.resources.infra).provider);
  return traits != nullptr ? *traits : kNone;
}

bool AnyChoiceHas(const JobSpec& spec, bool BrokerTraits::*trait) {
  const std::vector<JobSpec> choices = ChoicesOf(spec);
  return std::any_of(choices.begin(), choices.end(),
                     [&](const JobSpec& one) { return TraitsOfChoice(one).*trait; });
}

Status CheckPlace(const JobSpec& spec) {
  std::vector<JobSpec> choices = ChoicesOf(spec);
  if (choices.size() > 1) return Status::Ok();  // others may have it
  return IsLocal(spec) ? CheckItFits(spec) : Status::Ok();
}

Result<std::vector<Offer>> ResolveOffers(Client& client, const JobSpec& spec, WallTime submitted,
                                         bool has_private) {
  const std::vector<JobSpec> choices = ChoicesOf(spec);
  if (choices.size() == 1) return ResolveOne(client, spec, submitted, has_private);
  std::vector<Offer> all;
  std::vector<std::string> without;
  for (size_t i = 0; i < choices.size(); ++i) {
    const JobSpec& one = choices[i];
    const Status fits = IsLocal(one) ? CheckItFits(one) : Status::Ok();
    auto offers = fits.ok() ? ResolveOne(client, one, submitted, has_private)
                            : Result<std::vector<Offer>>(fits);
    if (offers.ok()) {
      TakePart(spec, i, &*offers);
      all.insert(all.end(), std::make_move_iterator(offers->begin()),
                 std::make_move_iterator(offers->end()));
      continue;
    }
    const std::string why = WhyWithout(one, offers.status());
    if (why.empty()) return offers.status().WithContext(one.resources.infra);
    without.push_back(why);
  }
  if (all.empty()) {
    return Status(Code::kInvalid, "none of the choices can be had: " + Join(without, "; "),
                  "Ask for less, or name more places under 'any_of'");
  }
  if (all.size() > kMostOffers) {
    return Status(Code::kInvalid,
                  "the choices come to " + std::to_string(all.size()) +
                      " ways to have the machines; at most " + std::to_string(kMostOffers) +
                      " can be kept",
                  "Name fewer of them, or zones instead of regions");
  }
  for (const std::string& why : without) client.Say(why);
  if (without.size() + 1 < choices.size()) WaitForNone(&all);
  return all;
}

Status CompleteOffers(Client& client, const std::string& binary_digest,
                      std::vector<Offer>* offers) {
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  STOKER_ASSIGN(const BlobCopy binary, FindBlob(*ledger, binary_digest));
  // Those of one account and region are completed together.
  const auto together = [](const Offer& a, const Offer& b) {
    return a.ask.place.provider == b.ask.place.provider &&
           a.ask.place.account == b.ask.place.account && a.ask.place.region == b.ask.place.region;
  };
  std::vector<Offer> out;
  for (size_t at = 0; at < offers->size();) {
    std::vector<Offer> group;
    do {
      group.push_back((*offers)[at++]);
    } while (at < offers->size() && together(group.front(), (*offers)[at]));
    STOKER_ASSIGN(Broker * broker, client.broker(group.front().ask.place.provider));
    STOKER_TRY(broker->Complete({ledger->id(), &ledger->store()}, binary.period, &group));
    out.insert(out.end(), group.begin(), group.end());
  }
  *offers = std::move(out);
  return Status::Ok();
}

}  // namespace stoker::client
