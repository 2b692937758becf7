// SPDX-License-Identifier: Apache-2.0
// The folder of an instance on this machine, "<state>/instances/<instance id>": what its launcher,
// its machine process, its agent and everyone who looks at it find there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "job/notice.h"
#include "port/provider.h"

namespace stoker {

inline constexpr char kLocalMachineVerb[] = "__machine";  // stoker __machine DIR
inline constexpr char kLocalAgentVerb[] = "__agent";      // stoker __agent DIR
inline constexpr char kLocalWaiterVerb[] = "__waiter";    // stoker __waiter STATE
// In the agent's environment: "cuda:0,1", "rocm:": the GPUs that its job was granted. Not set where
// there are none.
inline constexpr char kGrantedGpus[] = "STOKER_GPUS";
// Where kGrantedGpus may count within a control group that containers are not in: the same by the
// numbers of their device files, "2,3"; empty: they are not known.
inline constexpr char kGpuDevices[] = "STOKER_GPU_DEVICES";

// What of Slurm the process that launched it was inside of, and so it is, too.
struct LocalAllocation {
  int64_t job = 0;  // Slurm's number of it; 0 = of none
  int stepd = 0;    // slurmstepd of its step (provider/slurm/slurm_allocation.h); 0 = unseen
  uint64_t stepd_began = 0;  // … in ticks of the boot
  bool outlive = false;      // its end is no cancel of the job
};

// boot.json: everything the instance was created from. Written once, before anything is started.
struct LocalBoot {
  LaunchRequest request;  // read again without `launches`, and of `ask` its options alone
  int slot = 0;           // of the job, that this machine serves
  int launch = 0;         // that of this machine
  int index = 0;          // of this machine within the request
  std::string instance_id;
  std::string binary;  // the stoker that it runs
  std::vector<std::string> agent_argv;
  WallTime created;
  std::string boot_id;  // of the machine: an instance does not outlive a reboot
  std::string address;  // where peers on other computers reach it; "" = it has none such
  bool apart =
      false;  // its job's other machines may be on other computers: it stands in line alone
  LocalAllocation allocation;
};

// machine.json: written by the machine process when it starts, so its presence says "was started".
struct LocalMachineInfo {
  int pid = 0;
  std::string address;
  WallTime started;
};

// All take the folder. kNotFound = there is no such file; kCorrupt = it is not what it should be.
Result<LocalBoot> ReadLocalBoot(const std::string& dir);
Status WriteLocalBoot(const std::string& dir, const LocalBoot& boot);
Result<LocalMachineInfo> ReadLocalMachineInfo(const std::string& dir);
Status WriteLocalMachineInfo(const std::string& dir, const LocalMachineInfo& info);

// lease.json: when the machine process ends the instance, whatever the agent does. A healthy agent
// pushes it ahead.
Result<WallTime> ReadLocalLease(const std::string& dir);
Status RenewLocalLease(const std::string& dir, WallTime expires);

// notice.json: the interruption notice. nullopt = none. Withdraw is ok also when there was none.
Result<std::optional<Notice>> ReadLocalNotice(const std::string& dir);
Status GiveLocalNotice(const std::string& dir, const Notice& notice);
Status WithdrawLocalNotice(const std::string& dir);

// Why the agent leaves the machine, for the machine to keep; "" = it did not say.
Status WriteLocalReason(const std::string& dir, const std::string& why);
bool HasLocalReason(const std::string& dir);  // it leaves, whether it said why or not

// There while the agent waits for others of its job, with nothing that runs.
inline std::string LocalGathers(const std::string& dir) { return dir + "/gathers"; }
inline std::string LocalWorkDir(const std::string& dir) { return dir + "/work"; }
inline std::string LocalAgentLog(const std::string& dir) { return dir + "/agent.log"; }
inline std::string LocalMachineLog(const std::string& dir) { return dir + "/machine.log"; }

}  // namespace stoker
