// SPDX-License-Identifier: Apache-2.0
// The absolute path at which a rank of a job works in all its attempts on this machine. At most one
// attempt has it at a time, by the file PATH.lock:
//   - it appears by link(2), whole, and names host, boot and folder of who has it;
//   - its descriptor is locked, and every process of the attempt inherits it: the kernel says when
//     the last of them is gone;
//   - a kernel's lock counts for one boot of one machine. On a disk that others share, only who
//     took the place gives it back.
// What lies at PATH belongs to who has the lock, and to nobody where there is none.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "sys/file.h"

namespace stoker::sys {

struct WorkHolder {
  std::string host;
  std::string boot;    // BootId
  std::string folder;  // of its machine
};
std::string EncodeWorkHolder(const WorkHolder& holder);
std::optional<WorkHolder> ParseWorkHolder(std::string_view text);
// By who has the kernel's lock of the file that names `holder` (nullopt: it names nobody).
bool IsGone(const std::optional<WorkHolder>& holder, const std::string& boot, bool own_disk);

class WorkPlace {
 public:
  // For the machine in `folder`, whose "work" leads there then; nothing lies at `path`. kBusy: it
  // is another's; says whose.
  static Result<std::unique_ptr<WorkPlace>> Take(const std::string& path,
                                                 const std::string& folder);
  // Gives it back: what lies there becomes <folder>/work, or is removed where it cannot.
  ~WorkPlace();
  WorkPlace(const WorkPlace&) = delete;
  WorkPlace& operator=(const WorkPlace&) = delete;

  const std::string& path() const { return path_; }
  int lock() const { return lock_.get(); }
  // For whoever looks from another host: it is in use.
  void Touch() const;

 private:
  WorkPlace(std::string path, std::string folder, ScopedFd lock)
      : path_(std::move(path)), folder_(std::move(folder)), lock_(std::move(lock)) {}
  Status Begin();

  const std::string path_;
  const std::string folder_;
  ScopedFd lock_;
};

// Where the machine in `folder` works, or has worked: its place while that is its own, else
// <folder>/work.
std::string WorkOf(const std::string& folder);
// Removes what that machine left at its place, and gives the place back. Before its folder goes.
// kBusy: a process of it lives.
Status ForgetWork(const std::string& folder);
// Whether the place with this lock file is a machine's that is gone and did not give it back;
// removes it unless `dry_run`. `old`: also of another host, as nobody has touched it for long.
bool ClearWorkPlace(const std::string& lock_file, bool old, bool dry_run);

}  // namespace stoker::sys
