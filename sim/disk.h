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
#include "sim/clock.h"
#include "sim/scheduler.h"

namespace stoker::sim {

// What became of the program that wrote, for CheckpointFiles' Fate.
enum class WriterFate { kAlive, kEndedWell, kKilled };

// One folder of files. All calls are made from the program's side and take no time.
class Disk {
 public:
  Disk(Scheduler& scheduler, SimClock& clock);

  struct File {
    std::string data;
    uint64_t ino = 0;
    int64_t mtime_ns = 0;
    int64_t ctime_ns = 0;
    int mode = 0644;
    bool open = false;  // somebody has it open for writing
  };
  const std::map<std::string, File>& files() const { return files_; }
  bool full() const { return full_; }
  // While full, every byte is refused with kNoSpace (files can still be created, closed, removed).
  void SetFull(bool full) { full_ = full; }

  // Creates or truncates, as open(O_TRUNC) does.
  Status Open(const std::string& path);
  // As open without O_TRUNC, for programs that overwrite in place.
  Status OpenInPlace(const std::string& path);
  Status WriteAt(const std::string& path, size_t offset, std::string_view bytes);
  Status Append(const std::string& path, std::string_view bytes);
  void Close(const std::string& path);
  Status Rename(const std::string& from, const std::string& to);
  void Remove(const std::string& path);
  // Of the current task: a new one begins (kAlive), or how the last one ended. Ending closes what
  // it had open. Several at once are not possible on one disk.
  void TaskBegins();
  void TaskEnds(WriterFate fate);
  bool task_alive() const { return task_alive_; }
  // The machine was stopped and started again: open files are closed, events forgotten.
  void Reboot();

  // A view for one agent process; hears of events from now on. The disk outlives it.
  std::unique_ptr<CheckpointFiles> OpenCheckpointFiles();
  std::unique_ptr<DirectoryWriter> OpenWriter();
  // The spool of one (attempt, rank); `name` tells them apart.
  std::unique_ptr<SpoolFolder> OpenSpool(const std::string& name);

 private:
  friend class DiskFiles;
  friend class DiskWriter;
  friend class DiskSpool;
  void Emit(FileEvent event);
  File& Touch(const std::string& path);

  Scheduler& scheduler_;
  SimClock& clock_;
  std::map<std::string, File> files_;
  std::map<std::string, std::map<std::string, std::string>> spools_;
  std::vector<class DiskFiles*> views_;
  uint64_t next_ino_ = 1;
  bool full_ = false;
  bool task_alive_ = false;
  WriterFate fate_ = WriterFate::kEndedWell;
};

}  // namespace stoker::sim
