// SPDX-License-Identifier: Apache-2.0
#include "cli/offers.h"

#include "cli/ec2_offers.h"
#include "cli/gce_offers.h"
#include "cli/machine_wants.h"
#include "cli/slurm_offers.h"
#include "cli/ssh_offers.h"
#include "policy/local_queue.h"
#include "provider/ssh/ssh_provider.h"
#include "spec/text/infra.h"

namespace stoker::cli {

Status CheckPlace(const JobSpec& spec) {
  if (ParseInfra(spec.resources.infra).provider == kLocalProvider) return CheckItFits(spec);
  return Status::Ok();
}

namespace {

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

}  // namespace

// Each provider has a case here.
Result<std::vector<Offer>> ResolveOffers(Context& context, const JobSpec& spec, WallTime submitted,
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

}  // namespace stoker::cli
