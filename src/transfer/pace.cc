// SPDX-License-Identifier: Apache-2.0
#include "transfer/pace.h"

#include <algorithm>

namespace stoker {
namespace {

constexpr double kFile = 64 << 10;  // bytes that a round trip is worth
constexpr double kGain = 1.07;      // less is noise
constexpr double kLoss = 0.97;      // fewer workers may cost so much
constexpr int kRest = 8;            // intervals after a trial that failed
constexpr int kRestThrottled = 20;
constexpr int kGrace = 3;  // until what was under way before has ended

}  // namespace

Pace::Pace(int first, int most)
    : most_(std::max(most, 1)), workers_(std::clamp(first, 1, std::max(most, 1))) {}

void Pace::Try(Trial trial, int workers, double rate) {
  workers = std::clamp(workers, 1, most_);
  if (workers == workers_) return;
  before_ = workers_;
  rate_ = rate;
  trial_ = trial;
  workers_ = workers;
}

void Pace::Note(int64_t bytes, int64_t files, int64_t slow_downs, Duration time) {
  if (time.ms <= 0) return;
  if (slow_downs > 0) {
    // Once for all that were refused together.
    trial_ = Trial::kNone;
    starting_ = false;
    if (rest_ > kRestThrottled - kGrace) {
      --rest_;
      return;
    }
    workers_ = std::max(workers_ / 2, 1);
    rest_ = kRestThrottled;
    return;
  }
  const double rate =
      (static_cast<double>(bytes) + kFile * static_cast<double>(files)) / time.seconds();
  if (rate <= 0) return;
  const Trial trial = trial_;
  trial_ = Trial::kNone;
  if (trial == Trial::kMore && rate < rate_ * kGain) {
    workers_ = before_;
    rest_ = kRest;
    fewer_next_ = true;
    starting_ = false;
    return;
  }
  if (trial == Trial::kFewer && rate < rate_ * kLoss) {
    workers_ = before_;
    rest_ = kRest;
    fewer_next_ = false;
    return;
  }
  if (rest_ > 0) {
    --rest_;
    return;
  }
  if (trial == Trial::kFewer || (trial == Trial::kNone && fewer_next_)) {
    fewer_next_ = false;
    Try(Trial::kFewer, workers_ - std::max(workers_ / 4, 1), rate);
  } else {
    Try(Trial::kMore, workers_ + (starting_ ? workers_ : std::max(workers_ / 2, 1)), rate);
  }
}

}  // namespace stoker
