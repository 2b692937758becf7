// SPDX-License-Identifier: Apache-2.0
// CheckpointFiles and DirectoryWriter on this machine's file systems.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "port/checkpoint_files.h"
#include "port/clock.h"
#include "sys/watch/directory_scan.h"

namespace stoker {

struct CheckpointFilesOptions {
  std::string directory;  // absolute; need not exist yet
  // Copies are made here, best on the same file system (then they may cost nothing). They have no
  // names: nothing is left behind whatever happens to this process.
  std::string staging;
  std::string told;   // path of the file that TakeTold reads; "" = there is none
  std::string only;   // nothing but this entry of the directory; "" = everything
  TreeFilter filter;  // nothing but what it lets through
  // Which of the files that lie there now AnybodyRead is about; unset: it is not asked.
  std::function<bool(const std::string& path)> reads_of;
  bool watch = true;  // false: no hints and no thread, for those who only look now and then
  // Bytes of the staging file system that copies leave free, unless they take less than an eighth
  // of what is.
  int64_t reserve = 64 << 20;
  size_t hold_at_once = 0;  // files held open during a copy; 0 = as the limit of descriptors allows
};

// `clock` must outlive it. How a copy is verified: a read lease (fcntl(2), F_SETLEASE) is held on
// every file while it is copied, which makes a writer's open wait; processes are searched for
// writers and shared mappings before and after, because overlay file systems let some past the
// lease; where there are no leases (NFS, FUSE, files of others) the copy is compared with the
// original afterwards.
std::unique_ptr<CheckpointFiles> OpenCheckpointFiles(const CheckpointFilesOptions& options,
                                                     Clock& clock);

// What a writer does with something that lies where it writes.
enum class InTheWay {
  kRemove,   // whatever it is: for folders that are stoker's to make equal to a list
  kReplace,  // files and links, never a folder: kExists
  kRefuse,   // kExists, also when it came between a look and the write
};

// Makes `directory` when it is not there. Below it no link is ever followed.
Result<std::unique_ptr<DirectoryWriter>> OpenDirectoryWriter(
    const std::string& directory, InTheWay in_the_way = InTheWay::kRemove);

}  // namespace stoker
