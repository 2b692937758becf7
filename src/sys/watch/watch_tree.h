// SPDX-License-Identifier: Apache-2.0
// inotify(7) on a directory and everything below it, also while it does not exist yet.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "port/checkpoint_files.h"
#include "port/clock.h"
#include "sys/file.h"
#include "sys/watch/read_watch.h"

struct inotify_event;

namespace stoker {

// A thread of its own reads the events, so that each carries the time when it happened and what was
// true right after it. Public calls are thread-safe.
class WatchTree {
 public:
  // `judge` fills in `fate` and `disk_full` of a batch just read; it runs on the reading thread,
  // and twice a second also for a batch of nothing. `reads` hears of files that lie there already
  // for as long as it listens; null: nobody does.
  WatchTree(std::string root, Clock& clock, std::function<void(std::vector<FileEvent>*)> judge,
            ReadWatch* reads = nullptr);
  ~WatchTree();
  WatchTree(const WatchTree&) = delete;
  WatchTree& operator=(const WatchTree&) = delete;

  std::vector<FileEvent> Take();
  // Until there is an event, Wake was called or `timeout` passed.
  void Wait(Duration timeout);
  void Wake();

 private:
  struct Watched {
    std::string path;    // relative; "" = the root
    bool modify = true;  // IN_MODIFY is wanted: only until the first one of a write
  };
  void Run();
  void Arm(bool news);
  void AddTree(const std::string& path, bool announce, std::vector<FileEvent>* out);
  bool AddWatch(const std::string& path, bool modify);
  uint32_t Mask(bool modify) const;
  void SetModify(int descriptor, bool wanted);
  void ForgetReads();
  void ReadBatch(std::vector<FileEvent>* out);
  void Convert(const inotify_event& event, std::vector<FileEvent>* out);
  void Forget(const std::string& path);
  void Renamed(const std::string& from, const std::string& to);
  FileEvent Made(FileEvent::Kind kind, const std::string& path, bool directory);
  std::string Absolute(const std::string& path) const;

  const std::string root_;
  Clock& clock_;
  const std::function<void(std::vector<FileEvent>*)> judge_;
  ReadWatch* const reads_;
  bool hears_reads_ = false;
  sys::ScopedFd inotify_;
  sys::ScopedFd stop_;
  std::map<int, Watched> watches_;
  bool armed_ = false;
  // A rename out of a name whose other half has not come yet.
  uint32_t cookie_ = 0;
  std::string moved_from_;
  bool moved_directory_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<FileEvent> queue_;
  bool woken_ = false;
  std::thread reader_;
};

}  // namespace stoker
