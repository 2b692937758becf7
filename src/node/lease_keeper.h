// SPDX-License-Identifier: Apache-2.0
// The thread that moves the lease of a node's machine. It does nothing else: an answer of the
// platform's API may take minutes, or never come, and nobody waits for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "port/clock.h"
#include "port/node_platform.h"
#include "sys/bell.h"

namespace stoker::node {

// Thread-safe.
class LeaseKeeper {
 public:
  // `platform` and `clock` must outlive it. Renews at once and then every `every`, to `lease` after
  // the moment of asking. What fails is tried in its turn: a healthy agent has many before the end.
  LeaseKeeper(NodePlatform& platform, Clock& clock, Duration lease, Duration every)
      : platform_(platform), clock_(clock), lease_(lease), every_(every), thread_([this] {
          Run();
        }) {}
  // Waits for an answer that is still awaited.
  ~LeaseKeeper() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    bell_.Ring();
    thread_.join();
  }
  // The agent's main thread goes on. Where it has not for kHangs, nothing is renewed: a machine
  // whose agent hangs meets its limit, as one whose agent is dead.
  void Alive() { alive_ms_ = clock_.Mono().ms; }
  // The machine ends then, and nothing moves its lease any more. Told again and again: who clears
  // up may not have heard of it yet.
  void Keep(WallTime until) {
    {
      const std::lock_guard lock(mutex_);
      kept_until_ = until;
    }
    bell_.Ring();
  }

 private:
  void Run() {
    for (;;) {
      std::optional<WallTime> kept;
      {
        const std::lock_guard lock(mutex_);
        if (stop_) return;
        kept = kept_until_;
      }
      const bool hangs = clock_.Mono().ms - alive_ms_ > kHangs.ms;
      if (kept || !hangs) {
        (void)(kept ? platform_.Keep(*kept) : platform_.Renew(clock_.Wall() + lease_));
      }
      bell_.Wait(every_.ms);
    }
  }

  static constexpr Duration kHangs = Duration::Minutes(10);

  NodePlatform& platform_;
  Clock& clock_;
  std::atomic<int64_t> alive_ms_{clock_.Mono().ms};
  const Duration lease_;
  const Duration every_;
  Bell bell_;
  std::mutex mutex_;
  bool stop_ = false;  // guarded by mutex_, like what follows
  std::optional<WallTime> kept_until_;
  std::thread thread_;
};

}  // namespace stoker::node
