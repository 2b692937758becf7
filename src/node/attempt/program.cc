// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/program.h"

#include <cstdlib>
#include <utility>

#include "node/attempt/container_user.h"
#include "node/env/editable.h"
#include "node/env/host_names.h"
#include "node/gpus/gpus.h"
#include "provider/local/local_boot.h"
#include "sys/file.h"

namespace stoker::node {

namespace {

// Exits with it; a POSIX shell is in most images, bash is not.
constexpr char kBashOrSh[] =
    "if command -v bash >/dev/null 2>&1; then exec bash -c \"$0\"; else exec /bin/sh -c \"$0\"; fi";

// What an image sets stands in the place of the submitter's shell.
void TakeImage(const contract::Environment& variables, contract::ProgramInput& facts) {
  for (const auto& [name, value] : variables) {
    if (name == "PATH") facts.path = value;
    if (name == "HOME") facts.home = value;
    if (name != "HOSTNAME") facts.shell.emplace_back(name, value);
  }
}

}  // namespace

contract::ProgramInput FactsOf(const AttemptContext& here, const Staged& staged,
                               const std::vector<std::string>& addresses, int master_port,
                               bool resume) {
  const Job& job = here.config.job;
  contract::ProgramInput facts;
  facts.job_id = job.id;
  facts.job_name = job.name;
  facts.user = job.user;
  facts.attempt = here.config.attempt;
  facts.rank = here.config.rank;
  facts.addresses = addresses;
  facts.host_names = HostNames(job.id, job.num_nodes);
  facts.master_port = master_port;
  facts.num_nodes = job.num_nodes;
  facts.gpus = CountGpus();
  const char* given = std::getenv(kGrantedGpus);
  if (auto granted = ReadGrantedGpus(given != nullptr ? given : "")) {
    facts.gpus = granted->count;
    facts.granted = std::move(granted->variables);
  }
  if (here.container && here.own_gpus > 0) {
    facts.gpus = here.own_gpus;
    facts.granted = CountedFromZero(here.own_gpus).variables;
  }
  facts.resume = resume;
  facts.checkpoint_dir = here.CheckpointDir();
  facts.output_dir = here.WorkDir() + "/" + contract::kOutputFolder;
  facts.inputs_dir = here.InputsDir();
  facts.model_dir = here.WorkDir() + "/" + contract::kModelFolder;
  facts.git = job.git;
  facts.store_url = here.store.url();
  facts.home = sys::HomeDir();
  if (here.container) TakeImage(here.container->variables(), facts);
  facts.shell.insert(facts.shell.end(), staged.own.shell.begin(), staged.own.shell.end());
  facts.secrets = staged.own.secrets;
  if (here.container) return facts;
  facts.path = job.path;
  if (const char* own = std::getenv("PATH"); facts.path.empty() && own != nullptr) facts.path = own;
  return facts;
}

void Activate(const Staged& staged, contract::Environment& env) {
  ActivatePythonEnv(staged.venv.folder, env);
  ActivateEditableGuard(staged.guard, env);
}

TaskCommand ShellCommand(const AttemptContext& here, const std::string& script,
                         contract::Environment env) {
  TaskCommand command;
  // SkyPilot's scripts are bash; where there is none, a POSIX shell still runs most of them.
  const bool bash = sys::FileExists("/bin/bash") || sys::FileExists("/usr/bin/bash");
  command.argv = {bash ? "bash" : "/bin/sh", "-c", script};
  if (here.container) command.argv = {"/bin/sh", "-c", kBashOrSh, script};
  command.env = std::move(env);
  command.cwd = here.WorkDir();
  return command;
}

Status Equip(const AttemptContext& here, const std::vector<std::string>& addresses,
             TaskCommand& command) {
  const AttemptConfig& config = here.config;
  STOKER_TRY(AskForHostName(
      {config.job.id, config.job.num_nodes, config.rank, addresses, config.dir + "/hosts"},
      command));
  if (here.place) command.lock = here.place->lock();
  if (!here.container) return Status::Ok();
  const std::vector<std::string>& entry = here.container->entrypoint();
  command.argv.insert(command.argv.begin(), entry.begin(), entry.end());
  return GiveToUser(here);
}

void SayWhatIsNotHeld(AttemptContext& here) {
  TaskLimiter* limiter = here.config.limiter;
  const std::string what = limiter != nullptr ? limiter->TakeComplaint() : "";
  if (!what.empty()) here.log.Say("stoker: " + what);
}

}  // namespace stoker::node
