// SPDX-License-Identifier: Apache-2.0
#include "spec/text/known_keys.h"

#include <algorithm>
#include <iterator>

namespace stoker {
namespace {

constexpr std::string_view kOtherMachines =
    "Remove it: this machine has what it has (--infra local ignores it)";
constexpr std::string_view kPlacement =
    "Remove it: this machine is only in one place (--infra local ignores it)";

}  // namespace

const RefusedKeys& RefusedTopKeys() {
  static const RefusedKeys keys = {
      {"managed_secrets",
       "Name the variables under 'secrets', with where each lies: docs/secrets.md"},
      {"file_mounts", "Name their place under 'inputs', or put them in the work directory"},
      {"volumes", "Use a path of this machine in 'run'"},
      {"volume_mounts", "Use a path of this machine in 'run'"},
      {"event_callback", "Use 'stoker wait' in a script of your own"},
      {"service", "stoker trains and does not serve"},
      {"pool", "stoker has no worker pools"},
      {"api_server_access", "There is no server: remove it"},
      {"file_mounts_mapping", "It is internal to SkyPilot: remove it"},
      {"_metadata", "It is internal to SkyPilot: remove it"},
      {"execution", "Pipelines come later: write one job a file"},
  };
  return keys;
}

const RefusedKeys& RefusedResourceKeys() {
  static const RefusedKeys keys = {
      {"region", kPlacement},
      {"zone", kPlacement},
      {"accelerator_args", kOtherMachines},
      {"instance_type", kOtherMachines},
      {"disk_size", kOtherMachines},
      {"disk_tier", kOtherMachines},
      {"network_tier", kOtherMachines},
      {"local_disk", kOtherMachines},
      {"image_id", "Remove it: the job runs on this machine's own system"},
      {"ports", "Remove it: on this machine every port is open to you"},
      {"autostop", "Remove it: a machine always ends with its job"},
      {"max_hourly_cost", "Remove it: this machine costs nothing an hour"},
      {"priority_class", "Write 'priority' and a number: a higher one is first"},
      {"volumes", "Use a path of this machine in 'run'"},
  };
  return keys;
}

const std::vector<std::string_view>& MachineKeys() {
  static const std::vector<std::string_view> keys = {
      "any_of",           "ordered",       "region",    "zone",           "image_id",
      "accelerator_args", "instance_type", "disk_size", "disk_tier",      "ports",
      "network_tier",     "local_disk",    "autostop",  "priority_class", "max_hourly_cost"};
  return keys;
}

const std::vector<std::string_view>& MachineConfigKeys() {
  static const std::vector<std::string_view> keys = {"docker", "kubernetes", "nvidia_gpus", "azure",
                                                     "allowed_clouds"};
  return keys;
}

const RefusedKeys& RefusedCheckpointKeys() {
  static const RefusedKeys keys;
  return keys;
}

const RefusedKeys& RefusedInputKeys() {
  static const RefusedKeys keys = {
      {"include", "Name a folder that has nothing else"},
      {"exclude", "Name a folder that has nothing else"},
  };
  return keys;
}

const RefusedKeys& RefusedLimitKeys() {
  static const RefusedKeys keys = {
      {"max_cost", "This machine costs nothing; 'limits.max_duration' bounds the time"},
      {"deadline", "'limits.max_duration' bounds the program's own time"},
  };
  return keys;
}

const RefusedKeys& RefusedConfigKeys() {
  static const RefusedKeys keys = {
      {"docker", "Remove it: options of 'run' stand under container.run_options of the job file"},
      {"kubernetes", "Remove it: stoker asks no Kubernetes"},
      {"nvidia_gpus", "Remove it: that is for Kubernetes, which stoker does not ask"},
      {"azure", "Remove it: stoker asks no Azure"},
      {"hooks", "Handle SIGTERM in the program, or set 'checkpoints.signal'"},
      {"jobs", "There is no controller machine: remove it"},
      {"api_server", "There is no server: remove it"},
      {"allowed_clouds", "Remove it: 'infra' says where"},
      {"admin_policy", "Remove it: there is no server that could apply it"},
  };
  return keys;
}

constexpr std::string_view kTop[] = {"name",
                                     "workdir",
                                     "include",
                                     "shell_env",
                                     "container",
                                     "num_nodes",
                                     "resources",
                                     "envs",
                                     "secrets",
                                     "hyperparameters",
                                     "setup",
                                     "run",
                                     "command",
                                     "checkpoints",
                                     "outputs",
                                     "metrics",
                                     "metric_definitions",
                                     "tensorboard",
                                     "wandb",
                                     "inputs",
                                     "limits",
                                     "hooks",
                                     "notify",
                                     "logs",
                                     "recovery",
                                     "on_stop",
                                     "stop_grace",
                                     "keep_failed",
                                     "config"};

std::string_view HomeOfKey(std::string_view key) {
  static const std::map<std::string_view, std::string_view> homes = {
      {"infra", "resources"},
      {"cloud", "resources"},
      {"use_spot", "resources"},
      {"labels", "resources"},
      {"cpus", "resources"},
      {"memory", "resources"},
      {"accelerators", "resources"},
      {"gpus", "resources"},
      {"priority", "resources"},
      {"spot_recovery", "resources"},
      {"keep", "checkpoints"},
      {"quiet", "checkpoints"},
      {"complete", "checkpoints"},
      {"signal", "checkpoints"},
      {"every", "checkpoints"},
      {"max_duration", "limits"},
      {"stall", "limits"},
      {"idle_gpu", "limits"},
      {"kept_size", "limits"},
      {"kept_files", "limits"},
      {"strategy", "job_recovery"},
      {"max_restarts_on_errors", "job_recovery"},
      {"recover_on_exit_codes", "job_recovery"},
      {"ending", "config.stoker"},
      {"engine", "container"},
      {"run_options", "container"},
      {"shm_size", "container"},
      {"cap_add", "container"},
      {"devices", "container"},
      {"cache", "setup"},
      {"on_notice", "hooks"},
      {"on_failure", "hooks"},
      {"on_end", "hooks"},
  };
  if (std::find(std::begin(kTop), std::end(kTop), key) != std::end(kTop)) return kTopLevel;
  if (const auto found = homes.find(key); found != homes.end()) return found->second;
  if (RefusedResourceKeys().count(key) > 0 && key != "volumes") return "resources";
  if (RefusedLimitKeys().count(key) > 0) return "limits";
  if (RefusedTopKeys().count(key) > 0) return kTopLevel;
  return {};
}

}  // namespace stoker
