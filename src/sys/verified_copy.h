// SPDX-License-Identifier: Apache-2.0
// One file held still while it is copied, and the proof that it was.
#pragma once

#include <string>

#include "base/status.h"
#include "port/checkpoint_files.h"
#include "port/clock.h"
#include "sys/file.h"

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

// A nameless file in `folder`.
Result<sys::ScopedFd> NamelessFile(const std::string& folder);
// A copy of `held`, by reference where the file system shares blocks. kBusy when a writer has
// waited for longer than until `deadline`.
Result<sys::ScopedFd> CopyHeld(const HeldFile& held, const std::string& staging, MonoTime deadline,
                               Clock& clock);
// The first `size` bytes of a file that is only appended to.
Result<sys::ScopedFd> CopyPrefix(int fd, int64_t size, const std::string& staging);
// Reads both again. kConflict when they differ.
Status CompareContents(int a, int b, int64_t size);

}  // namespace stoker
