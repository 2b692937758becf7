// SPDX-License-Identifier: Apache-2.0
// Whose turn it is on this machine, for the instances of one state folder: its tickets in the
// folder that all users share (local_queue_folder.h), judged by policy/local_queue.h.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "port/clock.h"
#include "port/place_info.h"
#include "provider/local/local_boot.h"
#include "provider/local/local_queue_folder.h"
#include "provider/local/local_state.h"
#include "sys/file.h"

namespace stoker {

// An instance whose turn has come.
struct LocalStart {
  std::string id;
  sys::ScopedFd grant;   // for its machine process to inherit; closed unused, it gives all back
  std::string variable;  // for its machine's environment: which GPUs it has; "" = there are none
};

struct LocalTaken {
  std::vector<LocalStart> starts;
  size_t waiting = 0;  // of this state folder, besides
};

// The folder of this machine, or one of its own where that cannot be used; `own` says which.
LocalQueueFolder OpenLocalQueue(const LocalState& state, const std::string& host,
                                bool* own = nullptr);

// "2 CPUs, 16 GB of memory, no GPU, shared in turn: 1 machine runs, 3 wait (FOLDER)": what there is
// to share, and who shares it now. For people.
std::string TellLocalQueue(const LocalState& state, const std::string& host);

// The same as figures.
PlaceInfo LocalShare(const LocalState& state, const std::string& host);

// Thread-safe; any number of processes.
class LocalTurns {
 public:
  LocalTurns(LocalState state, std::string host, Clock& clock);

  // From now on it waits. Ok also when it does already.
  Status Enter(const std::string& id, const LocalBoot& boot);
  bool Waits(const std::string& id);
  // Where it stands in line and why, in words; may be half a second old.
  std::string Why(const std::string& id);
  // Those that may start now are granted what they ask for. With `retire`, a waiter ends that way:
  // when nobody is left that it would wait for.
  Result<LocalTaken> Take(bool retire);
  // It waits no more, unless its machine runs.
  void Leave(const std::string& id);
  bool HasWaiter() { return Folder().HasWaiter(); }
  // For as long as the result lives this process waits for all of this state folder. kBusy: another
  // does.
  Result<sys::ScopedFd> BeWaiter();
  const std::string& path() { return Folder().path(); }

 private:
  const LocalQueueFolder& Folder();
  // Leaves out, and takes away, what is over of this state folder. Under the lock.
  void Tidy(std::vector<LocalTicketSeen>* seen);

  const LocalState state_;
  const std::string host_;
  Clock& clock_;
  std::mutex mutex_;
  std::optional<LocalQueueFolder> folder_;
  std::map<std::string, std::string> whys_;  // by instance
  std::optional<MonoTime> whys_at_;
};

}  // namespace stoker
