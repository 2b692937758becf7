// SPDX-License-Identifier: Apache-2.0
// The folder through which all users of this machine share it (docs/decisions/0026):
//
//   t.<uid>.<host>.<instance>   a ticket: a machine that waits or runs, and what its job asks for
//   g.<uid>.<host>.<instance>   a grant: since when it runs, with which GPUs
//   w.<uid>.<host>              whoever starts the tickets of that state folder when others end
//   lock                        held by whoever decides, for a moment
//
// A grant and a waiter count only while a process holds the file's lock (an open file description
// lock: fcntl(2), F_OFD_SETLK). The kernel frees it when the last process that inherited the
// descriptor dies, however it dies, so that nothing has to be cleaned up and no pid is believed. A
// ticket with a grant that nobody holds is over, or was never started: its owner knows which.
// Files appear whole, by rename. Names, owners and contents are others': a file whose owner is not
// the one in its name, that is no plain file, or that does not parse is as if it were not there.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "policy/local_queue.h"
#include "sys/file.h"

namespace stoker {

// $STOKER_QUEUE, for tests; else the one of this machine.
std::string LocalQueuePath();

struct LocalTicketText {
  std::string job;   // "<ledger>/<job>"
  std::string who;   // the job
  std::string user;  // whose it is, for people
  LocalWants wants;
  int node = 0;
};

struct LocalTicketSeen {
  std::string id;  // of the instance
  bool own = false;
  bool granted = false;  // there is a grant
  bool held = false;     // and a process holds it
  LocalTicketText text;
  LocalTicket ticket;  // as the policy takes it
};

// Thread-safe; any number of processes.
class LocalQueueFolder {
 public:
  // `host`: of the state folder that the tickets written here belong to.
  LocalQueueFolder(std::string path, std::string host);

  // Makes the folder, open to all users, where it is not there. kDenied: it is not one that may be
  // used (a link, somebody's own).
  Status Make() const;
  // For as long as the result lives nobody else decides. kBusy after some seconds.
  Result<sys::ScopedFd> Lock() const;
  // Every ticket but those of others that are over. Without the lock it may be a moment old.
  std::vector<LocalTicketSeen> Read() const;

  // All of this state folder alone.
  bool Has(const std::string& id) const;
  Status Enter(const std::string& id, const LocalTicketText& text) const;
  // The descriptor holds it; under the lock.
  Result<sys::ScopedFd> Grant(const std::string& id, WallTime now,
                              const std::vector<int>& gpus) const;
  // The grant only, where nobody holds it.
  void Withdraw(const std::string& id) const;
  // Grant and ticket, unless somebody holds the grant; true when they are gone.
  bool Leave(const std::string& id) const;
  // The same also where this process holds the grant.
  void End(const std::string& id) const;
  // What it holds is its own from now on: one that replaces it stands in line like any other.
  Status Part(const std::string& id) const;
  // What writers left that were killed over it a while ago.
  void RemoveUnfinished() const;
  // So that no clean-up of old files takes them.
  void Touch(const std::string& id) const;
  // Under the lock. kBusy: there is one.
  Result<sys::ScopedFd> BeWaiter() const;
  void EndWaiter() const;
  bool HasWaiter() const;

  const std::string& path() const { return path_; }

 private:
  std::string Of(char kind, const std::string& rest) const;
  std::string Mine(char kind, const std::string& id) const;

  std::string path_;
  std::string host_;
};

}  // namespace stoker
