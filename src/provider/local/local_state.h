// SPDX-License-Identifier: Apache-2.0
// Which instances there are under a state folder, who lives and who is over, and how one is
// removed. Shared by the provider (any number of processes) and each instance's machine process.
//
// What holds whatever dies in between:
//   - instances/<token> appears by rename, with boot.json in it;
//   - a machine process is the one that holds the POSIX record lock on <dir>/lock: a kernel's fact,
//     which no reuse of pids and no reboot can fake;
//   - an instance is started once: machine.json is written under the lock, and who finds it there
//     does not start;
//   - ended/<token> is written before anything is taken away, and forbids any start from then on.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "sys/file.h"

namespace stoker {

class LocalState {
 public:
  explicit LocalState(std::string root) : root_(std::move(root)) {}

  const std::string& root() const { return root_; }
  std::string Instances() const { return root_ + "/instances"; }
  std::string Dir(const std::string& token) const { return Instances() + "/" + token; }
  // The state folder that an instance's folder lies in, and its token.
  static LocalState Of(const std::string& dir);
  static std::string TokenOf(const std::string& dir);

  // The random id of this state folder, made by whoever asks first.
  Result<std::string> HostId() const;

  // Why the instance is over; nullopt while it may live. The mark outlives the instance's folder by
  // a day, longer than any launch may be sent.
  std::optional<std::string> Ended(const std::string& token) const;
  // The first reason stays.
  Status MarkEnded(const std::string& token, const std::string& why) const;
  void ForgetOldMarks() const;

  // Renames the folder away, so that it is gone at once, and removes it. Ok when there is none.
  Status RemoveDir(const std::string& token) const;
  // Folders of RemoveDir, if older than `age`, and of launches that were cut short.
  void RemoveLeftovers(Duration age) const;
  std::vector<std::string> Tokens() const;

 private:
  std::string Mark(const std::string& token) const { return root_ + "/ended/" + token; }
  std::string root_;
};

// True for 1-128 of [A-Za-z0-9_-]: safe as a folder's name.
bool IsInstanceToken(const std::string& token);

// The holder of the lock in `dir`; 0 = nobody. kDenied when somebody holds it whom this process
// cannot see (another pid namespace). Thread-safe.
Result<pid_t> LockHolder(const std::string& dir);
// Runs `work` while this process holds the lock; kBusy, at once, when somebody else does, and
// kNotFound when the folder is gone. Thread-safe: one at a time, because POSIX drops the lock when
// any descriptor of the file is closed.
Status WithLock(const std::string& dir, const std::function<Status()>& work);
// Takes the lock for as long as the result lives. For a process that calls neither of the above.
Result<sys::ScopedFd> TakeLock(const std::string& dir);

}  // namespace stoker
