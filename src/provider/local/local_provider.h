// SPDX-License-Identifier: Apache-2.0
// Instances on this machine: each a folder "<state>/instances/<token>", a machine process
// (provider/local/local_machine.h) that holds its lock, and the agent that this starts.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "port/clock.h"
#include "port/place_info.h"
#include "port/provider.h"
#include "provider/local/local_boot.h"

namespace stoker {

// Of jobs that were submitted inside an allocation of a cluster (port/allocation.h), of which this
// room knows none: the registry fills it in.
struct AllocationGate {
  // May this process launch that now? Where it may, the allocation that this process is inside of,
  // if the request is tied to that one; else job 0. Errors: kUnavailable: not now, or not from
  // here; kInvalid: never again.
  std::function<Result<LocalAllocation>(const LaunchRequest&)> admit;
  // Was a launch refused to this process since its own allocation ends? It may launch none then.
  std::function<bool()> has_left;
  // Its machine process was killed: how the allocation ended with which it went; "": not by that.
  // Errors: nobody can tell yet.
  std::function<Result<std::string>(const LocalBoot&)> went_with;
};

struct LocalProviderOptions {
  std::string state_dir;  // e.g. ~/.local/share/stoker; made when missing
  // The stoker that machines run when "<state>/bin/<binary_digest>/stoker" is not there;
  // "" = the file of this process.
  std::string binary;
  // What the machine runs as its agent; empty = <binary> __agent <dir>. For tests.
  std::vector<std::string> agent_argv;
  // Where other computers reach this one; "" = its machines are reached from here alone.
  std::string address{};
  // The job's other machines may be on other computers: each of its machines here is granted what
  // its request asks for, instead of all of them together.
  bool apart = false;
  AllocationGate gate{};  // empty: no request is tied to any
};

class LocalProvider : public Provider {
 public:
  // Random, and the same for all who use this state folder: tells whose "local" a job means.
  virtual const std::string& host() const = 0;
  // The same for who looks after jobs of this machine; "" where this process is on its way out of
  // an allocation of Slurm: others are to look after them.
  virtual std::string LooksFor() const = 0;
  // This computer goes down, or ends what a login began, this process too: from now on no machine
  // is started by it, and Launch is kUnavailable, for others to repeat. Thread-safe. False: it was
  // called before.
  virtual bool BeginNoMore() = 0;
  // Removes what is left of instances that are over, their processes too, also where no record
  // knows them any more; returns their ids. For gc and doctor.
  virtual Result<std::vector<std::string>> Sweep() = 0;
  // Ids of what Sweep would remove.
  virtual Result<std::vector<std::string>> Leftovers() = 0;
  // Ends its processes at once and keeps its folder, for a disk so full that nothing can be noted;
  // Sweep and Terminate remove that. Ok when it does not run.
  virtual Status Halt(const std::string& instance_id) = 0;
  // As Broker::Places: this machine.
  virtual Result<std::vector<PlaceInfo>> Places() = 0;
  // What this machine has to share, and who shares it now, for people.
  virtual std::string Shared() = 0;
  // Starts those whose turn has come. How many there are still to wait for; with 0, whoever waits
  // for them (local_waiter.h) is that no more.
  virtual Result<size_t> Wait() = 0;
  // Takes a notice of Interrupt back. kNotFound when there is no such instance.
  virtual Status Withdraw(const std::string& instance_id) = 0;
};

// Thread-safe; any number of processes may use one state folder. Launch starts the machine with
// this process's environment (without what belongs to another instance) and returns once it runs,
// or stands in line with the others of this machine (local_turns.h): then it is Queued, and started
// in its turn, with the same environment. Repeating it never starts an instance a second time, nor
// one that is over. Errors besides the port's: kInvalid for a token that is unsafe as a name.
Result<std::unique_ptr<LocalProvider>> MakeLocalProvider(const LocalProviderOptions& options,
                                                         Clock& clock);

}  // namespace stoker
