// SPDX-License-Identifier: Apache-2.0
// One file held still while it is copied, and the proof that it was.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"
#include "port/checkpoint_files.h"
#include "port/clock.h"
#include "sys/file.h"
#include "sys/watch/file_snapshot.h"

namespace stoker {

// A file open for reading with a read lease where the file system grants one. Destroying it lets
// waiting writers go on. Not thread-safe.
class HeldFile {
 public:
  // kConflict when the file is not as `fact` says; kBusy when somebody has it open for writing,
  // unless `even_if_open`.
  static Result<HeldFile> Open(const std::string& root, const FileFact& fact, Clock& clock,
                               bool even_if_open);
  int fd() const { return fd_.get(); }
  const FileFact& fact() const { return fact_; }
  bool leased() const { return leased_; }
  // A writer waits for the lease.
  bool Wanted() const;
  // The lease held from Open until now, and size and time of change are the same.
  Status StillSame(Clock& clock) const;

 private:
  sys::ScopedFd fd_;
  FileFact fact_;
  bool leased_ = false;
  MonoTime since_;
};

// Copies files into nameless ones, by reference where the file system shares blocks, and with the
// holes that they have. Nothing is left behind whatever happens to this process. A few large files
// get a descriptor each; the rest lie behind one another in one file. Not thread-safe.
class Copier {
 public:
  // Copies go below `folder`; at most `own` of them get a descriptor of their own: all, when no
  // more are copied (`few`), else large ones.
  Copier(std::string folder, size_t own, bool few, FileSnapshot& into)
      : folder_(std::move(folder)), own_left_(own), few_(few), into_(into) {}
  // kBusy when a writer has waited for longer than until `deadline`.
  Status Copy(const HeldFile& held, MonoTime deadline, Clock& clock);
  // The first `fact.size` bytes of a file that is only appended to.
  Status CopyPrefix(int fd, const FileFact& fact);

 private:
  struct Place {
    sys::ScopedFd own;
    int fd = -1;
    int64_t base = 0;
  };
  Result<Place> MakePlace(int64_t size);
  Status Done(Place place, const FileFact& fact);

  const std::string folder_;
  size_t own_left_;
  const bool few_;
  FileSnapshot& into_;
};

// Reads `size` bytes of both again. kConflict when they differ.
Status CompareContents(int original, FileSnapshot::Copy copy, int64_t size);

}  // namespace stoker
