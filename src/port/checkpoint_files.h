// SPDX-License-Identifier: Apache-2.0
// The files that a program keeps its checkpoints in, as this machine sees them: what is there, who
// writes, what just happened, and a verified copy of one moment.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace stoker {

enum class FileKind { kFile, kLink, kDirectory };

// What stat says of one entry. `path` is relative to the directory, '/'-separated. Directories are
// listed only when they are empty. Two equal facts do not prove equal contents (mmap).
struct FileFact {
  std::string path;
  FileKind kind = FileKind::kFile;
  uint64_t ino = 0;
  int64_t size = 0;
  int64_t allocated = 0;  // bytes that the file system really holds; less than size: holes
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  int mode = 0644;     // permission bits only
  std::string target;  // of a link
  bool operator==(const FileFact&) const = default;
};

// How whoever let go of a file went on.
enum class Fate {
  kLived,   // every process of the task was alive and not dying, or ended with exit code 0
  kLikely,  // a young one failed or was gone by the time it was looked for: a script's step, mostly
  kUnknown,  // an older one was gone by then, or nothing of the task was left
  kKilled,   // an older one was dying of an error, or any one of a signal
};

// A hint of the kernel, in the order in which things happened.
struct FileEvent {
  enum class Kind {
    kChanged,  // created or written
    kClosed,   // the last writer let go of it (closed it, unmapped it, or died)
    kMovedIn,  // renamed to `path`; from `from` when that lay in the directory, else ""
    kGone,     // deleted, or moved out of the directory
    kLost,     // events were lost: anything may have happened
  };
  Kind kind = Kind::kChanged;
  std::string path;
  std::string from;
  bool directory = false;
  MonoTime at;  // when it was read, at most some ms after it happened
  // With kClosed and kMovedIn, looked at after the event: kLived means that the file was closed by
  // its writer's own will and not by its death; kLikely that it was, unless the task ends badly.
  Fate fate = Fate::kUnknown;
  // The file system had no room left at that time, or since the hint or scan before: what it
  // refuses is not heard of. Half a second without room may be missed.
  bool disk_full = false;
  // With kChanged: nobody heard it. The file lay in a folder when the watch of it began, and was
  // written since the folder was made.
  bool found = false;
};

// Why an entry of a directory cannot be kept.
enum class SkipReason { kUnreadable, kNoFile, kLeadsOut, kElsewhere, kCoreDump };

struct SkippedEntry {
  std::string path;
  SkipReason why = SkipReason::kNoFile;
  bool operator==(const SkippedEntry& other) const {
    return path == other.path && why == other.why;
  }
};

inline std::string_view WhySkipped(SkipReason why) {
  switch (why) {
    case SkipReason::kUnreadable:
      return "it may not be read";
    case SkipReason::kNoFile:
      return "it is no plain file, but a pipe, a socket or a device";
    case SkipReason::kLeadsOut:
      return "it is a link that leads out of its folder";
    case SkipReason::kElsewhere:
      return "it lies on another file system, or too many folders deep";
    case SkipReason::kCoreDump:
      return "it is a core dump: a program's memory, with its secrets";
  }
  return "";
}

struct DirectoryScan {
  std::vector<FileFact> files;    // ordered by path
  std::set<std::string> written;  // paths that some process has open for writing
  std::set<std::string> mapped;   // paths that some process has mapped shared and writable
  bool writers_known = false;     // false: some process could not be looked into
  bool task_alive = false;        // at least one process of the task lives and is not dying
  Fate fate = Fate::kLived;       // of the task's processes since the scan before
  bool disk_full = false;         // as with events
  bool torn = false;              // names came or went while they were listed: some may be missing
  int64_t size_limit = -1;        // smallest RLIMIT_FSIZE in the task; -1 = none
  std::vector<SkippedEntry> skipped;  // what cannot be kept, in no order
};

// A copy of files as they were at one moment. Destroying it frees the copy.
class Snapshot {
 public:
  virtual ~Snapshot() = default;
  // The files that were copied, ordered as asked.
  virtual const std::vector<FileFact>& files() const = 0;
  // Up to `size` bytes from `offset`; 0 at the end. Thread-safe for different files, and for one
  // that has a descriptor.
  virtual Result<int64_t> Read(size_t index, int64_t offset, char* buffer, int64_t size) = 0;
  // A descriptor at offset 0 that stays the snapshot's, for ObjectReader::fd; -1 = there is none.
  virtual int Descriptor(size_t index) = 0;
  // False: there was no room for a copy, and Read gives what the file itself holds at that time
  // (SnapshotRequest::or_original). It counts only if StillSame is ok after all was read.
  virtual bool copied(size_t index) const { return (void)index, true; }
  // kConflict: the file is not as it was. Any thread.
  virtual Status StillSame(size_t index) { return (void)index, Status::Ok(); }
};

struct SnapshotRequest {
  std::vector<FileFact> copy;    // copied; must still be as these facts say
  std::vector<FileFact> stay;    // not copied; must still be as these facts say
  std::vector<FileFact> prefix;  // only ever appended to: copied up to the size in the fact
  // How long a writer that wants in may be kept waiting (it waits in open) while the copy is made.
  Duration patience = Duration::Ms(250);
  bool even_if_open = false;  // the program said that it is done: an open writer does not mind
  bool need_task = true;      // the task must live from before to after the copy
  bool or_original = false;   // where there is no room for a copy: see Snapshot::copied
};

// One directory, one task. Take and Scan are called by one thread; Wait may be called by another.
class CheckpointFiles {
 public:
  virtual ~CheckpointFiles() = default;
  // Where to learn the task's pids (as this process sees them). Not set or an empty answer: no
  // process of the task lives, and writers are looked for among all processes.
  virtual void WatchTask(std::function<std::vector<int>()> processes) = 0;
  // Blocks until there is an event, Wake was called or `timeout` passed.
  virtual void Wait(Duration timeout) = 0;
  virtual void Wake() = 0;
  virtual std::vector<FileEvent> TakeEvents() = 0;
  // Whether anybody has read a file of those that lay there when this was opened and that nobody
  // has written since; nullopt: not known. What this process itself copies counts, too: ask before.
  virtual std::optional<bool> AnybodyRead() { return std::nullopt; }
  // Nobody asks any more: the hints for it end.
  virtual void ForgetReads() {}
  // Empty when the directory is not there (yet).
  virtual Result<DirectoryScan> Scan() = 0;
  // kBusy: somebody writes, or wanted in for longer than the patience. kConflict: a file is not as
  // the request says, or changed meanwhile, or the task died. kNoSpace: no room for the copy.
  virtual Result<std::unique_ptr<Snapshot>> Take(const SnapshotRequest& request) = 0;
  // Whole lines that the program has appended to the file in which it tells of its saves
  // ($STOKER_SAVES), since the last call; of many, the first.
  virtual std::vector<std::string> TakeTold() { return {}; }
  // Deletes one file of the directory (the mark that a checkpoint is done).
  virtual Status Remove(const std::string& path) = 0;
};

// One file on its way into a directory. Nothing is visible under its name before Commit.
class NewFile {
 public:
  virtual ~NewFile() = default;
  // Behind what Write wrote before.
  virtual Status Write(std::string_view bytes) = 0;
  // Instead of Write, where `ranged` says so: anywhere, by several threads at once, and to be read
  // again before Commit. ReadAt gives up to `size` bytes; 0 behind the end.
  virtual bool ranged() const { return false; }
  virtual Status WriteAt(int64_t offset, std::string_view bytes) {
    (void)offset, (void)bytes;
    return Status(Code::kInvalid, "this file is written from its beginning to its end");
  }
  virtual Result<int64_t> ReadAt(int64_t offset, char* buffer, int64_t size) {
    (void)offset, (void)buffer, (void)size;
    return Status(Code::kInvalid, "this file is not read before it is whole");
  }
  virtual Status Commit(int mode, int64_t mtime_ns) = 0;
};

// A directory that is being made equal to a list (restore, download). Paths must satisfy
// IsSafeRelativePath; no existing link is followed below the directory. One thread at a time is in
// its calls and in Commit of its files; different files may be written at once.
class DirectoryWriter {
 public:
  virtual ~DirectoryWriter() = default;
  virtual Result<std::unique_ptr<NewFile>> Create(const std::string& path) = 0;
  virtual Status MakeLink(const std::string& path, const std::string& target) = 0;
  virtual Status MakeDirectory(const std::string& path) = 0;
  // Gives `from`, which this writer has made, the name `to`, whatever has it now. `newer`: and a
  // time of change (ctime) behind that of all that it has named before, as far as the file system
  // tells times apart.
  virtual Status Rename(const std::string& from, const std::string& to, bool newer) = 0;
  // Another name of the file `of`, which this writer has made. Fails where there are no such names.
  virtual Status MakeHardLink(const std::string& path, const std::string& of) = 0;
  // Removes every entry that is not in `keep` and no parent of one, and of those at the top none
  // whose name `spares` says yes to; null = it says yes to none.
  using Spares = std::function<bool(const std::string& name)>;
  virtual Status RemoveOthers(const std::set<std::string>& keep,
                              const Spares& spares = nullptr) = 0;
};

}  // namespace stoker
