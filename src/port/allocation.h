// SPDX-License-Identifier: Apache-2.0
// A job on this machine whose submitter runs inside an allocation of a cluster that is not stoker's
// own: a batch script that said `stoker run`. What is inside goes with the allocation.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "port/clock.h"

namespace stoker {

class Allocations;

// Of a job, among the options of what it asks of this machine: written at submission.
struct AllocationTie {
  int64_t job = 0;       // the cluster's number of the allocation
  bool outlive = false;  // its end is no cancel of stoker's job
  const Allocations* of = nullptr;
  bool operator==(const AllocationTie&) const = default;
};

struct AllocationHere {
  int64_t job = 0;
  // "": its script waits at SIGTERM; else its command, which ends of it, and the cluster may then
  // kill what the script has begun at once.
  std::string dies_first;
};

// What the agent of such a job does at the allocation's end; all but `cancel` return soon.
struct TiedTo {
  std::function<void(const std::string& line)> say;   // in the log
  std::function<void(const std::string& by)> cancel;  // writes it into the record
  std::function<void(Duration left)> stops;           // as a host that shuts down
  std::function<void()> signalled;                    // the program, too, by the cluster itself
  std::function<void(Duration late)> may_be_late;     // … and before its agent
};

// While it lives the end of the allocation is a notice, and a cancel of the job, written before
// that is told of, unless the job is to outlive it. Its end waits for what it still writes; the
// store's tries are to be over by then.
class TiedNode {
 public:
  virtual ~TiedNode() = default;
  // SIGTERM has come to this process. True: of the cluster, and heeded.
  virtual bool Signalled() = 0;
  virtual void Leave() = 0;
};

// Allocations of one kind of cluster; lives as long as the process. Thread-safe.
class Allocations {
 public:
  virtual ~Allocations() = default;
  virtual std::string Name(int64_t job) const = 0;  // "Slurm's job 12"
  // What this process itself is inside of.
  virtual std::optional<AllocationHere> Here() const = 0;
  virtual std::string Encode(const AllocationTie& tie) const = 0;  // words
  virtual std::optional<AllocationTie> Parse(std::string_view options) const = 0;
  // About to end, or over, as far as the cluster tells within seconds.
  virtual bool IsEnding(Clock& clock, int64_t job) const = 0;
  // For an agent on a local machine, which has the folder `dir`; null where that was not begun
  // inside one. What `to` refers to outlives Leave, and what its `cancel` does the node.
  virtual std::unique_ptr<TiedNode> Watch(const std::string& dir, Clock& clock,
                                          TiedTo to) const = 0;
};

}  // namespace stoker
