// SPDX-License-Identifier: Apache-2.0
// Which engines for containers this machine has, and what they are asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "container/engine_argv.h"
#include "sys/command.h"

namespace stoker {

// This process's environment, less what marks stoker's own processes: what an engine keeps running
// is its own to end.
std::vector<std::string> EngineEnvironment();

// Runs `argv` in `cwd` ("" = "/": a client of podman may leave files where it stands). kTimeout
// names what was asked; kCancelled: `stopped`.
Result<sys::CommandOutput> AskEngine(const std::vector<std::string>& argv, int64_t timeout_ms,
                                     const sys::Stopped& stopped = {}, const std::string& cwd = "");

// Names of those whose client is in this process's PATH, in the order of preference. Asks none of
// them: whether one can be used, FindEngines finds out.
std::vector<std::string> InstalledEngines();

struct FoundEngine {
  EngineFacts facts;
  std::string trouble;  // it is installed, but cannot be used: why, and what to do
  bool away = false;    // its daemon is away, or it did not answer in time: that may pass
};
// How long a question may take that an engine answers at once where it has nothing else to do.
inline constexpr int64_t kAskEngineMs = 20'000;
// In the order of preference: podman, docker, apptainer. Takes as long as they do to say their
// version, `ask_ms` for each question at most; `wanted`, where given, is asked alone.
std::vector<FoundEngine> FindEngines(const std::string& wanted = "", int64_t ask_ms = kAskEngineMs,
                                     const sys::Stopped& stopped = {});

// The first of them whose client is there, or of that name, with its path alone; asks nothing.
std::optional<EngineFacts> FirstEngine(const std::string& wanted);

// Whether this machine has CDI files for NVIDIA's devices.
bool HasCdiFiles();

// "podman 4.3.1 (rootless)": of those that can be used, for people.
std::vector<std::string> TellEngines(const std::vector<FoundEngine>& found);

// The one that `wanted` names, "" = the first that can be used. kInvalid: there is none here, with
// what to do; kUnavailable: its daemon is away, or a busy machine's engine did not answer in time;
// kCancelled: `stopped`.
Result<EngineFacts> ChooseEngine(const std::string& wanted, int64_t ask_ms = kAskEngineMs,
                                 const sys::Stopped& stopped = {});

// The words of an image's own entry point; the image is on the machine. kInvalid: a program cannot
// be begun through it.
Result<std::vector<std::string>> ImageEntrypoint(const EngineFacts& engine,
                                                 const std::string& image,
                                                 const sys::Stopped& stopped = {});

// In the folder of a machine: there from before its first container until the engine has forgotten
// the last one.
inline constexpr char kContainerFolder[] = "/container";

// The id of a container of `owner` that is there; "" = there is none.
Result<std::string> ContainerOf(const EngineFacts& engine, const std::string& owner);

// Removes all containers of `owner`, tried twice: after a kill podman fails the first time. Errors:
// one stays; kTimeout: the engine did not answer for `within_ms`, in all.
inline constexpr int64_t kRemoveWithinMs = 120'000;
Status RemoveContainers(const EngineFacts& engine, const std::string& owner,
                        int64_t within_ms = kRemoveWithinMs, const sys::Stopped& stopped = {});

// Dead containers of owners in the folder `instances`, which are gone: their ids. Removes them,
// unless `dry_run`. Asks the engines that are noted in `state_dir` (EngineNotes) alone, so that who
// has no containers waits for none. One that does not answer has none to tell.
std::vector<std::string> SweepContainers(const std::string& state_dir,
                                         const std::vector<FoundEngine>& engines,
                                         const std::string& instances, bool dry_run);

}  // namespace stoker
