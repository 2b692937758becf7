// SPDX-License-Identifier: Apache-2.0
// The machine that an agent runs on, as its platform offers it. One class a platform, chosen once,
// where the agent starts.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "job/notice.h"
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

// What the platform recommends, which is no notice: nothing need ever come of it.
struct PlatformAdvice {
  std::string what;  // "rebalance": it is likelier than usual to be taken
  WallTime at;       // since when; platform's clock
};

// Thread-safe: the agent's threads ask each for itself, and Renew goes on while another waits.
class NodePlatform {
 public:
  virtual ~NodePlatform() = default;
  virtual const NodeIdentity& identity() const = 0;
  // Asks now. nullopt = no notice at this moment (a former one was withdrawn). Errors: kUnavailable
  // or kTimeout = it did not answer, which says nothing.
  virtual Result<std::optional<Notice>> PollNotice() = 0;
  // The same for a recommendation; nullopt also where the platform never gives any.
  virtual Result<std::optional<PlatformAdvice>> PollAdvice() = 0;
  // The machine ends itself then (platform's clock), unless it is moved again; whoever holds the
  // machine does that, whatever becomes of the agent. May wait for the platform's API, for minutes.
  virtual Status Renew(WallTime deadline) = 0;
  // The same for the last time: nothing moves it after that, also when the agent is started again;
  // and no notice comes of it.
  virtual Status Keep(WallTime until) { return Renew(until); }
  // The agent is about to end for good: the machine ends with it. `why`, unless empty, is kept for
  // its owner where the machine's remains are looked for.
  virtual Status PowerOff(const std::string& why) = 0;
};

}  // namespace stoker
