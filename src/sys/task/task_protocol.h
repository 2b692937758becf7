// SPDX-License-Identifier: Apache-2.0
// What the owner of a task and the shim that watches over it (`stoker __init`) say to each other.
// Both are the same binary, so this is no durable format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

inline constexpr char kTaskInitVerb[] = "__init";

// Descriptors of the shim, besides 0 = /dev/null and 1, 2 = the program's output.
inline constexpr int kControlFd = 3;  // a socket; end of file = the owner is gone: end everything
inline constexpr int kStatusFd = 4;   // write end of TaskMessages
inline constexpr int kLockFd = 5;     // TaskCommand::lock, which the program inherits, or /dev/null
inline constexpr int kPayloadFd = 6;  // a memfd with a TaskPayload

inline constexpr char kEndEverything = 'K';  // the only byte sent on kControlFd

// kContainer: the shim is the first process of a container (sys/container/), and no child of the
// owner. It looks the program up itself, and its own environment is the image's.
enum class TaskMechanism : uint32_t { kPidns, kCgroup, kSubreaper, kContainer };

struct TaskMessage {
  enum Kind : int32_t { kStarted, kStartFailed, kExited } kind;
  int32_t value;  // kStartFailed: errno; kExited: status as wait(2) gives it
  int32_t stage;  // kStartFailed: one of TaskStage; kStarted: 1 = it has the host name
  int64_t peak;   // kExited: most bytes that it, or a process that it waited for, had resident
};

enum TaskStage : int32_t {
  kStageCwd,
  kStageCgroup,
  kStageExec,
  kStageFork,
  kStagePayload,
  kStageLookup
};

struct TaskPayload {
  TaskMechanism mechanism = TaskMechanism::kPidns;
  std::string program;  // what execve gets; "" = argv[0] is looked up where the shim is
  std::string cwd;
  std::string cgroup;  // "" unless mechanism is kCgroup, or it holds limits
  std::string comm;    // the shim's own name; "" = leave it
  std::vector<std::string> argv;
  std::vector<std::string> env;                 // NAME=value
  std::string host_name;                        // what this should be called; "" = as the machine
  std::string hosts_file;                       // for the owner alone
  int lock = -1;                                // the same; the shim sees whether there is one
  std::vector<std::string> env_with_host_name;  // added where it is
  std::vector<std::string> env_without_host_name;  // added where it is not
};

std::string EncodePayload(const TaskPayload& payload);
// False when `bytes` is not what EncodePayload makes.
bool DecodePayload(std::string_view bytes, TaskPayload& payload);

}  // namespace stoker
