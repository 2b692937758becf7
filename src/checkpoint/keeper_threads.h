// SPDX-License-Identifier: Apache-2.0
// Runs a CheckpointKeeper on two threads: one looks and copies, one uploads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "checkpoint/keeper.h"

namespace stoker {

class KeeperThreads {
 public:
  // Starts them. Begin must have returned ok.
  KeeperThreads(CheckpointKeeper& keeper, Clock& clock, CheckpointFiles& files);
  // Stop().
  ~KeeperThreads();
  KeeperThreads(const KeeperThreads&) = delete;
  KeeperThreads& operator=(const KeeperThreads&) = delete;

  // After ProgramEnded: blocks until everything is committed that can be, or until `deadline`.
  // kTimeout: something was left; the reason is in the message. Any thread.
  Status FinalSync(MonoTime deadline);
  // Ends both threads; an upload under way is finished first (uploads cannot be interrupted).
  void Stop();

 private:
  void Look();
  void Upload();

  CheckpointKeeper& keeper_;
  Clock& clock_;
  CheckpointFiles& files_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread looker_;
  std::thread uploader_;
};

}  // namespace stoker
