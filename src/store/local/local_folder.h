// SPDX-License-Identifier: Apache-2.0
// File calls relative to the root of a local store, with its way of saying errors.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "port/object_store.h"
#include "store/local/local_layout.h"
#include "sys/file.h"

namespace stoker::local {

struct Entry {
  std::string name;
  unsigned char type = 0;  // DT_*; DT_UNKNOWN where the file system does not say
};

// All entries but "." and "..", unsorted. `fd` stays open; its position is rewound first.
Status ReadEntries(int fd, std::vector<Entry>* entries);

// The current revision in an open <key>.rev, or nullopt when this look saw none.
Result<std::optional<Revision>> CurrentRevision(int rev_dir);

// Whether one syncfs(2) makes all that was written to the file system of `fd` durable, and tells
// what could not be: on those of disks, where the kernel does (5.8).
bool SettlesAsOne(int fd);

// Thread-safe: holds only the descriptor of the root.
class Folder {
 public:
  Folder(std::string root, sys::ScopedFd fd, bool durable);

  int fd() const { return fd_.get(); }
  bool durable() const { return durable_; }
  // Of what is made in it, before the umask: one's own alone, unless the root may be written by its
  // group, or by all. So a folder that others may merely look at shows them no job's files.
  mode_t folder_mode() const { return 0777 & rights_; }
  mode_t file_mode() const { return 0666 & rights_; }
  const std::string& root() const { return root_; }
  std::string Path(const std::string& relative) const { return root_ + "/" + relative; }
  WallTime Now() const;

  // What errno `error` means for `doing` on `relative` ("" = the store itself): the path, and what
  // the user can do.
  Status Failure(std::string_view doing, const std::string& relative, int error) const;

  bool Exists(const std::string& relative) const;
  // An invalid descriptor when it is not there.
  Result<sys::ScopedFd> OpenDir(const std::string& relative) const;
  // Directories above `key`, durably.
  Status MakeParents(const std::string& key) const;
  // Directories above `key` that are empty, bottom-up; the root stays.
  void RemoveEmptyParents(const std::string& key) const;
  // fsync of the directory that holds `key`; nothing unless durable.
  Status SyncParent(const std::string& key) const;
  Status Sync(int fd, const std::string& relative) const;

  // A fresh name below .tmp, which exists afterwards.
  Result<std::string> TempName() const;
  // Deletes what lies in .tmp since before `older`.
  void SweepTmp(Duration older) const;

 private:
  std::string root_;
  sys::ScopedFd fd_;
  bool durable_;
  mode_t rights_ = 0700;
};

// A file in .tmp on its way to become an object. Not thread-safe. Removed when not published.
class Staged {
 public:
  static Result<Staged> Make(const Folder& folder);
  // A file in .tmp that is all written, by its name relative to the root.
  static Staged Adopt(const Folder& folder, std::string name, sys::ScopedFd fd, int64_t size);
  ~Staged();
  Staged(Staged&& other) noexcept;
  Staged& operator=(Staged&& other) noexcept;

  Status Write(std::string_view bytes);
  // [0, size) of `source`, by reflink, in-kernel copy, or read and write.
  Status CopyFrom(int source, int64_t size);
  // Last step before publishing: stamps it with a time that no other file of this name has, and
  // makes it durable.
  Status Seal();
  // A second file of the same content, sealed, for when the name of this one was lost to a race.
  Result<Staged> Clone() const;

  const std::string& name() const { return name_; }
  const struct stat& info() const { return info_; }
  // It has another name now (or none): nothing to remove.
  void Published() { name_.clear(); }

 private:
  Staged(const Folder& folder, std::string name, sys::ScopedFd fd)
      : folder_(&folder), name_(std::move(name)), fd_(std::move(fd)) {}

  const Folder* folder_;
  std::string name_;
  sys::ScopedFd fd_;
  int64_t size_ = 0;
  struct stat info_ = {};
};

}  // namespace stoker::local
