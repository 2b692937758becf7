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

// Each provider has a case here.
Result<std::vector<Offer>> ResolveOffers(Context& context, const JobSpec& spec, WallTime submitted,
                                         bool has_private) {
  const Infra infra = ParseInfra(spec.resources.infra);
  STOKER_TRY(context.provider(infra.provider).status());
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
