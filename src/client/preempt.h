// SPDX-License-Identifier: Apache-2.0
// A fire drill: a job's machines get a real interruption notice.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "client/open/client.h"

namespace stoker::client {

struct PreemptWish {
  std::string job;                        // its id
  int node = -1;                          // only this one; -1 = all
  Duration lead = Duration::Seconds(30);  // how long the notice lasts
};

// One that has its notice.
struct Preempted {
  int node = 0;
  std::string instance;
};

// Says of each node that it has its notice. kInvalid: the job has no machine to take. kUsage: it
// has no such node, or the notice is longer than kMostLead. Where a provider refuses, those before
// it have theirs.
Result<std::vector<Preempted>> Preempt(Client& client, const PreemptWish& wish);

}  // namespace stoker::client
