// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/in_container.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "base/text.h"
#include "container/engine_words.h"
#include "contract/environment.h"
#include "node/attempt/gpus.h"
#include "node/env/tail_sink.h"
#include "sys/container/engines.h"
#include "sys/file.h"
#include "sys/task/process_runner.h"

namespace stoker::node {
namespace {

constexpr int64_t kInspectMs = 20'000;
constexpr size_t kShownId = 12;

// "sha256:…", or "…" as podman writes it; "" = the image is not here.
Result<std::string> IdHere(const EngineFacts& engine, const std::string& image) {
  STOKER_ASSIGN(const sys::CommandOutput said, AskEngine(InspectArgv(engine, image), kInspectMs));
  if (said.exit_code != 0) return std::string();
  std::string id = said.out.substr(0, said.out.find_first_of(" \n"));
  if (StartsWith(id, "sha256:")) id.erase(0, 7);
  return id;
}

// Not in an enclosure of the usual kind: the client of an ordinary user needs more than the one
// user id that there is in it.
Status Pull(AttemptContext& here, ShellStep& step, const EngineFacts& engine,
            const std::string& image) {
  here.log.Does("pulling the image " + image);
  here.log.Say("stoker: the image " + image +
               " is not on this machine: " + EngineName(engine.kind) + " pulls it");
  const auto runner = MakeProcessRunner({"subreaper", "/proc/self/exe"});
  TaskCommand command;
  command.argv = PullArgv(engine, image);
  for (const std::string& entry : EngineEnvironment()) {
    const size_t sign = entry.find('=');
    if (sign != std::string::npos && sign > 0) {
      command.env.emplace_back(entry.substr(0, sign), entry.substr(sign + 1));
    }
  }
  command.cwd = "/";
  command.out = command.err = LogStream::kSystem;
  TailSink tail(here.log.Sink());
  step.Use(*runner);
  auto exit = step.Run(command, tail);
  step.Use(here.runner);
  if (!exit.ok()) return exit.status();
  if (exit->ShellCode() == 0) return Status::Ok();
  return EngineFailure(engine, "pull " + image, exit->ShellCode(), tail.Tail());
}

bool HasCdi() {
  for (const char* folder : {"/etc/cdi", "/var/run/cdi"}) {
    const auto files = sys::ListDir(folder);
    if (!files.ok()) continue;
    for (const sys::DirEntry& file : *files) {
      if (file.name.find("nvidia") != std::string::npos) return true;
    }
  }
  return false;
}

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

// All of the machine's: the program sees those that the job was granted by the same variables as
// without a container.
Status GiveGpus(AttemptContext& here, const EngineFacts& engine, ContainerPlan* plan) {
  const auto& asked = here.config.spec.resources.gpus;
  if (CountGpus() == 0 || asked == 0) return Status::Ok();
  plan->gpu_way = WayToGpus(engine, HasCdi());
  // With GPUs that were asked for docker has the last word, and says what it misses.
  if (plan->gpu_way == GpuWay::kNone && engine.kind == EngineKind::kDocker && asked) {
    plan->gpu_way = GpuWay::kRuntime;
  }
  if (plan->gpu_way != GpuWay::kNone) {
    plan->gpus = "all";
    return Status::Ok();
  }
  const Status none = NoWay(engine);
  if (asked) return none;
  here.log.Say("stoker: " + none.message() + ": the program has none. " + none.next());
  return Status::Ok();
}

Result<ContainerPlan> PlanOf(AttemptContext& here, const EngineFacts& engine) {
  const AttemptConfig& config = here.config;
  ContainerPlan plan;
  plan.spec = config.spec.container;
  plan.image = plan.spec.image;
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

Status Enter(AttemptContext& here, ShellStep& step) {
  const ContainerSpec& spec = here.config.spec.container;
  STOKER_ASSIGN(const EngineFacts engine, ChooseEngine(spec.engine));
  STOKER_ASSIGN(std::string id, IdHere(engine, spec.image));
  if (id.empty()) {
    STOKER_TRY(Pull(here, step, engine, spec.image));
    STOKER_ASSIGN(id, IdHere(engine, spec.image));
  }
  here.log.Does("starting the container");
  STOKER_TRY(NoteEngine(here.config.state_dir, engine));
  STOKER_ASSIGN(ContainerPlan plan, PlanOf(here, engine));
  STOKER_ASSIGN(here.container, Container::Open(engine, std::move(plan), here.config.limiter));
  here.image_id = id;
  step.Use(*here.container);
  here.log.Say("stoker: in a container of " + spec.image + " (" + id.substr(0, kShownId) +
               "), by " + TellEngine(engine));
  const std::string& remark = here.container->remark();
  if (!remark.empty())
    here.log.Say("stoker: " + std::string(EngineName(engine.kind)) + ": " + remark);
  return Status::Ok();
}

}  // namespace

Status EnterContainer(AttemptContext& here, ShellStep& step, StagingEnded* result) {
  if (here.config.spec.container.image.empty() || here.container) return Status::Ok();
  const Status entered = Enter(here, step).WithContext("container");
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
