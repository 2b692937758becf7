// SPDX-License-Identifier: Apache-2.0
#include "node/env/export_lock.h"

#include <algorithm>

#include "base/text.h"
#include "node/env/kept/env_source.h"
#include "node/env/pip_words.h"
#include "node/env/project/lock_text.h"
#include "node/env/uv.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

constexpr size_t kMostTold = 5;

// uv export, as its version takes it; `plain`: it does not tell the indexes.
Result<TaskCommand> UvExport(const EnvMaker& by, const ProjectAsk& ask, const std::string& to,
                             bool* plain) {
  STOKER_ASSIGN(const PipSettings settings, ReadPipSettings(by));
  const UvAsk uv = AskForUv({}, settings);
  std::string program = FindUv(by, ask.tools, settings, !uv.no_index);
  if (program.empty()) program = "uv";
  TextSink help;
  const auto asked = by.step.Run(by.Command({program, "export", "--help"}), help);
  if (by.step.cancelled()) return asked.status();
  const std::vector<std::string> tells = IndexOptions(help.text);
  *plain = tells.empty();
  TaskCommand command =
      by.Command({program, "export", "-q", "--frozen", "--no-dev", "--no-header", "--python",
                  ask.asked.substr(0, ask.asked.find(' ')), "-o", to});
  command.argv.insert(command.argv.end(), tells.begin(), tells.end());
  command.argv.insert(command.argv.end(), uv.arguments.begin(), uv.arguments.end());
  AddSettings(uv, &command.env);
  command.env.emplace_back("UV_PYTHON_DOWNLOADS", "never");
  return command;
}

Status AddIndexes(const std::vector<ProjectIndex>& indexes, const std::string& exported) {
  STOKER_ASSIGN(const std::string text, sys::ReadFile(exported, 1 << 20));
  return sys::WriteFileAtomic(exported, IndexLines(indexes) + text, 0600, false);
}

Status SayWithoutHash(const EnvMaker& by, const std::string& lock, const std::string& exported) {
  STOKER_ASSIGN(const std::string text, sys::ReadFile(exported, 1 << 20));
  std::vector<std::string> without = WithoutHash(text);
  if (without.empty()) return Status::Ok();
  const size_t more = without.size() - std::min(without.size(), kMostTold);
  without.resize(without.size() - more);
  by.Say(lock + " has no hash of " + WithoutPasswords(Join(without, ", ")) +
         (more > 0 ? " and " + std::to_string(more) + " more" : "") +
         ", which lies here, comes from git, or whose index tells none; other hashes are checked");
  return Status::Ok();
}

}  // namespace

Result<bool> ExportLock(const EnvMaker& by, const ProjectAsk& ask,
                        const std::vector<ProjectIndex>& indexes, const std::string& to) {
  std::string instead;
  TaskCommand command;
  const bool by_uv = ask.file == "uv.lock";
  bool plain = false;
  if (by_uv) {
    STOKER_ASSIGN(command, UvExport(by, ask, to, &plain));
    instead = "uv export --frozen --no-dev --emit-index-url -o requirements.txt";
  } else if (ask.file == "poetry.lock") {
    command = by.Command({"poetry", "export", "-f", "requirements.txt", "-o", to});
    instead = "poetry export -f requirements.txt -o requirements.txt";
  } else {
    command = by.Command({"pdm", "export", "--prod", "-f", "requirements", "-o", to});
    instead = "pdm export --prod -f requirements -o requirements.txt";
  }
  TextSink said;
  const auto exit = by.step.Run(command, said);
  if (by.step.cancelled()) return exit.status();
  if (exit.ok() && exit->ShellCode() == 0 && sys::FileExists(to)) {
    if (plain && !indexes.empty()) STOKER_TRY(AddIndexes(indexes, to));
    STOKER_TRY(SayWithoutHash(by, ask.file, to));
    return true;
  }
  const bool absent = exit.ok() ? exit->ShellCode() == 127 : exit.status().Is(Code::kNotFound);
  if (absent && ask.setup) {
    by.Say(ask.file + " is not installed, as " + command.argv[0] +
           " is not on this machine: it is left to setup");
    return false;
  }
  const std::string why = WithoutPasswords(WhyPipFailed(said.text));
  return Status(Code::kInvalid,
                command.argv[0] + " export failed" +
                    (why.empty() ? ": it is not on this machine" : ": " + why),
                "Write it down where that is installed: " + instead + kWithWhatIsThere);
}

}  // namespace stoker::node
