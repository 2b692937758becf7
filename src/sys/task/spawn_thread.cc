// SPDX-License-Identifier: Apache-2.0
#include "sys/task/spawn_thread.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace stoker {
namespace {

class Spawner {
 public:
  Spawner() {
    std::thread([this] { Loop(); }).detach();
  }

  void Run(const std::function<void()>& work) {
    std::unique_lock<std::mutex> turn(turn_);
    std::unique_lock<std::mutex> lock(mutex_);
    work_ = &work;
    changed_.notify_all();
    changed_.wait(lock, [this] { return work_ == nullptr; });
  }

 private:
  void Loop() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return work_ != nullptr; });
      (*work_)();
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex turn_;  // one caller at a time
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* work_ = nullptr;
};

}  // namespace

void RunOnSpawnThread(const std::function<void()>& work) {
  // Never destroyed: its thread must outlive every object that could still own a child.
  static Spawner* spawner = new Spawner;
  spawner->Run(work);
}

}  // namespace stoker
