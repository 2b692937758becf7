// SPDX-License-Identifier: Apache-2.0
// What looks after jobs in a cloud while nobody is at a desk: set up, taken away, told of.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/open/client.h"
#include "port/away.h"

namespace stoker::client {

// `infra`: as people write it, "aws" or "aws/us-east-1". What would be made; nothing is.
Result<AwayPlan> PlanAway(Client& client, const std::string& infra, Bound bound);
// Makes it, and notes it in the ledger, by which all who look know of it. What was done. kInvalid:
// one is set up in another place.
Result<std::vector<std::string>> InstallAway(Client& client, const std::string& infra,
                                             const AwayPlan& plan);
// What was taken away, of the regions that answer; with a region in `infra`, of that alone. Where
// anything may be left, what the ledger knows of it stays, too. Errors: nothing was asked; without
// a region in `infra` the note must be readable.
Result<AwayTaken> UninstallAway(Client& client, const std::string& infra);

// One that the ledger knows of.
struct AwaySeen {
  std::string title;  // of its provider, for people: "EC2"
  std::string where;
  std::string bound;
  std::string version;
  std::string did;
  std::optional<Duration> installed;  // so long ago
  std::optional<Duration> looked;     // at all jobs; unset: never yet
  std::string trouble;                // its note cannot be read
};
// None where nothing was set up, or the store does not answer.
std::vector<AwaySeen> SeeAway(Client& client);
// Has not looked for so long that it should have.
bool IsLate(const AwaySeen& seen);
// "a function at EC2 in us-east-1, which looked 3min ago".
std::string Told(const AwaySeen& seen);

}  // namespace stoker::client
