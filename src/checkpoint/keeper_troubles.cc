// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/keeper_troubles.h"

#include <algorithm>

#include "base/text.h"

namespace stoker {
namespace {

// Longer than it takes to commit a checkpoint twice: by what is usual, and by what was seen.
constexpr Duration kSilentAtLeast = Duration::Seconds(60);
constexpr int kSilentQuiets = 15;
constexpr int kSilentUpload = 10;  // so many times that, while an upload goes on without a failure

}  // namespace

void KeeperTroubles::Set(const std::string& what) {
  full_ = false;
  const std::lock_guard lock(mutex_);
  trouble_ = what;
}

// Which file meets a full store first is chance, and no news.
void KeeperTroubles::NotSavedYet(const Status& status) {
  const bool full = status.Is(Code::kNoSpace);
  if (full && full_) return;
  Set("checkpoint not saved yet: " + status.ToString());
  full_ = full;
}

void KeeperTroubles::LeavesOut(const DirectoryScan& scan) {
  if (scan.skipped == skipped_) return;
  skipped_ = scan.skipped;
  std::string text;
  if (!skipped_.empty()) {
    const std::string more =
        skipped_.size() == 1 ? "" : " and " + std::to_string(skipped_.size() - 1) + " more";
    text = "'" + Printable(skipped_.front().path) + "'" + more +
           " can be in no checkpoint: " + std::string(WhySkipped(skipped_.front().why));
  }
  {
    const std::lock_guard lock(mutex_);
    if (text == left_out_) return;
    left_out_ = text;
  }
  if (!text.empty() && say_) say_(text);
}

void KeeperTroubles::Stays(const std::string& what) {
  {
    const std::lock_guard lock(mutex_);
    stays_ = what;
  }
  if (say_) say_(what);
}

void KeeperTroubles::Saved(MonoTime now) {
  if (behind_) slowest_ = std::max(slowest_, now - *behind_);
  behind_.reset();
  const bool told = !told_.empty();
  told_.clear();
  {
    const std::lock_guard lock(mutex_);
    unsaved_.clear();
  }
  if (told && say_) say_("checkpoints are saved again");
}

// Nothing is silent for longer than two commits take.
Duration KeeperTroubles::Patience() const {
  return std::max({kSilentAtLeast, quiet_ * kSilentQuiets, slowest_ * 2});
}

bool KeeperTroubles::Waits(bool something_new, MonoTime now) {
  if (!something_new) {
    if (behind_) Saved(now);
    return false;
  }
  if (!behind_) behind_ = now;
  return now - *behind_ >= Patience();
}

void KeeperTroubles::Tell(const CheckpointPlan::Obstacle& why, MonoTime now) {
  if (why.kind.empty()) return;
  // Short pauses are also what follows when something else has come to an end.
  if (why.kind == "pauses" && !told_.empty()) return;
  const bool slow = why.kind == "upload";
  if (slow && now - *behind_ < Patience() * kSilentUpload) return;
  const bool news = told_.insert(why.kind).second;
  const std::string text = "no checkpoint has been saved for " + HumanDuration(now - *behind_) +
                           " although there is something new: " + why.text;
  {
    const std::lock_guard lock(mutex_);
    if (news || unsaved_.empty()) unsaved_ = text;
  }
  if (news && say_) say_(text);
}

std::string KeeperTroubles::now() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

std::string KeeperTroubles::text() const {
  const std::lock_guard lock(mutex_);
  const std::string& now = !trouble_.empty() ? trouble_ : !unsaved_.empty() ? unsaved_ : left_out_;
  return stays_ + (stays_.empty() || now.empty() ? "" : "; ") + now;
}

}  // namespace stoker
