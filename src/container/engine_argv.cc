// SPDX-License-Identifier: Apache-2.0
#include "container/engine_argv.h"

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "container/apptainer_argv.h"
#include "container/inside.h"
#include "container/run_options.h"

namespace stoker {
namespace {

using Words = std::vector<std::string>;

// Docker's daemon ends its containers when the machine shuts down, by default after 10 s. The agent
// has 20 s then (node/agent_main.cc), and its end is the container's.
constexpr char kOutlastsAgent[] = "--stop-timeout=25";

// Half of what the job may have, else of the machine: what is not written takes no memory.
int64_t SharedMemory(const ContainerPlan& plan) {
  if (plan.spec.shm_size) return *plan.spec.shm_size;
  return (plan.memory > 0 ? plan.memory : plan.machine_memory) / 2;
}

void AddShared(const ContainerPlan& plan, Words* out) {
  // podman refuses both together; with another's there is nothing to size.
  if (!HasOwnShared(plan.spec.run_options) || Gives(plan.spec.run_options, "--shm-size")) return;
  if (const int64_t bytes = SharedMemory(plan); bytes > 0) {
    out->push_back("--shm-size=" + std::to_string(bytes));
  }
}

// Unasked podman allows 2048 processes and threads, as docker does not. By -1 crun would want a
// controller of processes, which a machine may not have.
void AddNoLimits(const EngineFacts& engine, const ContainerPlan& plan, Words* out) {
  if (engine.kind != EngineKind::kPodman || !plan.holds_pids) return;
  if (!Gives(plan.spec.run_options, "--pids-limit")) out->push_back("--pids-limit=0");
}

void AddLimits(const ContainerPlan& plan, Words* out) {
  if (plan.memory > 0) {
    out->push_back("--memory=" + std::to_string(plan.memory));
    out->push_back("--memory-swap=" + std::to_string(plan.memory));  // none beside it
  }
  if (plan.cpus > 0) {
    char text[32];
    std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(plan.cpus / 1000),
                  static_cast<long long>(plan.cpus % 1000));
    out->push_back(std::string("--cpus=") + text);
  }
}

void AddMounts(const ContainerPlan& plan, Words* out) {
  const auto mount = [out](const std::string& source, const std::string& target, bool read_only) {
    out->push_back("--volume=" + source + ":" + target + (read_only ? ":ro" : ""));
  };
  mount(plan.program, kContainerProgram, true);
  const std::string socket = kContainerSocket;
  mount(plan.socket_dir, socket.substr(0, socket.rfind('/')), true);
  for (const std::string& folder : plan.folders) mount(folder, folder, false);
  for (const std::string& volume : plan.spec.volumes) out->push_back("--volume=" + volume);
  if (!plan.host_name.empty()) mount(plan.hosts_file, "/etc/hosts", true);
}

void AddGpus(const ContainerPlan& plan, Words* out) {
  for (const std::string& device : plan.amd_gpus) out->push_back("--device=" + device);
  if (plan.gpus.empty()) return;
  if (plan.gpu_way == GpuWay::kRuntime) {
    out->push_back(plan.gpus == "all" ? "--gpus=all" : "--gpus=\"device=" + plan.gpus + "\"");
    return;
  }
  for (const std::string& one : Split(plan.gpus, ',')) {
    out->push_back("--device=nvidia.com/gpu=" + one);
  }
}

}  // namespace

const char* EngineName(EngineKind kind) {
  if (kind == EngineKind::kApptainer) return "apptainer";
  return kind == EngineKind::kDocker ? "docker" : "podman";
}

bool KeepsBooks(EngineKind kind) { return kind != EngineKind::kApptainer; }

GpuWay WayToGpus(const EngineFacts& engine, bool cdi_files) {
  if (engine.kind == EngineKind::kApptainer) return GpuWay::kRuntime;
  if (engine.kind == EngineKind::kDocker && engine.nvidia) return GpuWay::kRuntime;
  const bool cdi = engine.kind == EngineKind::kPodman || engine.cdi;
  return cdi && cdi_files ? GpuWay::kCdi : GpuWay::kNone;
}

const char* TellGpuWay(const EngineFacts& engine, bool cdi_files) {
  switch (WayToGpus(engine, cdi_files)) {
    case GpuWay::kRuntime:
      return engine.kind == EngineKind::kApptainer ? "GPUs by --nv" : "GPUs by NVIDIA's runtime";
    case GpuWay::kCdi:
      return "GPUs by CDI";
    case GpuWay::kNone:
      break;
  }
  return cdi_files ? "no GPUs: it has no runtime of NVIDIA's, and reads no CDI files"
                   : "no GPUs: there is no CDI file of NVIDIA's";
}

std::string TellEngine(const EngineFacts& engine) {
  return std::string(EngineName(engine.kind)) + (engine.version.empty() ? "" : " ") +
         engine.version + (engine.rootless ? " (rootless)" : "");
}

Words RunArgv(const EngineFacts& engine, const ContainerPlan& plan) {
  if (engine.kind == EngineKind::kApptainer) return ApptainerExec(engine, plan);
  Words out = {engine.program, "run", "--detach", "--rm", "--pull=never", "--network=host"};
  out.push_back("--log-driver=none");
  // A HEALTHCHECK is a service's: with podman a timer of the machine's systemd.
  out.push_back("--no-healthcheck");
  // Else the container has the proxies of podman's own environment, whatever the job's is.
  if (engine.kind == EngineKind::kPodman) out.push_back("--http-proxy=false");
  if (engine.kind == EngineKind::kDocker) out.push_back(kOutlastsAgent);
  out.push_back(std::string("--label=") + kContainerOwnerLabel + "=" + plan.owner);
  out.push_back(std::string("--label=") + kContainerJobLabel + "=" + plan.job);
  // Labels of SELinux keep a container from files that are not its own.
  out.push_back("--security-opt=label=disable");
  if (!plan.host_name.empty()) out.push_back("--hostname=" + plan.host_name);
  for (const std::string& word : UserWords(engine, plan)) out.push_back(word);
  for (const std::string& word : GroupWords(engine, plan)) out.push_back(word);
  AddShared(plan, &out);
  AddLimits(plan, &out);
  AddNoLimits(engine, plan, &out);
  AddMounts(plan, &out);
  AddGpus(plan, &out);
  for (const std::string& one : plan.spec.cap_add) out.push_back("--cap-add=" + one);
  for (const std::string& one : plan.spec.devices) out.push_back("--device=" + one);
  out.insert(out.end(), plan.spec.run_options.begin(), plan.spec.run_options.end());
  out.push_back(std::string("--entrypoint=") + kContainerProgram);
  out.push_back("--workdir=/");
  out.push_back(plan.image);
  out.push_back(plan.verb);
  out.push_back(kContainerSocket);
  return out;
}

Words ListArgv(const EngineFacts& engine, const std::string& owner) {
  const std::string label = kContainerOwnerLabel;
  const std::string filter = "--filter=label=" + label + (owner.empty() ? "" : "=" + owner);
  const bool docker = engine.kind == EngineKind::kDocker;
  const std::string value =
      docker ? "{{.Label \"" + label + "\"}}" : "{{index .Labels \"" + label + "\"}}";
  const std::string format = owner.empty() ? "{{.ID}} " + value : "{{.ID}}";
  return {engine.program, "ps", "--all", "--no-trunc", filter, "--format=" + format};
}

Words RemoveArgv(const EngineFacts& engine, const std::string& id) {
  // Those of the image's VOLUMEs, which have no name; what has one stays.
  Words out = {engine.program, "rm", "--force", "--volumes"};
  if (engine.kind == EngineKind::kPodman) out.push_back("--time=0");
  out.push_back(id);
  return out;
}

Words InspectArgv(const EngineFacts& engine, const std::string& image) {
  if (engine.kind == EngineKind::kApptainer) return ApptainerInspect(engine, image);
  return {engine.program, "image", "inspect", "--format={{.Id}} {{.RepoDigests}}", image};
}

Words ImagesArgv(const EngineFacts& engine) {
  return {engine.program, "images", "--format={{.Repository}}:{{.Tag}}"};
}

Words RemoveImageArgv(const EngineFacts& engine, const std::string& image) {
  return {engine.program, "rmi", image};
}

// As jobs have the machine's network, so has what builds their image.
Words BuildArgv(const EngineFacts& engine, const std::string& name, const std::string& context,
                const std::string& dockerfile) {
  return {engine.program,
          "build",
          "--network=host",
          "--tag=" + name,
          "--file=" + context + "/" + dockerfile,
          context};
}

// Both engines read what either of them writes.
Words SaveArgv(const EngineFacts& engine, const std::string& name, const std::string& archive) {
  return {engine.program, "save", "--output=" + archive, name};
}

Words LoadArgv(const EngineFacts& engine, const std::string& archive) {
  return {engine.program, "load", "--quiet", "--input=" + archive};
}

Words PullArgv(const EngineFacts& engine, const std::string& image, const std::string& login_dir) {
  if (engine.kind == EngineKind::kApptainer) return ApptainerPull(engine, image);
  if (login_dir.empty()) return {engine.program, "pull", image};
  if (engine.kind == EngineKind::kDocker) {
    return {engine.program, "--config=" + login_dir, "pull", image};
  }
  return {engine.program, "pull", "--authfile=" + login_dir + "/config.json", image};
}

std::vector<Words> PushArgvs(const EngineFacts& engine, const std::string& name,
                             const std::string& remote, const std::string& login_dir,
                             const std::string& daemon) {
  if (engine.kind == EngineKind::kDocker) {
    Words push = {engine.program};
    if (!login_dir.empty()) push.push_back("--config=" + login_dir);
    if (!login_dir.empty() && !daemon.empty()) push.push_back("--host=" + daemon);
    push.insert(push.end(), {"push", remote});
    return {{engine.program, "tag", name, remote}, push};
  }
  Words push = {engine.program, "push", "--quiet"};
  if (!login_dir.empty()) push.push_back("--authfile=" + login_dir + "/config.json");
  push.insert(push.end(), {name, remote});
  return {push};
}

}  // namespace stoker
