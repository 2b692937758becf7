// SPDX-License-Identifier: Apache-2.0
// What may pass, as a daemon that is away or a registry that is asked too often, is asked for
// again, with pauses, for a stated time.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "node/env/shell_step.h"
#include "port/clock.h"

namespace stoker::node {

struct PatienceRule {
  Duration most;     // from the first answer that may pass
  Duration pause;    // before the second try; then twice as long each time
  Duration longest;  // pause
  bool (*passes)(const Status&);
};
// An engine's own answers: as long as a machine's services may take to come up again.
extern const PatienceRule kEnginePatience;
// A registry's, which the engine that pulls has tried again already.
extern const PatienceRule kRegistryPatience;

// Over one or several questions; used by one thread.
class Patience {
 public:
  // `clock` must outlive it.
  Patience(const PatienceRule& rule, Clock& clock) : rule_(rule), clock_(clock) {}

  // Asks until the answer is one that stays. An answer that took all of its time (kTimeout) counts
  // from when it was asked for. Each reason is told to `say` once. kInvalid: it did not pass in
  // time, with for how long; kCancelled: `step` was, which is heard at once also while it pauses.
  Status Await(ShellStep& step, const std::function<void(const std::string&)>& say,
               const std::function<Status()>& ask);
  // What it was about is there: the next trouble has the whole time again.
  void Reset() { since_.reset(); }

 private:
  const PatienceRule& rule_;
  Clock& clock_;
  std::optional<MonoTime> since_;
  std::string said_;
};

}  // namespace stoker::node
