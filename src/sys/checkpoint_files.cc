// SPDX-License-Identifier: Apache-2.0
#include "sys/checkpoint_files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <thread>

#include "base/text.h"
#include "sys/directory_scan.h"
#include "sys/file.h"
#include "sys/file_snapshot.h"
#include "sys/task_watch.h"
#include "sys/verified_copy.h"
#include "sys/watch_tree.h"

namespace stoker {
namespace {

constexpr int64_t kFull = 1 << 20;
constexpr Duration kRefresh = Duration::Ms(200);
// Longer than this between two looks at the room on the disk: nobody knows what it was meanwhile.
constexpr Duration kUnseen = Duration::Seconds(10);
// Without leases: how long after the copy the original is read again.
constexpr auto kSecondLook = std::chrono::milliseconds(200);

// Bytes that ordinary users may still write; -1 when the file system does not say.
int64_t FreeBytes(const std::string& path) {
  struct statvfs info;
  if (statvfs(path.c_str(), &info) != 0) return -1;
  return static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize);
}

bool DiskFull(const std::string& path) {
  const int64_t left = FreeBytes(path);
  return left >= 0 && left < kFull;
}

// A checkpoint of many files is held open all at once.
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
      : options_(options), root_(ResolveRoot(options.directory)), clock_(clock) {
    RaiseDescriptorLimit();
    if (!options.watch) return;
    watch_ = std::make_unique<WatchTree>(root_, clock,
                                         [this](std::vector<FileEvent>* events) { Judge(events); });
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

  Result<DirectoryScan> Scan() override {
    const MonoTime now = clock_.Mono();
    if (now - refreshed_ >= kRefresh || !task_.Alive()) {
      task_.Refresh(now);
      refreshed_ = now;
    }
    STOKER_ASSIGN(Tree tree, ListTree(root_, options_.only));
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
    std::vector<HeldFile> held;
    int64_t total = 0;
    const MonoTime begun = clock_.Mono();
    for (const FileFact& fact : request.copy) {
      if (fact.kind != FileKind::kFile) continue;
      STOKER_ASSIGN(HeldFile file, HeldFile::Open(root_, fact, clock_, request.even_if_open));
      held.push_back(std::move(file));
      total += fact.size;
    }
    // Every file is held from here on: this is the moment that the copy is of.
    STOKER_TRY(CheckMoment(request));
    STOKER_TRY(CheckRoom(total));
    auto snapshot = std::make_unique<FileSnapshot>();
    for (const HeldFile& file : held) {
      STOKER_ASSIGN(sys::ScopedFd copy,
                    CopyHeld(file, options_.staging, begun + request.patience, clock_));
      snapshot->Add(file.fact(), std::move(copy));
    }
    STOKER_TRY(CheckAfter(request, held, *snapshot));
    held.clear();
    for (const FileFact& fact : request.prefix) {
      const std::string path = root_ + "/" + fact.path;
      auto fd = sys::Open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      if (!fd.ok()) continue;  // logs come and go
      auto copy = CopyPrefix(fd->get(), fact.size, options_.staging);
      if (copy.ok()) snapshot->Add(fact, std::move(*copy));
    }
    return std::unique_ptr<Snapshot>(std::move(snapshot));
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

  static bool Differs(const FileFact& fact, const FileFact& now) {
    return fact.kind != now.kind || fact.ino != now.ino || fact.size != now.size ||
           (fact.kind == FileKind::kFile && fact.mtime_ns != now.mtime_ns);
  }

  // Nothing in it is being written, and every name leads to what the request says.
  Status CheckMoment(const SnapshotRequest& request) {
    std::map<std::string, InodeId> inodes;
    dev_t device = 0;
    for (const auto* list : {&request.copy, &request.stay}) {
      for (const FileFact& fact : *list) {
        struct stat info;
        if (lstat((root_ + "/" + fact.path).c_str(), &info) != 0 ||
            Differs(fact, FactOf(fact.path, info))) {
          return Status(Code::kConflict, "'" + fact.path + "' has changed");
        }
        inodes[fact.path] = {info.st_dev, info.st_ino};
        device = info.st_dev;
      }
    }
    if (request.need_task && !TaskWell()) {
      return Status(Code::kConflict, "the program is ending");
    }
    return request.even_if_open ? Status::Ok() : CheckWriters(device, inodes);
  }

  Status CheckWriters(dev_t device, const std::map<std::string, InodeId>& inodes) {
    const Writers writers = task_.Look(device, root_, inodes);
    for (const auto& [path, inode] : inodes) {
      if (writers.open.count(inode) != 0 || writers.mapped.count(inode) != 0) {
        return Status(Code::kBusy, "'" + path + "' is being written");
      }
    }
    return Status::Ok();
  }

  Status CheckAfter(const SnapshotRequest& request, const std::vector<HeldFile>& held,
                    FileSnapshot& snapshot) {
    std::map<std::string, InodeId> inodes;
    dev_t device = 0;
    bool leased = true;
    for (const HeldFile& file : held) {
      struct stat info;
      if (fstat(file.fd(), &info) == 0) inodes[file.fact().path] = {info.st_dev, info.st_ino};
      device = info.st_dev;
      leased = leased && file.leased();
    }
    // A writer that opened the file since then waits for the lease and shows up in no list. One
    // that is listed got past it.
    if (!request.even_if_open) STOKER_TRY(CheckWriters(device, inodes));
    if (!leased) std::this_thread::sleep_for(kSecondLook);
    for (size_t i = 0; i < held.size(); ++i) {
      if (!held[i].leased()) {
        STOKER_TRY(CompareContents(held[i].fd(), snapshot.Descriptor(i), held[i].fact().size));
      }
      STOKER_TRY(held[i].StillSame(clock_));
    }
    if (request.need_task && !TaskWell()) {
      return Status(Code::kConflict, "the program is ending");
    }
    return Status::Ok();
  }

  bool TaskWell() {
    return !task_.has_task() || (task_.Judge(clock_.Mono()) != Fate::kKilled && task_.Alive());
  }

  Status CheckRoom(int64_t bytes) {
    STOKER_TRY(sys::MakeDirs(options_.staging, 0700));
    const int64_t left = FreeBytes(options_.staging);
    if (left < 0 || left >= bytes + options_.reserve) return Status::Ok();
    return Status(Code::kNoSpace,
                  "no room for a copy of the checkpoint: it takes " + HumanSize(bytes) + ", and " +
                      HumanSize(left) + " are free on the disk",
                  "free some space on the disk that holds the job's files");
  }

  const CheckpointFilesOptions options_;
  const std::string root_;
  Clock& clock_;
  TaskWatch task_;
  MonoTime refreshed_;
  MonoTime glanced_ = clock_.Mono();  // the watch's thread alone
  std::atomic<bool> was_full_ = false;
  std::unique_ptr<WatchTree> watch_;  // last: its thread uses the others
};

}  // namespace

std::unique_ptr<CheckpointFiles> OpenCheckpointFiles(const CheckpointFilesOptions& options,
                                                     Clock& clock) {
  return std::make_unique<RealCheckpointFiles>(options, clock);
}

}  // namespace stoker
