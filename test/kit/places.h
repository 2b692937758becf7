// SPDX-License-Identifier: Apache-2.0
// For tests of job files that link no registry: the words of all places are known.
#pragma once

#include "provider/ec2/broker/ec2_broker.h"
#include "provider/gce/broker/gce_broker.h"
#include "provider/slurm/slurm_broker.h"
#include "provider/ssh/ssh_broker.h"
#include "spec/text/infra.h"

namespace stoker {

inline const bool kPlacesAreKnown = [] {
  for (const BrokerTraits& traits : {kSlurmBroker, kSshBroker, kEc2Broker, kGceBroker}) {
    LearnInfra(traits.name, traits.infra);
  }
  return true;
}();

}  // namespace stoker
