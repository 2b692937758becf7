// SPDX-License-Identifier: Apache-2.0
// The directory as an agent sees it: the kernel's hints in its order, looks, and snapshots.
#include <algorithm>
#include <set>
#include <utility>

#include "sim/disk/disk.h"

namespace stoker::sim {
namespace {

constexpr size_t kLongestQueue = 100'000;

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

FileFact FactOf(const std::string& path, const Disk::File& file) {
  FileFact fact;
  fact.path = path;
  fact.kind = file.kind;
  fact.ino = file.ino;
  fact.size = static_cast<int64_t>(file.data.size());
  fact.allocated = fact.size - std::min(file.holes, fact.size);
  fact.mtime_ns = file.mtime_ns;
  fact.ctime_ns = file.ctime_ns;
  fact.mode = file.mode;
  fact.target = file.target;
  return fact;
}

bool StillSo(const FileFact& fact, const Disk::File& file) {
  return fact.kind == file.kind && fact.ino == file.ino &&
         fact.size == static_cast<int64_t>(file.data.size()) &&
         (fact.kind != FileKind::kFile || fact.mtime_ns == file.mtime_ns);
}

class DiskSnapshot : public Snapshot {
 public:
  void Add(FileFact fact, std::string data) {
    facts_.push_back(std::move(fact));
    data_.push_back(std::move(data));
  }
  const std::vector<FileFact>& files() const override { return facts_; }
  Result<int64_t> Read(size_t index, int64_t offset, char* buffer, int64_t size) override {
    const std::string& data = data_[index];
    if (offset >= static_cast<int64_t>(data.size())) return int64_t{0};
    return static_cast<int64_t>(
        data.copy(buffer, static_cast<size_t>(size), static_cast<size_t>(offset)));
  }
  int Descriptor(size_t) override { return -1; }

 private:
  std::vector<FileFact> facts_;
  std::vector<std::string> data_;
};

}  // namespace

class DiskFiles : public CheckpointFiles {
 public:
  explicit DiskFiles(Disk& disk) : disk_(disk), changed_(disk.scheduler_) {
    disk_.views_.push_back(this);
  }
  ~DiskFiles() override { std::erase(disk_.views_, this); }

  // The disk knows its task.
  void WatchTask(std::function<std::vector<int>()>) override {}

  void Wait(Duration timeout) override {
    if (disk_.scheduler_.current() == nullptr || disk_.Dead()) return;
    const int64_t until = disk_.scheduler_.now() + std::max<int64_t>(timeout.ms, 0);
    // The signal may have been left rung by events that were taken since.
    while (!woken_ && events_.empty()) {
      if (!changed_.Wait(until - disk_.scheduler_.now())) break;
    }
    woken_ = false;
  }

  void Wake() override {
    woken_ = true;
    changed_.Notify();
  }

  std::vector<FileEvent> TakeEvents() override { return std::exchange(events_, {}); }

  Result<DirectoryScan> Scan() override {
    if (disk_.Dead()) return Gone();
    DirectoryScan scan;
    for (const auto& [path, file] : disk_.files_) {
      if (file.kind == FileKind::kDirectory && disk_.HasFolder(path)) continue;
      scan.files.push_back(FactOf(path, file));
      if (file.open) scan.written.insert(path);
    }
    scan.writers_known = true;
    scan.task_alive = disk_.task_alive_;
    scan.fate = fate_;
    scan.disk_full = std::exchange(was_full_, false) || disk_.full_;
    return scan;
  }

  Result<std::unique_ptr<Snapshot>> Take(const SnapshotRequest& request) override {
    if (disk_.Dead()) return Gone();
    STOKER_TRY(Check(request));
    if (disk_.no_copies_until != nullptr && disk_.scheduler_.now() < *disk_.no_copies_until) {
      return Status(Code::kNoSpace, "sim: no descriptor for a copy of the checkpoint");
    }
    auto snapshot = std::make_unique<DiskSnapshot>();
    for (const FileFact& fact : request.copy) {
      if (fact.kind != FileKind::kFile) continue;
      if (disk_.full_) return Status(Code::kNoSpace, "sim: no room for a copy of the checkpoint");
      snapshot->Add(fact, disk_.files_.at(fact.path).data);
    }
    for (const FileFact& fact : request.prefix) {
      const auto found = disk_.files_.find(fact.path);
      const auto size = static_cast<size_t>(fact.size);
      if (found == disk_.files_.end() || found->second.data.size() < size) continue;
      snapshot->Add(fact, found->second.data.substr(0, size));
    }
    if (disk_.scheduler_.current() != nullptr) disk_.scheduler_.Sleep(disk_.copy_ms);
    STOKER_TRY(Check(request));
    return std::unique_ptr<Snapshot>(std::move(snapshot));
  }

  Status Remove(const std::string& path) override {
    if (disk_.Dead()) return Gone();
    disk_.Unlink(path);
    return Status::Ok();
  }

  void Hear(FileEvent::Kind kind, const std::string& path, bool directory,
            const std::string& from) {
    FileEvent event;
    event.kind = events_.size() < kLongestQueue ? kind : FileEvent::Kind::kLost;
    if (event.kind == FileEvent::Kind::kLost) {
      events_.clear();
    } else {
      event.path = path;
      event.from = from;
      event.directory = directory;
    }
    event.at = disk_.clock_.Mono();
    event.fate = fate_;
    event.disk_full = std::exchange(was_full_, false) || disk_.full_;
    events_.push_back(std::move(event));
    if (kind == FileEvent::Kind::kClosed) quiet_.erase(FolderOf(path));
    changed_.Notify();
  }

  // As the real watch does: the first write in a folder, and then none before a file there closes.
  void HearWrite(const std::string& path) {
    if (quiet_.insert(FolderOf(path)).second) Hear(FileEvent::Kind::kChanged, path, false, "");
  }

  void SetFate(Fate fate) { fate_ = fate; }
  void WasFull() { was_full_ = true; }

  void Forget() {
    events_.clear();
    quiet_.clear();
    fate_ = Fate::kLived;
  }

 private:
  static Status Gone() { return Status(Code::kUnavailable, "sim: the process is dead"); }

  // Nothing in it is being written, and every name leads to what the request says.
  Status Check(const SnapshotRequest& request) const {
    for (const auto* list : {&request.copy, &request.stay}) {
      for (const FileFact& fact : *list) {
        const auto found = disk_.files_.find(fact.path);
        if (found == disk_.files_.end() || !StillSo(fact, found->second)) {
          return Status(Code::kConflict, "sim: '" + fact.path + "' has changed");
        }
        if (found->second.open && !request.even_if_open) {
          return Status(Code::kBusy, "sim: '" + fact.path + "' is being written");
        }
      }
    }
    if (request.need_task && !disk_.task_alive_) {
      return Status(Code::kConflict, "sim: the program is ending");
    }
    return Status::Ok();
  }

  Disk& disk_;
  Signal changed_;
  std::vector<FileEvent> events_;
  std::set<std::string> quiet_;  // folders whose writes are no news
  Fate fate_ = Fate::kLived;     // of the task that began while this looked
  bool woken_ = false;
  bool was_full_ = false;  // since the hint or look before
};

std::unique_ptr<CheckpointFiles> Disk::OpenCheckpointFiles() {
  return std::make_unique<DiskFiles>(*this);
}

void Disk::Emit(FileEvent::Kind kind, const std::string& path, bool directory,
                const std::string& from) {
  for (DiskFiles* const view : views_) view->Hear(kind, path, directory, from);
}

void Disk::EmitWrite(const std::string& path) {
  for (DiskFiles* const view : views_) view->HearWrite(path);
}

void Disk::SetFate(Fate fate) {
  for (DiskFiles* const view : views_) view->SetFate(fate);
}

void Disk::SetFull(bool full) {
  constexpr int64_t kGlanceMs = 500;
  if (full && !full_) full_since_ = scheduler_.now();
  if (!full && full_ && scheduler_.now() - full_since_ >= kGlanceMs) {
    for (DiskFiles* const view : views_) view->WasFull();
  }
  full_ = full;
}

void Disk::LoseEvents() { Emit(FileEvent::Kind::kLost, ""); }

void Disk::Reboot() {
  task_alive_ = false;
  for (auto& [path, file] : files_) file.open = false;
  for (DiskFiles* const view : views_) view->Forget();
}

}  // namespace stoker::sim
