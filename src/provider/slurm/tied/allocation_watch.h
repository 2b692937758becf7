// SPDX-License-Identifier: Apache-2.0
// Of an agent whose machine was begun inside an allocation of Slurm: when does that end, and how?
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/status.h"
#include "base/time.h"
#include "port/clock.h"
#include "provider/local/local_boot.h"
#include "provider/slurm/slurm_allocation.h"
#include "provider/slurm/slurm_tools.h"

namespace stoker {

// Looks at the step's daemon, which is on this machine, four times a second, and asks Slurm when
// that has ended, when this process was signalled, and every 15 seconds. Thread-safe.
class AllocationWatch {
 public:
  // `why`: as AllocationSeen has it. `left`: what Slurm leaves for what is inside.
  using Ends = std::function<void(const std::string& why, Duration left)>;
  // `ends` is called once, from the watch's own thread.
  AllocationWatch(LocalAllocation allocation, Clock& clock, Ends ends);
  ~AllocationWatch();
  const LocalAllocation& allocation() const { return allocation_; }
  // Does Slurm signal and end what is inside by itself, this process too?
  bool held() const { return held_; }
  // SIGTERM has come: from Slurm, or from a host that shuts down. Waits for Slurm's answer, two
  // seconds at most. True: the allocation ends, and `ends` is or was called.
  bool Signalled();
  // Between SIGTERM and SIGKILL, as Slurm has it.
  Duration Leaves() const { return Duration::Ms(leaves_ms_); }

 private:
  void Run();
  void Ring();
  bool Wait();  // true: it was rung

  const LocalAllocation allocation_;
  const bool held_;
  Clock& clock_;
  const Ends ends_;
  SlurmTools tools_;
  std::mutex mutex_;
  std::condition_variable rang_;
  bool rung_ = false;
  std::atomic<bool> stop_{false};
  std::atomic<bool> signalled_{false};
  std::atomic<bool> ends_seen_{false};
  std::atomic<int> answers_{0};
  std::atomic<int64_t> leaves_ms_;
  std::thread thread_;
};

}  // namespace stoker
