// SPDX-License-Identifier: Apache-2.0
// What of a job is worth telling somebody who is not looking: all events of its life so far, out
// of its record, so that whoever looks knows the same ones by the same keys. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "job/job.h"
#include "spec/job_spec.h"

namespace stoker {

struct JobEvent {
  std::vector<std::string> is;  // of kNotifyEvents: a job that has failed has also ended
  std::string key;              // "end", "failure-2", "interruption-3", "no_machine-3", "rule-1"
  WallTime at;                  // store's clock
  int attempt = 0;              // 0 = of none
  std::string text;             // one line, printable
  std::string next;             // the command that comes next
};

// In the order in which they came. `no_machine`: so long without one is an event. `warnings`: what
// rules that only warn have said, in their order (MetricTotals::warnings).
std::vector<JobEvent> EventsOf(const Job& job, Duration no_machine,
                               const std::vector<std::string>& warnings, WallTime now);

// Whether `to` is told of such an event.
bool Wants(const NotifySpec& to, const JobEvent& event);

}  // namespace stoker
