// SPDX-License-Identifier: Apache-2.0
#include "transfer/transfer_queue.h"

#include <algorithm>

namespace stoker {
namespace {

constexpr Duration kInterval = Duration::Ms(400);

}  // namespace

Status GivenUp() { return Status(Code::kCancelled, "another file failed"); }

TransferQueue::TransferQueue(const std::vector<ObjectInfo>& files, int64_t whole_bytes,
                             const TransferOptions& options, Clock* clock)
    : files_(files),
      free_(options.memory),
      all_(options.memory),
      clock_(clock),
      pace_(clock == nullptr ? options.workers : options.first_workers, options.workers) {
  if (clock_ != nullptr) since_ = clock_->Mono();
  while (small_ < files_.size() && files_[small_].size > whole_bytes) ++small_;
  first_small_ = small_;
}

bool TransferQueue::PickPart(Unit* unit) {
  while (!open_.empty()) {
    const std::shared_ptr<BigFile>& big = open_.front();
    if (big->to_do.empty() || !big->failed.ok()) {
      open_.erase(open_.begin());
      continue;
    }
    *unit = {Unit::Kind::kPart, &big->info, big, big->to_do.back()};
    big->to_do.pop_back();
    ++big->under_way;
    return true;
  }
  if (big_ == first_small_) return false;
  if (opening_ > 0) return false;  // its parts come in a moment
  ++opening_;
  *unit = {Unit::Kind::kOpen, &files_[big_++], nullptr, 0};
  return true;
}

bool TransferQueue::PickSmall(Unit* unit) {
  if (small_ == files_.size()) return false;
  *unit = {Unit::Kind::kWhole, &files_[small_++], nullptr, 0};
  return true;
}

bool TransferQueue::Pick(int worker, Unit* unit) {
  if (worker % 2 == 0) return PickPart(unit) || PickSmall(unit);
  return PickSmall(unit) || PickPart(unit);
}

Unit TransferQueue::Next(int worker) {
  std::unique_lock lock(mutex_);
  while (true) {
    const bool left = big_ < first_small_ || small_ < files_.size() || opening_ > 0 ||
                      std::any_of(open_.begin(), open_.end(), [](const auto& big) {
                        return !big->to_do.empty() && big->failed.ok();
                      });
    if (!left) {
      allowed_.notify_all();
      work_.notify_all();
      return {};
    }
    Unit unit;
    if (worker >= pace_.workers()) {
      allowed_.wait(lock);
    } else if (Pick(worker, &unit)) {
      return unit;
    } else {
      work_.wait(lock);
    }
  }
}

bool TransferQueue::Opened(const std::shared_ptr<BigFile>& big) {
  const std::lock_guard lock(mutex_);
  --opening_;
  if (big && gave_up_) big->failed = GivenUp();
  if (big && !gave_up_) open_.push_back(big);
  work_.notify_all();
  return !big || !gave_up_;
}

std::vector<std::shared_ptr<BigFile>> TransferQueue::GiveUp() {
  const std::lock_guard lock(mutex_);
  gave_up_ = true;
  small_ = files_.size();
  big_ = first_small_;
  std::vector<std::shared_ptr<BigFile>> idle;
  for (const std::shared_ptr<BigFile>& big : open_) {
    // What has all of its parts under way may still arrive; what has failed is somebody's already.
    if (big->to_do.empty() || !big->failed.ok()) continue;
    big->failed = GivenUp();
    if (big->under_way == 0) idle.push_back(big);
  }
  open_.clear();
  allowed_.notify_all();
  work_.notify_all();
  return idle;
}

bool TransferQueue::gave_up() const {
  const std::lock_guard lock(mutex_);
  return gave_up_;
}

bool TransferQueue::PartDone(BigFile& big, int n, const Result<PartSum>& moved) {
  const std::lock_guard lock(mutex_);
  --big.under_way;
  if (moved.ok()) {
    big.sums[n] = *moved;
    Note(0, moved->size);
  } else if (big.failed.ok()) {
    big.failed = moved.status();
  }
  return big.under_way == 0 && (big.to_do.empty() || !big.failed.ok());
}

void TransferQueue::Done(int64_t files, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  Note(files, bytes);
}

void TransferQueue::Slowed(int64_t times) {
  const std::lock_guard lock(mutex_);
  slowed_ = times;
}

void TransferQueue::Note(int64_t files, int64_t bytes) {
  progress_.files += files;
  progress_.bytes += bytes;
  moved_ += bytes;
  ended_ += files;
  ++units_;
  if (clock_ == nullptr) return;
  const MonoTime now = clock_->Mono();
  // Whole parts are counted when they end: too few of them say nothing.
  if (now - since_ < kInterval || units_ < 2 * pace_.workers()) return;
  const int before = pace_.workers();
  pace_.Note(moved_, ended_, slowed_ - slowed_before_, now - since_);
  since_ = now;
  moved_ = ended_ = units_ = 0;
  slowed_before_ = slowed_;
  if (pace_.workers() > before) allowed_.notify_all();
}

void TransferQueue::TakeMemory(int64_t bytes) {
  std::unique_lock lock(mutex_);
  // What is larger than all of it goes alone.
  bytes = std::min(bytes, all_);
  while (free_ < bytes) memory_.wait(lock);
  free_ -= bytes;
}

void TransferQueue::GiveMemory(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  free_ += std::min(bytes, all_);
  memory_.notify_all();
}

TransferProgress TransferQueue::progress() const {
  const std::lock_guard lock(mutex_);
  TransferProgress now = progress_;
  now.workers = pace_.workers();
  return now;
}

}  // namespace stoker
