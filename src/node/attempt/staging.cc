// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/staging.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "node/attempt/channels.h"
#include "node/attempt/in_container.h"
#include "node/attempt/restore.h"
#include "node/attempt/setup.h"
#include "node/attempt/work_folder.h"
#include "node/gpus/gpus.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

// So long a vault of secrets may be away before the attempt fails.
constexpr Duration kVaultPatience = Duration::Minutes(10);

// A port that was free a moment ago on every address of this machine: rank 0's rendezvous listens
// there. Several nodes of one machine share its ports, so a fixed one would collide.
int FreePort() {
  const sys::ScopedFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  if (fd.get() < 0 || ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 29500;
  }
  return ntohs(address.sin_port);
}

Status WasStopped() { return Status(Code::kCancelled, "stopped while it was set up"); }

}  // namespace

StagingEnded Staging::Stage(const std::string& restore) {
  StagingEnded result;
  begun_ = true;
  set_up_ = false;
  int64_t pause = 100;
  std::string said;
  for (;;) {
    result.status = TryStage(restore, &result);
    if (result.status.ok() || !result.status.transient() || step_.cancelled()) break;
    // The store is away: the machine waits for it, it is not the machine's fault.
    const std::string why = "stoker: " + result.status.ToString() + "; trying again";
    if (why != said) here_.log.Say(why);
    said = why;
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    pause = std::min<int64_t>(pause * 2, 5000);
  }
  if (!result.status.ok()) here_.log.Say("stoker: " + result.status.ToString());
  if (here_.config.rank == 0) result.master_port = FreePort();
  return result;
}

Status Staging::TryStage(const std::string& restore, StagingEnded* result) {
  *result = {};
  STOKER_TRY(here_.log.Open([this] { return step_.cancelled(); }));
  STOKER_TRY(SetUp(restore, result));
  here_.log.Does(restore.empty() ? "" : "restoring " + restore);
  staged_.restored.clear();
  STOKER_TRY(RestoreInto(here_, restore, result));
  staged_.restored = restore;
  here_.log.Does("");
  if (step_.cancelled()) return WasStopped();
  MakeNamedFolders();
  // Here, where a store that is away is waited for, and not when the program starts.
  return keepers_.Begin(restore);
}

// What `setup` needs and what it does: not again because of a store that was away later.
Status Staging::SetUp(const std::string& restore, StagingEnded* result) {
  if (set_up_) return Status::Ok();
  LeaveContainer(here_, step_);  // of a try before this one
  here_.log.Does("fetching the code");
  const Status prepared =
      PrepareWorkFolder(here_, step_).WithContext("preparing the work directory");
  if (prepared.Is(Code::kCorrupt) || prepared.Is(Code::kInvalid) || prepared.Is(Code::kNotFound)) {
    // Code that cannot be unpacked here cannot be unpacked on any other machine either.
    result->setup_failed = true;
    result->setup_code = 1;
  }
  STOKER_TRY(prepared);
  STOKER_TRY(LearnVariables(result));
  STOKER_TRY(CheckCheckpointFolder(here_, result));
  keepers_.PlanOutputs();
  here_.log.Does("fetching inputs");
  STOKER_TRY(BringInputs(result));
  here_.log.Does("waiting for GPUs");
  STOKER_TRY(AwaitItsGpus());
  STOKER_TRY(EnterContainer(here_, step_, staged_.own.secrets, result));
  here_.log.Does("installing packages");
  STOKER_TRY(RunSetup(here_, step_, !restore.empty(), staged_, result));
  if (step_.cancelled()) return WasStopped();
  set_up_ = true;
  return Status::Ok();
}

Status Staging::LearnVariables(StagingEnded* result) {
  const AttemptConfig& config = here_.config;
  here_.log.Does("reading secrets");
  auto own = FindOwnVariables(config.spec, {config.state_dir, here_.ledger.id(), config.job,
                                            config.place, here_.WorkDir()});
  here_.log.Does("");
  if (!own.ok()) return WhyWithoutVariables(own.status(), result);
  secrets_asked_.reset();
  const bool first = staged_.own.shell.empty() && staged_.own.secrets.empty();
  staged_.own = std::move(*own);
  if (!staged_.own.masked.empty()) here_.log.Mask(staged_.own.masked);
  if (!first) return Status::Ok();
  for (const std::string& line : TellOwnVariables(staged_.own)) here_.log.Say(line);
  return Status::Ok();
}

// A vault that does not answer is waited for, but not for ever: another machine may reach it.
Status Staging::WhyWithoutVariables(const Status& why, StagingEnded* result) {
  const MonoTime now = here_.clock.Mono();
  if (!secrets_asked_) secrets_asked_ = now;
  const bool waits = why.transient() && now - *secrets_asked_ < kVaultPatience;
  if (waits) return why;
  result->setup_failed = true;
  result->setup_code = 1;
  if (!why.transient()) return why;
  return Status(Code::kInvalid,
                why.message() + "; nothing has got through for " + FormatDuration(kVaultPatience),
                why.next());
}

Status Staging::BringInputs(StagingEnded* result) {
  const ChannelsConfig channels{here_.InputsDir(), here_.config.dir + "/inputs-known", here_.clock,
                                [this] { return step_.cancelled(); },
                                [this](const std::string& line) { here_.log.Say(line); }};
  const Status brought = BringChannels(here_.config.spec.inputs, channels);
  if (!brought.ok() && BlamesInputs(brought)) {
    result->setup_failed = true;
    result->setup_code = 1;
  }
  return brought;
}

// Before the setup, which may look for them. A machine that never has them is at fault, not the
// job.
Status Staging::AwaitItsGpus() {
  GpuWait wait;
  wait.promised = here_.config.gpus;
  wait.cancelled = [this] { return step_.cancelled(); };
  wait.say = [this](const std::string& text) { here_.log.Say("stoker: " + text); };
  return AwaitGpus(wait, here_.clock);
}

// So that a program which trusts its variables need not make what they name; after `setup`, to
// whose tools the work directory is a project (setuptools takes each folder for a package). One
// that is not to be had, as a file lies in the way, is said: the program may do without it.
void Staging::MakeNamedFolders() {
  const contract::ProgramInput facts = FactsOf(here_, staged_, {here_.config.address}, 0, false);
  for (const auto& [variable, path] : {std::pair{"STOKER_CHECKPOINT_DIR", facts.checkpoint_dir},
                                       {"STOKER_OUTPUT_DIR", facts.output_dir},
                                       {"STOKER_MODEL_DIR", facts.model_dir}}) {
    const Status made = sys::MakeDirs(path, 0755);
    if (!made.ok()) here_.log.Say("stoker: " + made.WithContext(variable).ToString());
  }
}

}  // namespace stoker::node
