// SPDX-License-Identifier: Apache-2.0
// A checkpoint directory that exists in memory only, with a program that writes it and a clock that
// a test turns. For tests.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "port/checkpoint_files.h"
#include "port/clock.h"

namespace stoker::test {

class HandClock : public Clock {
 public:
  MonoTime Mono() override { return now; }
  WallTime Wall() override { return {1'800'000'000'000 + now.ms}; }
  MonoTime now{1000};
};

class FakeSnapshot : public Snapshot {
 public:
  const std::vector<FileFact>& files() const override { return facts; }
  Result<int64_t> Read(size_t index, int64_t offset, char* buffer, int64_t size) override {
    std::string all = contents[index];
    if (live) (void)live(facts[index], &all);
    if (offset >= static_cast<int64_t>(all.size())) return int64_t{0};
    return static_cast<int64_t>(
        all.copy(buffer, static_cast<size_t>(size), static_cast<size_t>(offset)));
  }
  int Descriptor(size_t) override { return -1; }
  bool copied(size_t) const override { return !live; }
  Status StillSame(size_t index) override {
    std::string now;
    if (!live || live(facts[index], &now)) return Status::Ok();
    return Status(Code::kConflict, "'" + facts[index].path + "' changed");
  }
  // Without room for a copy: the file as it is now; false when it is not as it was.
  std::function<bool(const FileFact& fact, std::string* bytes)> live;
  std::vector<FileFact> facts;
  std::vector<std::string> contents;
};

class FakeFiles : public CheckpointFiles {
 public:
  explicit FakeFiles(HandClock& clock) : clock_(clock) {}

  // What the program does. Open cuts the file; Close ends the write with these contents.
  void Open(const std::string& path) { Open(path, "half"); }
  // Through a mapping or without cutting, the file is as long as ever while it is half-written.
  void Open(const std::string& path, std::string bytes) {
    File& file = files_[path];
    if (file.ino == 0) file.ino = ++last_ino_;
    file.open = true;
    file.bytes = std::move(bytes);
    file.changed = clock_.now;
    Tell(FileEvent::Kind::kChanged, path);
  }
  void Close(const std::string& path, std::string bytes) {
    CloseUnheard(path, std::move(bytes));
    Tell(FileEvent::Kind::kClosed, path);
  }
  // Before the new folder that it lies in was watched.
  void CloseUnheard(const std::string& path, std::string bytes) {
    File& file = files_[path];
    file.open = false;
    file.bytes = std::move(bytes);
    file.changed = clock_.now;
  }
  void Write(const std::string& path, std::string bytes) {
    Open(path);
    Close(path, std::move(bytes));
  }
  // `fate`: of whoever did it, as it is seen by the time that it is heard of.
  void Rename(const std::string& from, const std::string& to, Fate fate = Fate::kLived) {
    std::vector<std::pair<std::string, File>> moved;
    for (auto it = files_.begin(); it != files_.end();) {
      const bool inside = it->first == from || StartsWith(it->first, from + "/");
      if (inside) moved.emplace_back(to + it->first.substr(from.size()), it->second);
      it = inside ? files_.erase(it) : std::next(it);
    }
    const bool directory = !moved.empty() && moved.front().first != to;
    for (auto& [path, file] : moved) files_[path] = file;
    FileEvent event = Made(FileEvent::Kind::kMovedIn, to);
    event.from = from;
    event.directory = directory;
    event.fate = fate;
    events_.push_back(event);
  }
  // From another place, of which nothing is heard.
  void MoveIn(const std::string& path, std::string bytes) {
    files_.erase(path);
    CloseUnheard(path, std::move(bytes));
    files_[path].ino = ++last_ino_;
    events_.push_back(Made(FileEvent::Kind::kMovedIn, path));
  }
  // In the place of what was there, as a rename does it.
  void Link(const std::string& path, const std::string& target) {
    MoveIn(path, "");
    files_[path].target = target;
  }
  void Delete(const std::string& path) {
    files_.erase(path);
    Tell(FileEvent::Kind::kGone, path);
  }
  // The kernel ends the program: what was open stays as it is and is closed. `fate`: how well its
  // end could be seen.
  void Kill(Fate fate = Fate::kKilled) {
    alive = false;
    CloseAll(fate);
  }
  // Only the writer of what is open is ended; the program goes on.
  void CloseAll(Fate fate) {
    for (auto& [path, file] : files_) {
      if (!file.open) continue;
      file.open = false;
      FileEvent event = Made(FileEvent::Kind::kClosed, path);
      event.fate = fate;
      events_.push_back(event);
    }
  }
  std::map<std::string, std::string> Contents() const {
    std::map<std::string, std::string> out;
    for (const auto& [path, file] : files_) out[path] = file.bytes;
    return out;
  }

  void WatchTask(std::function<std::vector<int>()>) override {}
  void Wait(Duration) override {}
  void Wake() override {}
  std::vector<FileEvent> TakeEvents() override { return std::exchange(events_, {}); }
  // The next scan began before what is written from now on: it does not list new folders' files.
  void BeginScan() {
    listed_.clear();
    for (const auto& [path, file] : files_) listed_.insert(path);
    scan_began_ = true;
  }
  std::vector<std::string> TakeTold() override { return std::exchange(told, {}); }
  Result<DirectoryScan> Scan() override {
    const bool torn = std::exchange(scan_began_, false);
    DirectoryScan scan;
    scan.skipped = skipped;
    for (const auto& [path, file] : files_) {
      if (torn && path.find('/') != std::string::npos && listed_.count(path) == 0) continue;
      scan.files.push_back(FactOf(path, file));
      if (file.open) scan.written.insert(path);
    }
    scan.writers_known = true;
    scan.task_alive = alive;
    scan.disk_full = disk_full;
    return scan;
  }
  Result<std::unique_ptr<Snapshot>> Take(const SnapshotRequest& request) override {
    if (!take_fails.ok()) return take_fails;
    auto snapshot = std::make_unique<FakeSnapshot>();
    if (no_room && !request.or_original) return Status(Code::kNoSpace, "no room for a copy");
    if (no_room) {
      snapshot->live = [this](const FileFact& fact, std::string* bytes) {
        const auto it = files_.find(fact.path);
        if (it == files_.end()) return false;
        *bytes = it->second.bytes;
        return FactOf(fact.path, it->second) == fact && !it->second.open;
      };
    }
    for (const auto* list : {&request.copy, &request.stay}) {
      for (const FileFact& fact : *list) {
        const auto it = files_.find(fact.path);
        if (it == files_.end() || FactOf(fact.path, it->second) != fact) {
          return Status(Code::kConflict, "changed");
        }
        if (it->second.open && !request.even_if_open) return Status(Code::kBusy, "open");
        if (list != &request.copy) continue;
        snapshot->facts.push_back(fact);
        snapshot->contents.push_back(it->second.bytes);
      }
    }
    for (const FileFact& fact : request.prefix) {
      const auto it = files_.find(fact.path);
      if (it == files_.end()) continue;
      snapshot->facts.push_back(fact);
      snapshot->contents.push_back(it->second.bytes.substr(0, static_cast<size_t>(fact.size)));
    }
    if (request.need_task && !alive) return Status(Code::kConflict, "dead");
    return std::unique_ptr<Snapshot>(std::move(snapshot));
  }
  Status Remove(const std::string& path) override {
    Delete(path);
    return Status::Ok();
  }

  bool alive = true;
  bool disk_full = false;
  bool no_room = false;  // for copies
  std::vector<SkippedEntry> skipped;
  std::vector<std::string> told;  // lines of $STOKER_SAVES
  // What happens in a new folder is not heard for so long: it is not watched yet.
  Duration deaf;
  Status take_fails;

 private:
  struct File {
    uint64_t ino = 0;
    std::string bytes;
    bool open = false;
    MonoTime changed;
    std::string target;  // of a link
  };
  static FileFact FactOf(const std::string& path, const File& file) {
    FileFact fact;
    fact.path = path;
    fact.ino = file.ino;
    if (!file.target.empty()) fact.kind = FileKind::kLink;
    fact.target = file.target;
    fact.size = static_cast<int64_t>(file.bytes.size());
    fact.allocated = fact.size;
    fact.mtime_ns = file.changed.ms * 1'000'000;
    fact.ctime_ns = fact.mtime_ns;
    return fact;
  }
  FileEvent Made(FileEvent::Kind kind, const std::string& path) {
    FileEvent event;
    event.kind = kind;
    event.path = path;
    event.at = clock_.now;
    event.fate = alive ? Fate::kLived : Fate::kKilled;
    event.disk_full = disk_full;
    return event;
  }
  void Tell(FileEvent::Kind kind, const std::string& path) {
    const size_t slash = path.find('/');
    if (slash != std::string::npos) {
      const auto folder = folders_.emplace(path.substr(0, slash), clock_.now).first;
      if (clock_.now - folder->second < deaf) return;
    }
    events_.push_back(Made(kind, path));
  }

  HandClock& clock_;
  std::map<std::string, File> files_;
  std::map<std::string, MonoTime> folders_;  // by name, when they were new
  std::set<std::string> listed_;
  bool scan_began_ = false;
  std::vector<FileEvent> events_;
  uint64_t last_ino_ = 0;
};

// A directory that is restored into.
class FakeDirectory : public DirectoryWriter {
 public:
  class File : public NewFile {
   public:
    File(FakeDirectory& owner, std::string path) : owner_(owner), path_(std::move(path)) {}
    Status Write(std::string_view bytes) override {
      if (owner_.full) return Status(Code::kNoSpace, "no space left");
      bytes_ += bytes;
      return Status::Ok();
    }
    bool ranged() const override { return owner_.ranged; }
    Status WriteAt(int64_t offset, std::string_view bytes) override {
      if (owner_.full) return Status(Code::kNoSpace, "no space left");
      const std::lock_guard lock(mutex_);
      const auto at = static_cast<size_t>(offset);
      bytes_.resize(std::max(bytes_.size(), at + bytes.size()));
      bytes_.replace(at, bytes.size(), bytes);
      return Status::Ok();
    }
    Result<int64_t> ReadAt(int64_t offset, char* buffer, int64_t size) override {
      const std::lock_guard lock(mutex_);
      const auto at = std::min(static_cast<size_t>(offset), bytes_.size());
      return static_cast<int64_t>(bytes_.copy(buffer, static_cast<size_t>(size), at));
    }
    Status Commit(int, int64_t) override {
      owner_.files[path_] = bytes_;
      return Status::Ok();
    }

   private:
    FakeDirectory& owner_;
    std::string path_;
    std::mutex mutex_;
    std::string bytes_;
  };
  Result<std::unique_ptr<NewFile>> Create(const std::string& path) override {
    return std::unique_ptr<NewFile>(std::make_unique<File>(*this, path));
  }
  Status MakeLink(const std::string& path, const std::string& target) override {
    files[path] = "-> " + target;
    named.push_back(path);
    return Status::Ok();
  }
  Status MakeDirectory(const std::string& path) override {
    files[path] = "/";
    return Status::Ok();
  }
  Status Rename(const std::string& from, const std::string& to, bool newer) override {
    const auto found = files.find(from);
    if (found == files.end()) return Status(Code::kNotFound, "'" + from + "' is not there");
    files[to] = found->second;
    files.erase(from);
    named.push_back(to + (newer ? "+" : ""));
    return Status::Ok();
  }
  Status MakeHardLink(const std::string& path, const std::string& of) override {
    if (!links) return Status(Code::kInvalid, "no hard links here");
    files[path] = "= " + of;
    named.push_back(path);
    return Status::Ok();
  }
  Status RemoveOthers(const std::set<std::string>& keep, const Spares& spares) override {
    std::erase_if(files, [&](const auto& entry) {
      const std::string top = entry.first.substr(0, entry.first.find('/'));
      return keep.count(entry.first) == 0 && !(spares && spares(top));
    });
    return Status::Ok();
  }
  std::map<std::string, std::string> files;
  bool full = false;
  bool ranged = true;
  bool links = true;               // hard ones can be made
  std::vector<std::string> named;  // in order; "+": newer than what came before
};

}  // namespace stoker::test
