// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/in_container.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/text.h"
#include "container/apptainer_argv.h"
#include "contract/environment.h"
#include "node/attempt/container_user.h"
#include "node/attempt/image.h"
#include "node/env/engine/engine_here.h"
#include "node/gpus/gpus.h"
#include "provider/local/local_boot.h"
#include "sys/container/engine_notes.h"
#include "sys/container/engines.h"
#include "sys/container/images_left.h"
#include "sys/container/machine.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

constexpr size_t kShownId = 12;

Status NoWay(const EngineFacts& engine) {
  if (engine.kind == EngineKind::kDocker) {
    return Status(Code::kInvalid,
                  "docker has neither NVIDIA's runtime nor CDI files for NVIDIA's devices on this "
                  "machine, so that it cannot give the machine's GPUs to a container",
                  "On the machine: install NVIDIA's container toolkit, and restart docker");
  }
  return Status(Code::kInvalid,
                "this machine has no CDI file for NVIDIA's devices in /etc/cdi, so that podman "
                "cannot give its GPUs to a container",
                "On the machine: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml");
}

Status KnownWithin(const EngineFacts& engine) {
  return Status(Code::kInvalid,
                "which of this machine's GPUs are the job's is known within its control group "
                "alone, and the containers of " +
                    std::string(EngineName(engine.kind)) + " are not in it",
                "Write container.engine: apptainer, whose containers are in it");
}

// Of Slurm: what it grants counts within a control group.
bool CountsElsewhere(const EngineFacts& engine) {
  return std::getenv(kGpuDevices) != nullptr && KeepsBooks(engine.kind);
}

// Whether what is granted is all that there is; where nothing is counted, whether the job is kept
// from none. Parts of GPUs, which have no numbers, are not.
bool HasAll(const AttemptContext& here, const std::vector<std::string>& devices) {
  const char* granted = std::getenv(kGrantedGpus);
  const auto own = granted == nullptr ? std::nullopt : GrantedNumbers(granted);
  if (own) return own->size() == devices.size();
  if (here.config.spec.resources.gpus) return false;
  return std::all_of(devices.begin(), devices.end(), [](const std::string& device) {
    return access(device.c_str(), R_OK | W_OK) == 0;
  });
}

// All of the machine's, of which the program sees those that the job was granted by the same
// variables as without a container; but where these count within a control group that the engine's
// containers are not in, the job's alone.
Status NameGpus(AttemptContext& here, const EngineFacts& engine, ContainerPlan* plan) {
  plan->gpus = "all";
  if (!CountsElsewhere(engine) || HasAll(here, NumberedDevices("/dev/nvidia", 0))) {
    return Status::Ok();
  }
  const auto list =
      std::getenv(kGrantedGpus) == nullptr ? std::nullopt : EngineGpus(std::getenv(kGpuDevices));
  if (list) {
    plan->gpus = *list;
    here.own_gpus = static_cast<int>(Split(*list, ',').size());
    return Status::Ok();
  }
  plan->gpus.clear();
  plan->gpu_way = GpuWay::kNone;
  return KnownWithin(engine);
}

// AMD's come as devices, all of them.
Status GiveAmdGpus(AttemptContext& here, const EngineFacts& engine, ContainerPlan* plan) {
  plan->amd_gpus = AmdDevices();
  if (plan->amd_gpus.empty() || !CountsElsewhere(engine)) return Status::Ok();
  if (HasAll(here, NumberedDevices("/dev/dri/renderD", 128))) return Status::Ok();
  plan->amd_gpus.clear();
  return KnownWithin(engine);
}

Status GiveGpus(AttemptContext& here, const EngineFacts& engine, ContainerPlan* plan) {
  here.own_gpus = 0;
  const auto& asked = here.config.spec.resources.gpus;
  if (asked == 0) return Status::Ok();
  const auto say = [&here, &asked](const Status& none) {
    if (none.ok() || asked) return none;
    here.log.Say("stoker: " + none.message() + ": the program has none. " + none.next());
    return Status::Ok();
  };
  STOKER_TRY(say(GiveAmdGpus(here, engine, plan)));
  if (CountGpus() == 0) return Status::Ok();
  plan->gpu_way = WayToGpus(engine, HasCdiFiles());
  // With GPUs that were asked for docker has the last word, and says what it misses.
  if (plan->gpu_way == GpuWay::kNone && engine.kind == EngineKind::kDocker && asked) {
    plan->gpu_way = GpuWay::kRuntime;
  }
  return say(plan->gpu_way != GpuWay::kNone ? NameGpus(here, engine, plan) : NoWay(engine));
}

Result<ContainerPlan> PlanOf(AttemptContext& here, const EngineFacts& engine) {
  const AttemptConfig& config = here.config;
  ContainerPlan plan;
  plan.spec = config.spec.container;
  plan.owner = config.dir;
  plan.job = config.job.id;
  plan.uid = static_cast<int>(geteuid());
  plan.gid = static_cast<int>(getegid());
  plan.folders = {config.dir};
  if (here.place) plan.folders.push_back(here.place->path());
  if (const std::string lasting = here.LastingCheckpointFolder(); !lasting.empty()) {
    STOKER_TRY(sys::MakeDirs(lasting, 0755));
    plan.folders.push_back(lasting);
  }
  if (config.job.num_nodes > 1) {
    plan.host_name = contract::NodeHostName(config.job.id, config.rank);
  }
  for (const std::string& folder : plan.folders) {
    if (folder.find(':') == std::string::npos) continue;
    return Status(Code::kInvalid, "a path with ':' cannot be had in a container: " + folder,
                  "Keep stoker's state in a folder without one");
  }
  STOKER_TRY(GiveGpus(here, engine, &plan));
  return plan;
}

// `image` is on this machine.
Status Begin(AttemptContext& here, ShellStep& step, const EngineFacts& engine,
             const BroughtImage& image) {
  here.log.Does("starting the container");
  STOKER_TRY(EngineNotes(here.config.state_dir).Note(engine));
  if (engine.kind == EngineKind::kApptainer) {
    NoteFileUse(here.config.state_dir, engine, image.name);
  } else {
    NoteImageUse(here.config.state_dir, image.name);
  }
  STOKER_ASSIGN(ContainerPlan plan, PlanOf(here, engine));
  plan.image = image.name;
  STOKER_TRY(PlanProgram(here, step, engine, &plan));
  const ContainerBegin begin{[&step] { return step.cancelled(); },
                             [&here](const std::string& line) { here.log.Say("stoker: " + line); }};
  STOKER_ASSIGN(here.container,
                Container::Open(engine, std::move(plan), here.config.limiter, begin));
  here.engine_patience.Reset();
  return Status::Ok();
}

Status HasBegun(AttemptContext& here, ShellStep& step, EngineFacts engine,
                const BroughtImage& image) {
  here.image_id = image.id;
  step.Use(*here.container);
  if (engine.kind == EngineKind::kPodman && engine.folder.empty()) {
    engine.folder = here.container->store();
    (void)EngineNotes(here.config.state_dir).Note(engine);  // else images are asked for
  }
  here.log.Say("stoker: in a container of " + here.config.spec.container.image + " (" +
               image.id.substr(0, kShownId) + "), by " + TellEngine(engine));
  const std::string& remark = here.container->remark();
  if (!remark.empty())
    here.log.Say("stoker: " + std::string(EngineName(engine.kind)) + ": " + remark);
  return SayUser(here);
}

// By what earlier containers have shown of engine and image. An error: both are to be asked for,
// but where it did not answer in time, or nobody waits any more.
Status BeginAsKnown(AttemptContext& here, ShellStep& step, EngineFacts* engine,
                    BroughtImage* image) {
  const auto noted = EngineNotes(here.config.state_dir).Engine(here.config.spec.container.engine);
  if (!noted) return Status(Code::kNotFound, "no engine is known");
  // What gives GPUs may have been installed since.
  if (noted->kind == EngineKind::kDocker && CountGpus() > 0) {
    return Status(Code::kNotFound, "its GPUs are to be asked for");
  }
  const auto recalled = RecallImage(here, *noted);
  if (!recalled) return Status(Code::kNotFound, "no image is known");
  *engine = *noted;
  *image = *recalled;
  return Begin(here, step, *engine, *image);
}

Status Enter(AttemptContext& here, ShellStep& step, const contract::Environment& secrets) {
  STOKER_TRY(CheckSources(here.config.spec.container));
  EngineFacts engine;
  BroughtImage image;
  bool known = true;
  STOKER_TRY(AwaitEngine(here, step, [&] {
    const Status begun = BeginAsKnown(here, step, &engine, &image);
    known = begun.ok() || begun.Is(Code::kTimeout) || begun.Is(Code::kCancelled);
    return known ? begun : Status::Ok();
  }));
  if (known) return HasBegun(here, step, engine, image);
  LeaveContainer(here, step);  // it may have begun
  const ContainerSpec& spec = here.config.spec.container;
  here.log.Does("looking for an engine");
  const EngineSearch search{spec.engine, here.config.own_system,
                            [&here](const std::string& line) { here.log.Say("stoker: " + line); },
                            here.log.Sink()};
  STOKER_TRY(AwaitEngine(here, step, [&]() -> Status {
    STOKER_ASSIGN(engine, EngineHere(search, step, here.runner));
    return Status::Ok();
  }));
  if (engine.kind == EngineKind::kApptainer) STOKER_TRY(CheckForApptainer(spec));
  STOKER_ASSIGN(image, BringImage(here, step, engine, secrets));
  STOKER_TRY(AwaitEngine(here, step, [&] { return Begin(here, step, engine, image); }));
  return HasBegun(here, step, engine, image);
}

}  // namespace

Status EnterContainer(AttemptContext& here, ShellStep& step, const contract::Environment& secrets,
                      StagingEnded* result) {
  if (here.config.spec.container.image.empty() || here.container) return Status::Ok();
  // Of an agent that was killed while it pulled.
  (void)sys::RemoveTree(here.config.dir + "/login");
  const Status entered = Enter(here, step, secrets).WithContext("container");
  if (entered.Is(Code::kInvalid)) {
    result->setup_failed = true;
    result->setup_code = 1;
  }
  return entered;
}

void LeaveContainer(AttemptContext& here, ShellStep& step) {
  step.Use(here.runner);
  here.container.reset();
}

}  // namespace stoker::node
