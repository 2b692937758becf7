// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/setup.h"

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "node/env/editable.h"
#include "node/env/kept/env_keeper.h"
#include "node/env/pip_words.h"
#include "node/env/python_env.h"
#include "node/env/setup/setup_cache.h"
#include "node/env/setup/setup_env.h"
#include "node/env/tail_sink.h"
#include "spec/text/git/repository.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

// What is installed for editing out of the folder that was packed is imported from the job's copy.
void TakeCopyFirst(AttemptContext& here, const contract::Environment& env, Staged& staged) {
  staged.guard.clear();
  const AttemptConfig& config = here.config;
  const JobSpec& spec = config.spec;
  if (here.container) return;  // what is installed on the machine is not seen in it
  if (config.job.code_digest.empty() || RepositoryOf(spec.workdir)) return;
  const std::string command = Join(spec.argv, " ") + "\n" + spec.run + "\n" + spec.setup;
  const EditablePlan plan =
      PlanEditable({spec.workdir, here.WorkDir(), env, staged.venv.folder, command});
  for (const std::string& line : plan.lines) here.log.Say(line);
  if (!plan.any) return;
  const Status written = WriteEditableGuard(plan, config.dir + "/editable");
  if (!written.ok()) return here.log.Say("stoker: " + written.ToString());
  staged.guard = config.dir + "/editable";
}

Status WhySetupFailed(const AttemptConfig& config, const TaskExit& exit,
                      const std::string& output) {
  std::string what = "setup ended with exit code " + std::to_string(exit.ShellCode());
  const int64_t limit = config.limiter != nullptr ? config.limiter->exceeded() : 0;
  if (exit.out_of_memory && limit > 0) {
    what += ": over its limit of memory, " + HumanSize(limit) + " (resources.memory)";
  }
  if (const std::string words = PackageErrors(output); !words.empty()) what += ": " + words;
  std::string next = "Its output is in the log (stoker logs --stream system)";
  if (const std::string git = GitAdvice(output); !git.empty()) next = git;
  for (const char* name : {"STOKER_CHECKPOINT_DIR", "STOKER_OUTPUT_DIR", "STOKER_MODEL_DIR"}) {
    if (config.spec.setup.find(name) == std::string::npos) continue;
    next += ". The folder of $" + std::string(name) +
            " is made once setup has run: 'mkdir -p' it there if it is needed";
    break;
  }
  return Status(Code::kInvalid, what, next);
}

std::string Told(const SetupResult& result) {
  return std::to_string(result.files) + (result.files == 1 ? " file (" : " files (") +
         HumanSize(result.bytes) + ") in the work directory, " +
         std::to_string(result.variables.size()) +
         (result.variables.size() == 1 ? " variable" : " variables");
}

// The environment that `key` belongs to has a whole result of it. Says what is used.
Result<bool> UseKept(AttemptContext& here, const std::string& key, Staged& staged) {
  if (key.empty() || staged.venv.folder.empty()) return false;
  STOKER_ASSIGN(auto kept, UseSetup(staged.venv.folder, key, here.WorkDir()));
  if (!kept) return false;
  here.log.Say("stoker: setup is not run: what it made before is used, " + key.substr(0, 12) +
               ": its Python environment, " + Told(*kept));
  staged.from_setup = std::move(kept->variables);
  return true;
}

// For the next one; or says why not.
void KeepResult(AttemptContext& here, const std::string& key, const SeenFolder& before,
                const Staged& staged) {
  const auto no = [&](const std::string& why) {
    here.log.Say("stoker: what setup made is not kept (setup.cache): " + why);
  };
  if (staged.venv.folder.empty()) return no("it has no Python environment here");
  if (!staged.venv.held.valid() || StartsWith(staged.venv.folder, here.config.dir + "/")) {
    return no("requirements.txt installs the work directory itself");
  }
  for (const auto& [name, value] : staged.from_setup) {
    if (here.log.Masked(value) != value) return no("the variable " + name + " holds a secret");
  }
  const auto kept = KeepSetup(staged.venv.folder, key, here.WorkDir(), before, staged.from_setup);
  if (!kept.ok()) return no(kept.status().message());
  if (const Status noted = NoteSetupKept(staged.venv.folder); !noted.ok()) {
    here.log.Say("stoker: it is not kept in the store: " + noted.ToString());
  }
  here.log.Say("stoker: what setup made is kept as " + key.substr(0, 12) +
               ": its Python environment, " + Told(*kept));
}

PythonEnvPlaces PlacesOf(AttemptContext& here, const std::string& setup) {
  const AttemptConfig& config = here.config;
  // What one image's interpreter makes is not another's.
  const std::string cache = here.container ? config.dir + "/venv-in" : config.cache_dir + "/venv";
  PythonEnvPlaces places{here.WorkDir(),         cache, config.dir + "/venv",
                         config.job.code_digest, setup, config.job.pins};
  places.setup_cached = config.spec.setup_cache.has_value();
  places.program = config.spec.run + Join(config.spec.argv, " ");
  // In a folder of this machine a second copy would save nothing; a setup in a container may change
  // more than the environment.
  if (here.store.traits().requests_are_free || (here.container && !setup.empty())) return places;
  places.kept = &here.store;
  places.image = here.image_id;
  return places;
}

}  // namespace

Status RunSetup(AttemptContext& here, ShellStep& step, bool resume, Staged& staged,
                StagingEnded* result) {
  const AttemptConfig& config = here.config;
  const std::vector<std::string> own_address = {config.address};
  contract::Environment env =
      contract::SetupEnvironment(config.spec, FactsOf(here, staged, own_address, 0, resume));
  staged.venv = PythonEnv();  // what a try before this one held
  std::string setup = config.spec.setup, key;
  if (config.spec.setup_cache) {
    auto made = SetupKey(config.spec, here.WorkDir(), config.rank);
    if (!made.ok()) {
      result->setup_failed = made.status().Is(Code::kInvalid);
      result->setup_code = 1;
      return made.status();
    }
    key = std::move(*made);
    setup += "\ncache " + key;  // another environment for other files
  }
  auto venv = PreparePythonEnv(PlacesOf(here, setup), env, step, here.log.Sink());
  if (!venv.ok()) {
    result->setup_failed = venv.status().Is(Code::kInvalid) || venv.status().Is(Code::kNotFound);
    result->setup_code = 1;
    // Pip's own words are in it, and it goes into the report.
    const Status& why = venv.status();
    return Status(why.code(), here.log.Masked(why.message()), why.next());
  }
  staged.venv = std::move(*venv);
  TakeCopyFirst(here, env, staged);
  if (config.spec.setup.empty()) return Status::Ok();
  STOKER_ASSIGN(const bool kept, UseKept(here, key, staged));
  if (kept) return Status::Ok();
  SeenFolder before;
  if (!key.empty()) {
    STOKER_ASSIGN(before, SeeFolder(here.WorkDir()));
    // Until it is done, nobody else finds what it has begun.
    SpoilPythonEnv(staged.venv);
  }
  here.log.Does("setup");
  Activate(staged, env);
  const std::string left_in = config.dir + "/setup-env";
  STOKER_TRY(MakeSetupFile(left_in));
  env.emplace_back("STOKER_ENV", left_in);
  const ShellFiles shell_files(sys::HomeDir());
  TaskCommand command = ShellCommand(here, config.spec.setup, std::move(env));
  command.out = LogStream::kSystem;
  command.err = LogStream::kSystem;
  STOKER_TRY(Equip(here, own_address, command));
  TailSink output(here.log.Sink());
  STOKER_ASSIGN(const TaskExit exit, step.Run(command, output));
  SayWhatIsNotHeld(here);
  const std::string changed = shell_files.Changed();
  if (!changed.empty()) here.log.Say("stoker: " + changed);
  if (exit.ShellCode() == 0) {
    SetupLeft left = ReadSetupFile(left_in);
    for (const std::string& note : left.notes) here.log.Say("stoker: " + note);
    staged.from_setup = std::move(left.variables);
    if (key.empty()) return Status::Ok();
    KeepResult(here, key, before, staged);
    if (staged.venv.folder.empty()) return Status::Ok();
    return MarkPythonEnvWhole(staged.venv.folder);
  }
  SpoilPythonEnv(staged.venv);
  result->setup_failed = true;
  result->setup_code = exit.ShellCode();
  // Masked before anything is cut, a secret in two.
  return WhySetupFailed(config, exit, here.log.Masked(output.Tail()));
}

}  // namespace stoker::node
