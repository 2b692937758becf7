// SPDX-License-Identifier: Apache-2.0
// Tells somebody of an event of a job. The controller asks it, in whichever process.
#pragma once

#include <string>

#include "base/status.h"
#include "job/job.h"
#include "spec/job_spec.h"

namespace stoker {

struct Notification {
  std::string job;    // id
  std::string name;   // of the job
  std::string event;  // "end", "failure", "interruption", "no_machine": the first that it is
  std::string key;    // the same for whoever sends it, and each time that it is sent
  std::string state;  // of the job
  std::string text;   // one line
  std::string lines;  // the last of the program's log, where it failed; "" = none
  std::string next;   // a command
  WallTime at;
};

class Notifier {
 public:
  virtual ~Notifier() = default;
  // Whether this process has what it takes: the secret that `to` names.
  virtual bool Knows(const Job& job, const JobSpec& spec, const NotifySpec& to) = 0;
  // Returns once it was taken, or not, in seconds. Transient errors and kCorrupt (an answer that
  // was cut off) may be tried again, and may have taken effect; no message holds the secret.
  virtual Status Send(const Job& job, const JobSpec& spec, const NotifySpec& to,
                      const Notification& what) = 0;
};

}  // namespace stoker
