// SPDX-License-Identifier: Apache-2.0
// Asks the platform, again and again, whether it will take this machine.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "port/clock.h"
#include "port/node_platform.h"
#include "sys/bell.h"

namespace stoker::node {

// Thread-safe. `changed` is called from the watch's own thread (or from MachineStops) with each new
// answer; a service that does not answer changes nothing. `advised` is called from the same thread,
// once for each recommendation.
class NoticeWatch {
 public:
  using Changed = std::function<void(const std::optional<Notice>&)>;
  using Advised = std::function<void(const PlatformAdvice&)>;
  // `platform` and `clock` must outlive it; `advised` may be empty.
  NoticeWatch(NodePlatform& platform, Clock& clock, Duration every, Changed changed,
              Advised advised = nullptr);
  ~NoticeWatch();
  // The machine is shutting down: as good as a notice that runs out after `left`, and says
  // `action`. It is unexplained unless the platform has told one, which is given a moment, or tells
  // it later.
  void MachineStops(Duration left, const std::string& action = "terminate");
  // Asks now: true when a notice is out or the machine is shutting down. Without an answer it asks
  // twice more within a second. A service that has answered before and now does not counts as a
  // machine that goes away; one that never did tells nothing, so false. A no is one only `at_least`
  // so long after the call, and none while MachineStops gives the platform its moment.
  bool TakenNow(Duration at_least = {});
  // The platform may signal a program before its agent: a no of TakenNow is one only after `late`.
  void SignalsMayBeLate(Duration late) { late_ms_ = late.ms; }
  // Asks soon, without waiting for its turn.
  void Ask() { bell_.Ring(); }
  std::string trouble();

 private:
  void Run();
  void PollAdvice();
  bool MachineIsStopping();
  void HearFirst();
  void Tell(const std::optional<Notice>& notice);
  Result<std::optional<Notice>> Poll();

  NodePlatform& platform_;
  Clock& clock_;
  const Duration every_;
  const Changed changed_;
  const Advised advised_;
  std::optional<WallTime> advice_;  // of the thread: the last one's
  Bell bell_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> answered_{false};
  std::atomic<bool> told_to_stop_{false};  // MachineStops was called
  std::atomic<int64_t> late_ms_{0};
  std::mutex mutex_;
  std::optional<Notice> told_;
  std::optional<Notice> stops_;
  std::string trouble_;
  std::thread thread_;
};

}  // namespace stoker::node
