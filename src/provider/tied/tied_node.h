// SPDX-License-Identifier: Apache-2.0
// An agent on a local machine that was begun inside an allocation of Slurm which is not stoker's:
// what the end of that means for its job.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "port/clock.h"
#include "provider/local/local_boot.h"
#include "provider/tied/allocation_watch.h"

namespace stoker {

// What its agent does for it; all but `cancel` return soon.
struct TiedTo {
  std::function<void(const std::string& line)> say;   // in the log
  std::function<void(const std::string& by)> cancel;  // writes it into the record
  std::function<void(Duration left)> stops;           // as a host that shuts down
  std::function<void()> signalled;                    // the program, too, by Slurm itself
  std::function<void(Duration late)> may_be_late;     // … and before its agent
};

class TiedNode {
 public:
  // From now on the end of the allocation is a notice, and a cancel of the job, written before that
  // is told of, unless the job is to outlive it. `dir`: the machine's folder; where that was not
  // begun inside an allocation it does nothing. What `to` refers to outlives Leave, and what
  // `cancel` does this.
  TiedNode(const std::string& dir, Clock& clock, TiedTo to);
  // Waits for what it still writes; the store's tries are to be over by then.
  ~TiedNode();
  // SIGTERM has come to this process. True: of Slurm, and heeded.
  bool Signalled();
  void Leave();

 private:
  void Ends(const std::string& why, Duration left);

  const LocalAllocation allocation_;
  const TiedTo to_;
  std::mutex mutex_;
  std::unique_ptr<AllocationWatch> watch_;
  std::thread cancel_;
};

}  // namespace stoker
