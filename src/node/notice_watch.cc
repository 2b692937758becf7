// SPDX-License-Identifier: Apache-2.0
#include "node/notice_watch.h"

#include <algorithm>
#include <chrono>

namespace stoker::node {
namespace {

constexpr int kTries = 3;
constexpr std::chrono::milliseconds kBetweenTries{400};
constexpr std::chrono::milliseconds kBetweenLooks{100};
constexpr int kLooksAtStop = 4;

}  // namespace

NoticeWatch::NoticeWatch(NodePlatform& platform, Clock& clock, Duration every, Changed changed,
                         Advised advised)
    : platform_(platform),
      clock_(clock),
      every_(every),
      changed_(std::move(changed)),
      advised_(std::move(advised)),
      thread_([this] { Run(); }) {}

NoticeWatch::~NoticeWatch() {
  stop_ = true;
  bell_.Ring();
  thread_.join();
}

Result<std::optional<Notice>> NoticeWatch::Poll() {
  auto answer = platform_.PollNotice();
  if (answer.ok()) answered_ = true;
  return answer;
}

void NoticeWatch::Tell(const std::optional<Notice>& notice) {
  std::optional<Notice> now;
  {
    const std::lock_guard lock(mutex_);
    // A machine that is shutting down does not take it back.
    if (stops_ && notice) stops_->unexplained = false;
    now = stops_ ? stops_ : notice;
    if (now == told_) return;
    told_ = now;
  }
  changed_(now);
}

void NoticeWatch::Run() {
  while (!stop_) {
    const auto answer = Poll();
    {
      const std::lock_guard lock(mutex_);
      trouble_ = answer.ok() ? "" : answer.status().WithContext("instance metadata").ToString();
    }
    if (answer.ok()) Tell(*answer);
    if (advised_) PollAdvice();
    bell_.Wait(every_.ms);
  }
}

// A service that does not answer says so to Poll.
void NoticeWatch::PollAdvice() {
  const auto advice = platform_.PollAdvice();
  if (!advice.ok() || !*advice || advice_ == (*advice)->at) return;
  advice_ = (*advice)->at;
  advised_(**advice);
}

// A platform that takes the machine at once tells it in the moment in which it shuts it down.
void NoticeWatch::HearFirst() {
  for (int looks = 0; looks < kLooksAtStop && !stop_; ++looks) {
    if (looks > 0) std::this_thread::sleep_for(kBetweenLooks);
    const auto answer = Poll();
    if (answer.ok()) Tell(*answer);
    if (!answer.ok() || answer->has_value()) return;
  }
}

void NoticeWatch::MachineStops(Duration left, const std::string& action) {
  told_to_stop_ = true;
  if (!MachineIsStopping()) HearFirst();
  {
    const std::lock_guard lock(mutex_);
    if (stops_) return;
    stops_ = Notice{action, clock_.Wall() + left, !told_.has_value()};
  }
  Tell(std::nullopt);
  Ask();
}

bool NoticeWatch::MachineIsStopping() {
  const std::lock_guard lock(mutex_);
  return stops_.has_value();
}

bool NoticeWatch::TakenNow(Duration at_least) {
  const MonoTime late = clock_.Mono() + std::max(Duration::Ms(late_ms_), at_least);
  for (int tries = 1;;) {
    if (MachineIsStopping()) return true;
    const auto answer = Poll();
    if (answer.ok()) {
      Tell(*answer);
      if (answer->has_value() || MachineIsStopping()) return true;
      if (stop_ || (clock_.Mono() >= late && !told_to_stop_)) return false;
      std::this_thread::sleep_for(kBetweenLooks);
      continue;
    }
    if (tries++ == kTries || stop_) return answered_;
    std::this_thread::sleep_for(kBetweenTries);
  }
}

std::string NoticeWatch::trouble() {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

}  // namespace stoker::node
