// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/keeper_threads.h"

#include <algorithm>
#include <chrono>

namespace stoker {
namespace {

constexpr auto kGlance = std::chrono::milliseconds(20);

}  // namespace

KeeperThreads::KeeperThreads(CheckpointKeeper& keeper, Clock& clock, CheckpointFiles& files)
    : keeper_(keeper), clock_(clock), files_(files) {
  looker_ = std::thread([this] { Look(); });
  uploader_ = std::thread([this] { Upload(); });
}

KeeperThreads::~KeeperThreads() { Stop(); }

void KeeperThreads::Look() {
  while (!stop_) {
    keeper_.Step();
    if (keeper_.UploadWaiting() || keeper_.Finished()) {
      const std::lock_guard lock(mutex_);
      changed_.notify_all();
    }
    const Duration left = keeper_.NextStep() - clock_.Mono();
    if (!stop_) files_.Wait(std::max(left, Duration::Ms(1)));
  }
}

void KeeperThreads::Upload() {
  while (!stop_) {
    if (keeper_.RunUpload()) continue;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stop_ || keeper_.UploadWaiting(); });
  }
}

Status KeeperThreads::FinalSync(MonoTime deadline) {
  files_.Wake();
  std::unique_lock lock(mutex_);
  while (!keeper_.Finished()) {
    if (clock_.Mono() >= deadline) {
      const std::string trouble = keeper_.trouble();
      return Status(Code::kTimeout,
                    "there was no time to save it" + (trouble.empty() ? "" : ": " + trouble));
    }
    changed_.wait_for(lock, kGlance);
  }
  return Status::Ok();
}

void KeeperThreads::Stop() {
  {
    const std::lock_guard lock(mutex_);
    if (stop_.exchange(true)) return;
    changed_.notify_all();
  }
  files_.Wake();
  looker_.join();
  uploader_.join();
}

}  // namespace stoker
