// SPDX-License-Identifier: Apache-2.0
// The part of an attempt that is around its setup: whose packages are imported, why it failed.
#include "base/text.h"
#include "node/attempt_run.h"
#include "node/env/editable.h"
#include "node/env/pip_words.h"
#include "spec/text/repository.h"

namespace stoker::node {

// What is installed for editing out of the folder that was packed is imported from the job's copy.
void AttemptRun::TakeCopyFirst(const contract::Environment& env) {
  guard_.clear();
  const JobSpec& spec = config_.spec;
  if (config_.job.code_digest.empty() || RepositoryOf(spec.workdir)) return;
  const std::string command = Join(spec.argv, " ") + "\n" + spec.run + "\n" + spec.setup;
  const EditablePlan plan = PlanEditable({spec.workdir, WorkDir(), env, venv_.folder, command});
  for (const std::string& line : plan.lines) Say(line);
  if (!plan.any) return;
  const Status written = WriteEditableGuard(plan, config_.dir + "/editable");
  if (!written.ok()) return Say("stoker: " + written.ToString());
  guard_ = config_.dir + "/editable";
}

Status AttemptRun::WhySetupFailed(const TaskExit& exit, const std::string& output) {
  std::string what = "setup ended with exit code " + std::to_string(exit.ShellCode());
  const int64_t limit = config_.limiter != nullptr ? config_.limiter->exceeded() : 0;
  if (exit.out_of_memory && limit > 0) {
    what += ": over its limit of memory, " + HumanSize(limit) + " (resources.memory)";
  }
  if (const std::string words = PackageErrors(output); !words.empty()) what += ": " + words;
  std::string next = "Its output is in the log (stoker logs --stream system)";
  if (const std::string git = GitAdvice(output); !git.empty()) next = git;
  for (const char* name : {"STOKER_CHECKPOINT_DIR", "STOKER_OUTPUT_DIR", "STOKER_MODEL_DIR"}) {
    if (config_.spec.setup.find(name) == std::string::npos) continue;
    next += ". The folder of $" + std::string(name) +
            " is made once setup has run: 'mkdir -p' it there if it is needed";
    break;
  }
  return Status(Code::kInvalid, what, next);
}

}  // namespace stoker::node
