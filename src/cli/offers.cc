// SPDX-License-Identifier: Apache-2.0
#include "cli/offers.h"

#include <iterator>

#include "base/text.h"
#include "cli/ec2_offers.h"
#include "cli/gce_offers.h"
#include "cli/machine_wants.h"
#include "cli/slurm_offers.h"
#include "cli/ssh_offers.h"
#include "policy/local_queue.h"
#include "provider/local/local_prospect.h"
#include "provider/ssh/ssh_provider.h"
#include "spec/choices.h"
#include "spec/text/infra.h"

namespace stoker::cli {
namespace {

bool IsLocal(const JobSpec& spec) {
  return ParseInfra(spec.resources.infra).provider == kLocalProvider;
}

// That a place cannot do it is said before anything is made.
Status CheckOnStop(const Provider& provider, const JobSpec& spec) {
  if (spec.on_stop == OnStop::kReplace) return Status::Ok();
  const std::string next = "Leave on_stop out: what is taken is replaced";
  if (!provider.traits().can_start) {
    return Status(Code::kInvalid,
                  "on_stop: restart: machines of " + spec.resources.infra +
                      " never come up again once they are off",
                  next);
  }
  if (provider.traits().name == kEc2Provider && spec.resources.use_spot) {
    return Status(Code::kInvalid,
                  "on_stop: restart: EC2 ends the spot instances that stoker asks for when it "
                  "takes them",
                  next);
  }
  return Status::Ok();
}

// Of a job that goes to one place. Each provider has a case here.
Result<std::vector<Offer>> ResolveOne(Context& context, const JobSpec& spec, WallTime submitted,
                                      bool has_private) {
  const Infra infra = ParseInfra(spec.resources.infra);
  STOKER_ASSIGN(const Provider* const provider, context.provider(infra.provider));
  STOKER_TRY(CheckOnStop(*provider, spec));
  if (infra.provider == kSshProvider) {
    return ResolveSshOffers(context, spec, infra.where, submitted, has_private);
  }
  if (infra.provider == kEc2Provider) return ResolveEc2Offers(context, spec);
  if (infra.provider == kGceProvider) return ResolveGceOffers(context, spec);
  if (IsOnSlurm(spec)) return ResolveSlurmOffers(context, spec, infra.where);
  Offer offer;
  offer.ask.place.provider = infra.provider;
  offer.ask.options = EncodeWants(WantsOf(spec, submitted));
  return std::vector<Offer>{offer};
}

// As a choice among others: which are asked first.
void TakePart(const JobSpec& all, size_t number, std::vector<Offer>* offers) {
  for (Offer& offer : *offers) {
    const std::string& provider = offer.ask.place.provider;
    const bool cloud = provider == kEc2Provider || provider == kGceProvider;
    // Machines of one's own cost nothing more.
    offer.rank = all.ordered ? static_cast<int>(number) : (cloud ? 1 : 0);
  }
}

// What is full is not waited for in line, where others may have room.
void WaitForNone(std::vector<Offer>* offers) {
  for (Offer& offer : *offers) {
    const std::string& provider = offer.ask.place.provider;
    if (provider != kLocalProvider && provider != kSshProvider) continue;
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

Status CheckPlace(const JobSpec& spec) {
  std::vector<JobSpec> choices = ChoicesOf(spec);
  if (choices.size() > 1) return Status::Ok();  // others may have it
  return IsLocal(spec) ? CheckItFits(spec) : Status::Ok();
}

Result<std::vector<Offer>> ResolveOffers(Context& context, const JobSpec& spec, WallTime submitted,
                                         bool has_private) {
  const std::vector<JobSpec> choices = ChoicesOf(spec);
  if (choices.size() == 1) return ResolveOne(context, spec, submitted, has_private);
  std::vector<Offer> all;
  std::vector<std::string> without;
  for (size_t i = 0; i < choices.size(); ++i) {
    const JobSpec& one = choices[i];
    const Status fits = IsLocal(one) ? CheckItFits(one) : Status::Ok();
    auto offers = fits.ok() ? ResolveOne(context, one, submitted, has_private)
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
  for (const std::string& why : without) context.Say(why);
  if (without.size() + 1 < choices.size()) WaitForNone(&all);
  return all;
}

}  // namespace stoker::cli
