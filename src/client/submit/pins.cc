// SPDX-License-Identifier: Apache-2.0
#include "client/submit/pins.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "node/env/login/login.h"
#include "node/env/requirement_files.h"
#include "spec/text/git/git_requirements.h"
#include "sys/command.h"

namespace stoker::client {
namespace {

constexpr int64_t kAnswerWithinMs = 5000;
constexpr size_t kMostTold = 5;

std::vector<std::string> EnvironmentWithout(const std::vector<std::string_view>& names) {
  std::vector<std::string> env;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const bool out = std::any_of(names.begin(), names.end(), [&](std::string_view name) {
      return StartsWith(entry, name) && entry.substr(name.size(), 1) == "=";
    });
    if (!out) env.emplace_back(entry);
  }
  return env;
}

// ssh as git would start it, but without a question: nobody answers, and a terminal that it was
// asked in would be left without echo.
std::string QuietSsh() {
  std::string ssh = "ssh";
  if (const char* own = std::getenv("GIT_SSH_COMMAND")) {
    ssh = own;
  } else {
    const auto configured = sys::RunCommands({{{"git", "config", "--get", "core.sshCommand"},
                                               EnvironmentWithout({}),
                                               "/dev/null",
                                               1 << 12}},
                                             kAnswerWithinMs)
                                .front();
    if (configured.ok() && configured->exit_code == 0) {
      ssh = configured->out.substr(0, configured->out.find('\n'));
    }
  }
  return ssh + " -o BatchMode=yes";
}

std::optional<sys::Command> Question(const GitRequirement& asked, const std::string& ssh,
                                     const node::VariableSource& variable) {
  std::vector<node::AddressLogin> logins;
  const auto url =
      node::FilledIn(node::TakeLogins("git+" + asked.url, variable, &logins), variable);
  if (!url) return std::nullopt;
  sys::Command command;
  std::vector<std::string_view> left = {"GIT_DIR",         "GIT_WORK_TREE", "GIT_INDEX_FILE",
                                        "GIT_SSH_COMMAND", "LC_ALL",        "GIT_TERMINAL_PROMPT"};
  const char* own = std::getenv("GIT_CONFIG_COUNT");
  if (!logins.empty()) left.push_back("GIT_CONFIG_COUNT");
  command.env = EnvironmentWithout(left);
  for (const auto& [name, value] : node::GitLogins(logins, own == nullptr ? 0 : std::atoi(own))) {
    command.env.push_back(name + "=" + value);
  }
  command.env.insert(command.env.end(), {"GIT_TERMINAL_PROMPT=0", "LC_ALL=C"});
  if (!ssh.empty()) command.env.push_back("GIT_SSH_COMMAND=" + ssh);
  command.argv = {"git", "ls-remote", "--", url->substr(4)};
  if (asked.ref.empty()) {
    command.argv.push_back("HEAD");
  } else {
    command.argv.insert(command.argv.end(), {asked.ref, asked.ref + "^{}"});
  }
  command.max_output = 1 << 20;
  return command;
}

// Why there is no commit; "" where there is one, or where it is no name that moves.
std::string WhyNoCommit(const Result<sys::CommandOutput>& got, const GitRequirement& asked,
                        const std::string& commit) {
  if (!commit.empty()) return "";
  if (got.status().Is(Code::kTimeout)) return "no answer within 5 s";
  if (got.status().Is(Code::kNotFound)) return "git is not installed here";
  if (!got.ok()) return got.status().message();
  if (got->exit_code != 0) {
    return "git says: " + CutText(Printable(got->err.substr(0, got->err.find('\n'))), 200);
  }
  if (MayBeCommit(asked.ref)) return "";
  return "there is no such branch or tag";
}

void TellPins(Client& client, const std::vector<std::string>& lines) {
  for (size_t i = 0; i < lines.size() && i < kMostTold; ++i) client.Say(lines[i]);
  if (lines.size() > kMostTold) {
    client.Say("requirements.txt: and " + std::to_string(lines.size() - kMostTold) +
               " more (stoker show has all)");
  }
}

}  // namespace

std::vector<Pin> ResolvePins(Client& client, const std::string& workdir,
                             const node::VariableSource& variable) {
  std::vector<GitRequirement> asked;
  for (const node::RequirementFile& file : node::ReadRequirementFiles(workdir)) {
    for (GitRequirement& moving : MovingRequirements(file.text)) {
      const bool known = std::find(asked.begin(), asked.end(), moving) != asked.end();
      if (!known && asked.size() < kMostPins) asked.push_back(std::move(moving));
    }
  }
  if (asked.empty()) return {};
  const bool any_ssh = std::any_of(asked.begin(), asked.end(), [](const GitRequirement& one) {
    return one.url.find("://") == std::string::npos || one.url.find("ssh") != std::string::npos;
  });
  const std::string ssh = any_ssh && std::getenv("GIT_SSH") == nullptr ? QuietSsh() : "";
  std::vector<sys::Command> commands;
  std::vector<std::optional<size_t>> places;
  for (const GitRequirement& one : asked) {
    auto question = Question(one, ssh, variable);
    places.push_back(question ? std::optional(commands.size()) : std::nullopt);
    if (question) commands.push_back(std::move(*question));
  }
  const auto answers = sys::RunCommands(commands, kAnswerWithinMs);
  std::vector<Pin> pins;
  std::vector<std::string> lines;
  for (size_t i = 0; i < asked.size(); ++i) {
    const std::string what = "requirements.txt: " + Printable(asked[i].source);
    std::string commit;
    std::string why = "a variable in it has no value here";
    if (places[i]) {
      const auto& answer = answers[*places[i]];
      if (answer.ok() && answer->exit_code == 0) {
        commit = CommitInAnswer(answer->out, asked[i].ref);
      }
      why = WhyNoCommit(answer, asked[i], commit);
      if (commit.empty() && why.empty()) continue;
    }
    lines.push_back(commit.empty()
                        ? what + ": which commit that is, is not known (" + why +
                              "): the environment that was made from it before is used, and where "
                              "there is none, pip takes what it is then"
                        : what + " is commit " + commit.substr(0, 10) +
                              ", for all attempts of this job");
    pins.push_back({asked[i].source, commit});
  }
  TellPins(client, lines);
  return pins;
}

}  // namespace stoker::client
