// SPDX-License-Identifier: Apache-2.0
// Secrets that expire, kept and renewed for all threads of a process.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "base/time.h"

namespace stoker {

// Hands out a T that is good now. T has `expires` (optional<WallTime>; unset: it does not) and
// `source` (for messages). Looks when it is first asked, and again before what it found expires: a
// `soon` before the end somebody renews while others get what is there, a `must` before the end all
// wait for it. Thread-safe.
template <typename T>
class Renewing {
 public:
  struct Options {
    Duration soon;
    Duration must;
    std::function<Result<T>()> find;  // thread-safe; may take its time
    std::function<WallTime()> now;
  };
  explicit Renewing(Options options) : options_(std::move(options)) {}

  // May take as long as finding takes. When renewal fails, what was there is handed out while it
  // lasts, and renewal is tried again after a minute (soon) or ten seconds (must). What fails after
  // it has worked once is kUnavailable, whatever `find` calls it: ask again later.
  Result<T> Get() {
    std::unique_lock lock(mutex_);
    while (true) {
      const WallTime now = options_.now();
      const Need need = NeedAt(now);
      if (need == Need::kPause) return Outcome(now);
      if (need == Need::kNothing || (need == Need::kSoon && looking_)) return *current_;
      if (!looking_) return Look(lock);
      const int64_t seen = looks_;
      changed_.wait(lock, [&] { return looks_ != seen; });
      // What was found may have been rejected before this thread woke.
      if (current_ || !failure_.ok()) return Outcome(options_.now());
    }
  }

  // What is there is taken no longer, if `is` says that it is that: the next Get() looks again, and
  // when that fails, those of the ten seconds after it get its failure.
  void Reject(const std::function<bool(const T&)>& is) {
    const std::lock_guard lock(mutex_);
    if (!current_ || !is(*current_)) return;
    current_.reset();
    failure_ = Status::Ok();  // that of an earlier look holds nobody up
  }

 private:
  enum class Need { kNothing, kSoon, kNow, kPause };

  Result<T> Look(std::unique_lock<std::mutex>& lock) {
    looking_ = true;
    lock.unlock();
    auto found = options_.find();
    lock.lock();
    const WallTime now = options_.now();
    looking_ = false;
    Take(std::move(found), now);
    changed_.notify_all();
    return Outcome(now);
  }

  Need NeedAt(WallTime now) const {
    if (!current_) {
      const bool pause = !worked_with_.empty() && !failure_.ok() && now < not_before_;
      return pause ? Need::kPause : Need::kNow;
    }
    if (!current_->expires || *current_->expires - now >= options_.soon) return Need::kNothing;
    const bool over = *current_->expires <= now;
    // After a failure, what still lasts is good enough for a while.
    if (!over && !failure_.ok() && now < not_before_) return Need::kNothing;
    return *current_->expires - now >= options_.must ? Need::kSoon : Need::kNow;
  }

  void Take(Result<T> found, WallTime now) {
    ++looks_;
    if (found.ok()) {
      current_ = std::move(*found);
      worked_with_ = current_->source;
      failure_ = Status::Ok();
      return;
    }
    failure_ = std::move(found).status();
    const bool soon = current_ && current_->expires && *current_->expires - now >= options_.must;
    not_before_ = now + (soon ? Duration::Minutes(1) : Duration::Seconds(10));
  }

  // What a caller gets when a look has just ended.
  Result<T> Outcome(WallTime now) const {
    if (current_ && (!current_->expires || *current_->expires > now)) return *current_;
    if (worked_with_.empty()) return failure_;
    const std::string how = current_ ? "expired at " + FormatRfc3339(*current_->expires)
                                     : std::string("were refused by the service");
    // It worked before, so it may work again: not the end of anything.
    return Status(Code::kUnavailable,
                  "the credentials of " + worked_with_ + " " + how +
                      " and could not be renewed: " + failure_.message(),
                  failure_.next());
  }

  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool looking_ = false;
  int64_t looks_ = 0;
  std::optional<T> current_;
  std::string worked_with_;  // the source of what was found last; "" = nothing was found yet
  Status failure_;           // of the last look
  WallTime not_before_{};    // no look earlier than this after a failure
};

}  // namespace stoker
