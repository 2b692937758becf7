// SPDX-License-Identifier: Apache-2.0
#include "sys/watch/checkpoint_files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <thread>

#include "base/text.h"
#include "sys/file.h"
#include "sys/watch/directory_scan.h"
#include "sys/watch/read_watch.h"
#include "sys/watch/take_moment.h"
#include "sys/watch/task_watch.h"
#include "sys/watch/told_lines.h"
#include "sys/watch/watch_tree.h"

namespace stoker {
namespace {

constexpr int64_t kFull = 1 << 20;
constexpr Duration kRefresh = Duration::Ms(200);
// Longer than this between two looks at the room on the disk: nobody knows what it was meanwhile.
constexpr Duration kUnseen = Duration::Seconds(10);

bool DiskFull(const std::string& path) {
  const int64_t left = FreeBytes(path);
  return left >= 0 && left < kFull;
}

// The files of a checkpoint are held open together, as many as there may be.
void RaiseDescriptorLimit() {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 65'536);
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
}

class RealCheckpointFiles : public CheckpointFiles {
 public:
  RealCheckpointFiles(const CheckpointFilesOptions& options, Clock& clock)
      : options_(options),
        root_(ResolveRoot(options.directory)),
        clock_(clock),
        told_(options.told) {
    RaiseDescriptorLimit();
    if (!options.watch) return;
    if (options.reads_of) reads_ = std::make_unique<ReadWatch>(root_, options.reads_of);
    watch_ = std::make_unique<WatchTree>(
        root_, clock, [this](std::vector<FileEvent>* events) { Judge(events); }, reads_.get());
  }

  void WatchTask(std::function<std::vector<int>()> processes) override {
    task_.SetProcesses(std::move(processes));
    task_.Refresh(clock_.Mono());
  }
  void Wait(Duration timeout) override {
    if (watch_) {
      watch_->Wait(timeout);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(std::min<int64_t>(timeout.ms, 100)));
    }
  }
  void Wake() override {
    if (watch_) watch_->Wake();
  }
  std::vector<FileEvent> TakeEvents() override {
    return watch_ ? watch_->Take() : std::vector<FileEvent>();
  }

  std::optional<bool> AnybodyRead() override { return reads_ ? reads_->Judge() : std::nullopt; }
  void ForgetReads() override {
    if (reads_) reads_->Forget();
  }

  std::vector<std::string> TakeTold() override { return told_.Take(); }

  Result<DirectoryScan> Scan() override {
    const MonoTime now = clock_.Mono();
    if (now - refreshed_ >= kRefresh || !task_.Alive()) {
      task_.Refresh(now);
      refreshed_ = now;
    }
    STOKER_ASSIGN(Tree tree, ListTree(root_, options_.only, options_.filter));
    DirectoryScan scan;
    const Writers writers = task_.Look(tree.device, root_, tree.inodes);
    for (const auto& [path, inode] : tree.inodes) {
      if (writers.open.count(inode) != 0) scan.written.insert(path);
      if (writers.mapped.count(inode) != 0) scan.mapped.insert(path);
    }
    scan.files = std::move(tree.files);
    scan.skipped = std::move(tree.skipped);
    scan.torn = tree.torn;
    scan.writers_known = writers.known;
    scan.disk_full = DiskFull(root_) || was_full_.exchange(false);
    scan.size_limit = task_.SizeLimit();
    scan.fate = task_.Judge(clock_.Mono());
    scan.task_alive = task_.Alive();
    return scan;
  }

  Result<std::unique_ptr<Snapshot>> Take(const SnapshotRequest& request) override {
    return taker_.Take(request);
  }

  Status Remove(const std::string& path) override {
    if (unlink((root_ + "/" + path).c_str()) == 0 || errno == ENOENT) return Status::Ok();
    return ErrnoStatus("cannot remove '" + path + "'", errno);
  }

 private:
  static std::string ResolveRoot(const std::string& directory) {
    auto real = sys::RealPath(directory);
    return real.ok() ? *real : directory;
  }

  // On the watch's thread: it goes on while whoever scans waits for the store.
  void Judge(std::vector<FileEvent>* events) {
    const MonoTime now = clock_.Mono();
    if (DiskFull(root_) || now - glanced_ > kUnseen) was_full_ = true;
    glanced_ = now;
    if (events->empty()) return;
    const Fate fate = task_.Judge(now);
    const bool full = was_full_.exchange(false);
    for (FileEvent& event : *events) {
      event.fate = fate;
      event.disk_full = full;
    }
  }

  const CheckpointFilesOptions options_;
  const std::string root_;
  Clock& clock_;
  TaskWatch task_;
  MomentTaker taker_{
      {root_, options_.staging, options_.reserve, options_.hold_at_once}, task_, clock_};
  ToldLines told_;
  MonoTime refreshed_;
  MonoTime glanced_ = clock_.Mono();  // the watch's thread alone
  std::atomic<bool> was_full_ = false;
  std::unique_ptr<ReadWatch> reads_;
  std::unique_ptr<WatchTree> watch_;  // last: its thread uses the others
};

}  // namespace

std::unique_ptr<CheckpointFiles> OpenCheckpointFiles(const CheckpointFilesOptions& options,
                                                     Clock& clock) {
  return std::make_unique<RealCheckpointFiles>(options, clock);
}

}  // namespace stoker
