// SPDX-License-Identifier: Apache-2.0
#include "node/env/export_lock.h"

#include <algorithm>

#include "base/text.h"
#include "node/env/pip_words.h"
#include "node/env/project/lock_text.h"
#include "node/env/uv.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

constexpr size_t kMostTold = 5;

Status SayWithoutHash(const EnvMaker& by, const std::string& exported) {
  STOKER_ASSIGN(const std::string text, sys::ReadFile(exported, 1 << 20));
  std::vector<std::string> without = WithoutHash(text);
  if (without.empty()) return Status::Ok();
  const size_t more = without.size() - std::min(without.size(), kMostTold);
  without.resize(without.size() - more);
  by.Say("uv.lock has no hash of " + Join(without, ", ") +
         (more > 0 ? " and " + std::to_string(more) + " more" : "") +
         ", which lies here, comes from git, or whose index tells none; other hashes are checked");
  return Status::Ok();
}

}  // namespace

Status ExportLock(const EnvMaker& by, const ProjectAsk& ask, const std::string& to) {
  std::vector<std::string> argv;
  std::string instead;
  TaskCommand command = by.Command({});
  if (ask.file == "uv.lock") {
    STOKER_ASSIGN(const PipSettings settings, ReadPipSettings(by));
    const UvAsk uv = AskForUv({}, settings);
    const std::string program = FindUv(by, ask.tools, settings, !uv.no_index);
    argv = {program.empty() ? "uv" : program,
            "export",
            "-q",
            "--frozen",
            "--no-dev",
            "--no-header",
            "--python",
            ask.asked.substr(0, ask.asked.find(' ')),
            "-o",
            to};
    instead = "uv export --frozen --no-dev -o requirements.txt";
    command.env.emplace_back("UV_PYTHON_DOWNLOADS", "never");
  } else if (ask.file == "poetry.lock") {
    argv = {"poetry", "export", "-f", "requirements.txt", "--without-hashes", "-o", to};
    instead = "poetry export -f requirements.txt -o requirements.txt";
  } else {
    argv = {"pdm", "export", "--prod", "--without-hashes", "-f", "requirements", "-o", to};
    instead = "pdm export --prod -f requirements -o requirements.txt";
  }
  command.argv = argv;
  TextSink said;
  const auto exit = by.step.Run(command, said);
  if (by.step.cancelled()) return exit.status();
  if (exit.ok() && exit->ShellCode() == 0 && sys::FileExists(to)) {
    return ask.file == "uv.lock" ? SayWithoutHash(by, to) : Status::Ok();
  }
  const std::string why = WhyPipFailed(said.text);
  return Status(
      Code::kInvalid,
      argv[0] + " export failed" + (why.empty() ? ": it is not on this machine" : ": " + why),
      "Write it down where that is installed: " + instead + kWithWhatIsThere);
}

}  // namespace stoker::node
