// SPDX-License-Identifier: Apache-2.0
// A machine's disk: the files of one checkpoint directory, and the spools of logs. Outlives the
// machine's processes; is lost with the machine.
//
//   disk.cc         files that are written piece by piece, and who has them open
//   disk_files.cc   CheckpointFiles over it, with the kernel's events
//   disk_writer.cc  DirectoryWriter and SpoolFolder over it
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "port/checkpoint_files.h"
#include "port/spool.h"
#include "sim/time/clock.h"
#include "sim/time/scheduler.h"

namespace stoker::sim {

// What became of the program that wrote, for CheckpointFiles' Fate.
enum class WriterFate { kAlive, kEndedWell, kKilled };

// One folder of files. The calls of the program's side take no time; folders come with the first
// file in them and go with the last. What a process does while it unwinds has no effect: its calls
// fail with kUnavailable.
class Disk {
 public:
  Disk(Scheduler& scheduler, SimClock& clock);

  struct File {
    std::string data;
    uint64_t ino = 0;
    int64_t mtime_ns = 0;  // differs after every write
    int64_t ctime_ns = 0;
    int mode = 0644;
    bool open = false;  // somebody has it open for writing
    int64_t holes = 0;  // bytes that were skipped by WriteAt
    FileKind kind = FileKind::kFile;
    std::string target;  // of a link
  };
  const std::map<std::string, File>& files() const { return files_; }
  bool full() const { return full_; }
  // While full, every byte is refused with kNoSpace (files can still be created, closed, removed).
  // Who watches looks every half second: a shorter time without room may be missed.
  void SetFull(bool full);

  // Creates or truncates, as open(O_TRUNC) does.
  Status Open(const std::string& path);
  // As open without O_TRUNC, for programs that overwrite in place.
  Status OpenInPlace(const std::string& path);
  // The file must be open. What lies between its end and `offset` is a hole.
  Status WriteAt(const std::string& path, size_t offset, std::string_view bytes);
  Status Append(const std::string& path, std::string_view bytes);
  void Close(const std::string& path);
  // Of a file, onto a file that is replaced; or of a folder, onto a name that is free.
  Status Rename(const std::string& from, const std::string& to);
  // Of one file or link; harmless when there is none.
  void Remove(const std::string& path);
  Status Link(const std::string& path, const std::string& target);
  // Of the current task: a new one begins (kAlive), or how the last one ended. Ending closes what
  // it had open. Several at once are not possible on one disk. These take effect also when the
  // process that says so is unwinding.
  void TaskBegins();
  void TaskEnds(WriterFate fate);
  bool task_alive() const { return task_alive_; }
  // The machine was stopped and started again: open files are closed, events forgotten.
  void Reboot();
  // The kernel's queue ran over: who watches is told that events were lost.
  void LoseEvents();

  // A view for one agent process; hears of events from now on. The disk outlives it.
  std::unique_ptr<CheckpointFiles> OpenCheckpointFiles();
  // A file that is not committed when its process is killed stays under a name of its own, as on
  // real disks; RemoveOthers clears it away.
  std::unique_ptr<DirectoryWriter> OpenWriter();
  // The spool of one (attempt, rank); `name` tells them apart. While the disk is full, Append
  // writes the first half and fails with kNoSpace.
  std::unique_ptr<SpoolFolder> OpenSpool(const std::string& name);

  // Until when snapshots are refused, true time; null = they are not.
  const int64_t* no_copies_until = nullptr;
  // How long a snapshot takes. What changes or is opened for writing meanwhile is noticed, and the
  // snapshot fails.
  int64_t copy_ms = 4;

 private:
  friend class DiskFiles;
  friend class DiskNewFile;
  friend class DiskWriter;
  friend class DiskSpool;
  friend class DiskAppender;
  using Files = std::map<std::string, File>;

  // disk_files.cc: to all views.
  void Emit(FileEvent::Kind kind, const std::string& path, bool directory = false,
            const std::string& from = "");
  // A write is many events, of which who watches is told the first.
  void EmitWrite(const std::string& path);
  void SetFate(Fate fate);

  bool Dead() const;
  void Stamp(File* file);
  bool HasFolder(const std::string& path) const;
  // Before a name is made, after it is gone: the folders that come and go with it.
  void AnnounceFolders(const std::string& path);
  void AnnounceGone(const std::string& path);
  void RenameFolder(const std::string& from, const std::string& to);
  File& Make(const std::string& path, FileKind kind);
  void Unlink(const std::string& path);
  // The file, folder or link of that name with all below it.
  void RemoveTree(const std::string& path);
  void LetGo(const std::string& path);

  Scheduler& scheduler_;
  SimClock& clock_;
  Files files_;
  std::map<std::string, std::map<std::string, std::shared_ptr<std::string>>> spools_;
  std::vector<class DiskFiles*> views_;
  uint64_t next_ino_ = 1;
  int64_t stamps_ = 0;
  bool full_ = false;
  int64_t full_since_ = 0;  // virtual time
  bool task_alive_ = false;
};

}  // namespace stoker::sim
