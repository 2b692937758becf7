// SPDX-License-Identifier: Apache-2.0
// The machine that an agent runs on, as its platform offers it. One class a platform, chosen once,
// where the agent starts.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "base/time.h"
#include "job/job.h"
#include "job/notice.h"
#include "port/object_store.h"
#include "port/provider.h"

namespace stoker {

// Who this machine is. Nothing of it changes while the machine lives, but `boot_id`.
struct NodeIdentity {
  LaunchRequest request;  // what it was created from
  int launch = 0;         // its own
  int index = 0;          // which of the machines of its request
  std::string instance_id;
  std::string boot_id;  // another one after each boot
  std::string address;  // where its peers reach it
  std::string dir;      // its own folder, on its own disk; gone with the machine
  // NVIDIA GPUs that its type promises; 0 = none, or the platform grants them one by one. An image
  // may still be installing their driver when the agent starts.
  int gpus = 0;
};

// How a platform treats its machines and their agents. Nothing of it changes.
struct PlatformTraits {
  std::string state_dir;  // where the submitter leaves what is for this machine alone
  std::string work_dir;   // the work folders of attempts; "" = in the machine's own folder
  Duration notice_poll = Duration::Ms(250);  // between two calls of PollNotice
  bool shared = false;  // with other jobs, each of which may have what it asked for
  // The machine and its system were made for this job alone: what lacks there is installed.
  bool own_system = false;
  bool notes = false;  // its provider keeps notes in the store: ProviderOptions::store
  // The platform sends its SIGTERM to the program, too, which may hear of it so much before its
  // agent. Unset: to the agent alone.
  std::optional<Duration> signals_program;
};

// What the platform recommends, which is no notice: nothing need ever come of it.
struct PlatformAdvice {
  std::string what;  // "rebalance": it is likelier than usual to be taken
  WallTime at;       // since when; platform's clock
};

// Thread-safe: the agent's threads ask each for itself, and Renew goes on while another waits.
class NodePlatform {
 public:
  explicit NodePlatform(NodeIdentity identity = {}, PlatformTraits traits = {})
      : identity_(std::move(identity)), traits_(std::move(traits)) {}
  virtual ~NodePlatform() = default;
  const NodeIdentity& identity() const { return identity_; }
  const PlatformTraits& traits() const { return traits_; }
  // Asks now. nullopt = no notice at this moment (a former one was withdrawn). Errors: kUnavailable
  // or kTimeout = it did not answer, which says nothing.
  virtual Result<std::optional<Notice>> PollNotice() = 0;
  // The same for a recommendation; nullopt also where the platform never gives any.
  virtual Result<std::optional<PlatformAdvice>> PollAdvice() {
    return std::optional<PlatformAdvice>();
  }
  // The machine ends itself then (platform's clock), unless it is moved again; whoever holds the
  // machine does that, whatever becomes of the agent. May wait for the platform's API, for minutes.
  virtual Status Renew(WallTime deadline) = 0;
  // The same for the last time: nothing moves it after that, also when the agent is started again;
  // and no notice comes of it.
  virtual Status Keep(WallTime until) { return Renew(until); }
  // The agent is about to end for good: the machine ends with it. `why`, unless empty, is kept for
  // its owner where the machine's remains are looked for.
  virtual Status PowerOff(const std::string& why) = 0;

  // The agent has opened its store, which lives until Leave returns: drills may be heard in it.
  virtual void Use(ObjectStore&) {}
  // The agent is about to end: asks nothing any more, and waits for what asks now.
  virtual void Leave() {}
  // SIGTERM has come to the agent.
  virtual void Signalled() {}
  // Asked before a report tells of a notice or (`over`) of the program's end: true = the machine's
  // owner has ended it with the platform's own tools. Returns soon once `stop` says so.
  virtual bool IsEndedByOwner(bool over, const std::function<bool()>& stop) {
    (void)over, (void)stop;
    return false;
  }
  // Adds to a report how people come to this machine.
  virtual void Tell(NodeReport*) {}

 protected:
  const NodeIdentity identity_;
  const PlatformTraits traits_;
};

}  // namespace stoker
