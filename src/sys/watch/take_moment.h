// SPDX-License-Identifier: Apache-2.0
// Copies the files of one moment, and proves that they were of one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "port/checkpoint_files.h"
#include "port/clock.h"
#include "sys/watch/file_snapshot.h"
#include "sys/watch/task_watch.h"
#include "sys/watch/verified_copy.h"

namespace stoker {

// Few files are all held by leases until the last one is copied. Many, of which each would need a
// descriptor, are held a few at a time: then the moment is the one before the first was copied, and
// no file may have been changed, by the time that the kernel keeps, until the last one was. What
// was changed so shortly before that its next change could bear the same time is waited for.
class MomentTaker {
 public:
  struct Places {
    std::string root;     // of the paths in a request
    std::string staging;  // where copies go
    int64_t reserve = 0;  // bytes there that they leave free
    size_t at_once = 0;   // files held at once; 0 = as the limit of descriptors allows
  };
  MomentTaker(Places places, TaskWatch& task, Clock& clock);
  // As CheckpointFiles::Take.
  Result<std::unique_ptr<Snapshot>> Take(const SnapshotRequest& request);

 private:
  // When each file of a request was changed last, by its path.
  using ChangeTimes = std::map<std::string, int64_t>;

  Status CheckMoment(const SnapshotRequest& request, ChangeTimes* times);
  Status CheckWriters(dev_t device, const std::map<std::string, InodeId>& inodes);
  Status CheckAfter(const SnapshotRequest& request, const std::vector<HeldFile>& held,
                    FileSnapshot& snapshot);
  Status HoldAndCopy(const SnapshotRequest& request, const std::vector<FileFact>& files,
                     FileSnapshot* snapshot);
  Status CopyInTurns(const SnapshotRequest& request, const std::vector<FileFact>& files,
                     FileSnapshot* snapshot);
  Status CompareInTurns(const std::vector<FileFact>& files, const FileSnapshot& snapshot);
  Status ReferTo(const SnapshotRequest& request, const std::vector<FileFact>& files,
                 FileSnapshot* snapshot);
  void CopyPrefixes(const SnapshotRequest& request, Copier& copier);
  bool TaskWell();
  Status CheckRoom(int64_t bytes) const;
  std::string PathOf(const FileFact& fact) const { return places_.root + "/" + fact.path; }

  const Places places_;
  TaskWatch& task_;
  Clock& clock_;
};

// Bytes that ordinary users may still write on the file system of `path`; -1 when it does not say.
int64_t FreeBytes(const std::string& path);

}  // namespace stoker
