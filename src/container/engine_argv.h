// SPDX-License-Identifier: Apache-2.0
// What an engine's client is told, word by word: out of the job's container and facts of the
// machine. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "container/container_spec.h"

namespace stoker {

enum class EngineKind { kPodman, kDocker, kApptainer };

struct EngineFacts {
  EngineKind kind = EngineKind::kPodman;
  std::string program;  // absolute path of its client
  std::string version;  // "4.3.1"
  // Of an ordinary user: user ids are mapped, docker's so that the container's root is that user.
  bool rootless = false;
  // docker's own: it has NVIDIA's runtime or hook; it reads CDI files.
  bool nvidia = false;
  bool cdi = false;
  std::string folder{};  // where it keeps images, apptainer as files; "" = not known
};
const char* EngineName(EngineKind kind);
// "podman 4.3.1", "podman 4.3.1 (rootless)".
std::string TellEngine(const EngineFacts& engine);

// How an engine gives NVIDIA's GPUs to a container: by itself, or as devices of CDI.
enum class GpuWay { kNone, kRuntime, kCdi };
// `cdi_files`: the machine has CDI files for them.
GpuWay WayToGpus(const EngineFacts& engine, bool cdi_files);
// "GPUs by CDI", or why not.
const char* TellGpuWay(const EngineFacts& engine, bool cdi_files);

// The labels that all of stoker's containers carry.
inline constexpr char kContainerOwnerLabel[] = "stoker.owner";  // the folder of its machine
inline constexpr char kContainerJobLabel[] = "stoker.job";

// Inside, where stoker's own program and the socket to its owner lie.
inline constexpr char kContainerProgram[] = "/.stoker/program";
inline constexpr char kContainerSocket[] = "/.stoker/owner/socket";

struct ContainerPlan {
  ContainerSpec spec;
  std::string image;  // what is run: `spec.image`, or it with a digest
  std::string owner;  // kContainerOwnerLabel
  std::string job;
  std::string program;                  // on the machine: stoker's static binary
  std::string socket_dir;               // on the machine: holds "socket"
  std::string verb;                     // of `program`
  std::vector<std::string> folders;     // that have the same path inside
  std::string host_name;                // "" = the machine's
  std::string hosts_file;               // with `host_name`
  int64_t memory = 0;                   // bytes that the engine holds it to; 0 = no limit
  int64_t cpus = 0;                     // in thousandths; 0 = no limit
  int64_t machine_memory = 0;           // bytes; for the default of shared memory
  int uid = 0, gid = 0;                 // of who runs the job
  std::vector<int> groups;              // the others of that user
  bool holds_pids = true;               // the machine lets this user's podman limit processes
  bool whole_root = true;               // root has all capabilities that the kernel knows
  std::string gpus;                     // "" = none, "all", or numbers as "0,2"
  std::vector<std::string> amd_gpus;    // paths of AMD's devices
  GpuWay gpu_way = GpuWay::kNone;       // with `gpus`
  std::vector<std::string> entrypoint;  // in front of the program's words; not the engine's matter
};

// Starts the container and returns: its first process is stoker's own. Of apptainer: stays for as
// long as that lives.
std::vector<std::string> RunArgv(const EngineFacts& engine, const ContainerPlan& plan);
// Of an engine that keeps books of them; apptainer has none.
bool KeepsBooks(EngineKind kind);
// Prints ids of stoker's containers, one a line: of `owner`, or of all with their owner behind a
// blank where that is "".
std::vector<std::string> ListArgv(const EngineFacts& engine, const std::string& owner);
std::vector<std::string> RemoveArgv(const EngineFacts& engine, const std::string& id);
// Prints the id of an image that is on the machine, and its names with digests; fails where it is
// not.
std::vector<std::string> InspectArgv(const EngineFacts& engine, const std::string& image);
// Prints the names of all images, one a line; takes one away, unless a container has it.
std::vector<std::string> ImagesArgv(const EngineFacts& engine);
std::vector<std::string> RemoveImageArgv(const EngineFacts& engine, const std::string& image);
// An image named `name`, of `dockerfile` in the folder `context`; into the file `archive`, and out
// of one.
std::vector<std::string> BuildArgv(const EngineFacts& engine, const std::string& name,
                                   const std::string& context, const std::string& dockerfile);
std::vector<std::string> SaveArgv(const EngineFacts& engine, const std::string& name,
                                  const std::string& archive);
std::vector<std::string> LoadArgv(const EngineFacts& engine, const std::string& archive);
// `login_dir`: a folder whose "config.json" has the registry's login; "" = the engine's own.
std::vector<std::string> PullArgv(const EngineFacts& engine, const std::string& image,
                                  const std::string& login_dir = "");

// One after the other: the image `name` into a registry, as `remote`. `login_dir` as for PullArgv;
// `daemon`: docker's, with `login_dir`.
std::vector<std::vector<std::string>> PushArgvs(const EngineFacts& engine, const std::string& name,
                                                const std::string& remote,
                                                const std::string& login_dir,
                                                const std::string& daemon);

}  // namespace stoker
