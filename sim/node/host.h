// SPDX-License-Identifier: Apache-2.0
// A machine of the cloud from the inside: its clock, its disk, its way to the services, and the
// processes on it. Exists from the first boot to the end of the machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/bucket/bucket.h"
#include "sim/cloud/cloud.h"
#include "sim/disk/disk.h"
#include "sim/time/clock.h"
#include "sim/world/world.h"

namespace stoker::sim {

class NodeAgent;

// What a program says of its training, in a file of its machine.
struct Said {
  int64_t step = 0;
  double loss = 0;
};

class Host {
 public:
  Host(World& world, const CloudMachine& machine);
  ~Host();

  // The machine is up: the agent starts, and is started again whenever it dies.
  void Boot();
  // Power is gone. The disk stays, until the host is destroyed.
  void PowerOff();
  // kill -9 of the agent. Its program dies with it (the kernel sees to that); it is started again
  // after `down_ms`.
  void KillAgent(int64_t down_ms);
  // SIGSTOP and SIGCONT of the agent; its program goes on.
  void PauseAgent(int64_t ms);
  int64_t stood_still_until() const { return stood_still_until_; }
  // Its disk has no room until then. Of several such times the last counts: none ends another, so
  // that each lasts long enough to be seen (Disk::SetFull).
  void FillDisk(int64_t until);
  bool up() const { return up_; }
  NodeAgent* agent() { return agent_.get(); }

  World& world;
  const std::string id;
  const LaunchRequest request;
  const int launch;
  SimClock clock;
  Link link;
  Disk disk;
  std::map<int, std::vector<Said>> said;  // by attempt; of rank 0, where the job has a rule
  std::string boot_id;
  bool shutting_down = false;
  bool kept = false;  // its time is not moved any more; on its disk

 private:
  void StartAgent();
  void Sweep();

  bool up_ = false;
  int incarnations_ = 0;
  int64_t full_until_ = 0;
  int64_t stood_still_until_ = -1;
  std::unique_ptr<Process> process_;
  std::unique_ptr<NodeAgent> agent_;
  // Killed, perhaps by one of their own fibers: destroyed by a later event.
  std::vector<std::pair<std::unique_ptr<Process>, std::unique_ptr<NodeAgent>>> dead_;
};

}  // namespace stoker::sim
