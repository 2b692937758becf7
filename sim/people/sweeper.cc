// SPDX-License-Identifier: Apache-2.0
// What an account has beside stoker: a rule of its owner, a platform's own expiry. It goes by what
// is written on the machines alone, and ends those of one ledger whose time is over.
#include <set>

#include "sim/people/actor.h"

namespace stoker::sim {

void SweepExpired(Session& session) {
  std::set<std::string> providers;
  for (const Zone& zone : session.world.cloud().zones) providers.insert(zone.provider);
  for (const std::string& name : providers) {
    const auto provider = session.clouds.Find(name);
    if (!provider.ok()) continue;
    const auto listed = (*provider)->Describe(session.ledger->id(), "");
    if (!listed.ok()) continue;
    for (const InstanceSeen& seen : *listed) {
      const bool over = session.world.cloud().Now() > seen.expires;
      const bool theirs = seen.ledger_id == session.ledger->id();
      if (over && theirs && !seen.freed) (void)(*provider)->Terminate(seen.id);
    }
  }
}

}  // namespace stoker::sim
