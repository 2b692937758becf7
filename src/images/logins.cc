// SPDX-License-Identifier: Apache-2.0
#include "images/logins.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "base/text.h"
#include "sys/command.h"
#include "sys/file.h"

extern char** environ;

namespace stoker {
namespace {

constexpr int64_t kLoginMs = 20'000;
constexpr int64_t kMostLoginFile = 1 << 20;

std::vector<std::string> LoginFiles(const EnvironmentLookup& environment) {
  std::vector<std::string> out;
  if (const auto file = environment("REGISTRY_AUTH_FILE")) out.push_back(*file);
  const std::string home = environment("HOME").value_or("");
  if (const auto folder = environment("DOCKER_CONFIG")) {
    out.push_back(*folder + "/config.json");
  } else if (!home.empty()) {
    out.push_back(home + "/.docker/config.json");
  }
  if (const auto folder = environment("XDG_RUNTIME_DIR")) {
    out.push_back(*folder + "/containers/auth.json");
  }
  // Where podman has no such folder, as for root.
  out.push_back("/run/containers/" + std::to_string(geteuid()) + "/auth.json");
  if (!home.empty()) out.push_back(home + "/.config/containers/auth.json");
  return out;
}

// The registry's name goes in by a file of no folder: the helper reads it from its input.
Result<std::string> AskProgram(const std::string& name, const std::string& server) {
  const sys::ScopedFd input(memfd_create("registry", MFD_CLOEXEC));
  if (!input.valid()) return Status(Code::kUnavailable, "there is no memory for its input");
  const std::string path = "/proc/self/fd/" + std::to_string(input.get());
  STOKER_TRY(sys::WriteAll(input.get(), server, "the helper's input"));
  sys::Command command;
  command.argv = {"docker-credential-" + name, "get"};
  for (char** entry = environ; *entry != nullptr; ++entry) command.env.emplace_back(*entry);
  command.input = path;
  command.max_output = 1 << 20;
  STOKER_ASSIGN(const sys::CommandOutput said, std::move(sys::RunCommands({command}, kLoginMs)[0]));
  if (said.exit_code == 0) return said.out;
  // "credentials not found in native keychain": on its output, as the protocol has it.
  if (said.out.find("credentials not found") != std::string::npos) return std::string();
  const std::string own = said.err.empty() ? said.out : said.err;
  return Status(Code::kUnavailable, "exit code " + std::to_string(said.exit_code) + ": " +
                                        Printable(CutText(own.substr(0, own.find('\n')), 200)));
}

// Nullopt: this file says nothing of the registry.
std::optional<FoundLogin> LoginFrom(const std::string& file, const ImageRef& ref) {
  const auto text = sys::ReadFile(file, kMostLoginFile);
  if (!text.ok()) return std::nullopt;
  const auto entry = LoginIn(file, *text, ref);
  if (!entry.ok()) return FoundLogin{std::nullopt, entry.status().message()};
  if (!entry->helper.empty()) {
    const auto said = AskProgram(entry->helper, entry->server);
    const std::string program = "docker-credential-" + entry->helper;
    if (!said.ok()) return FoundLogin{std::nullopt, program + ": " + said.status().message()};
    if (const auto login = AnsweredLogin(*said)) return FoundLogin{login, ""};
  }
  if (entry->login) return FoundLogin{entry->login, ""};
  return std::nullopt;
}

}  // namespace

FoundLogin FindLogin(const ImageRef& ref, const EnvironmentLookup& environment) {
  FoundLogin none;
  for (const std::string& file : LoginFiles(environment)) {
    const auto found = LoginFrom(file, ref);
    if (!found) continue;
    if (found->login) return *found;
    if (none.trouble.empty()) none.trouble = found->trouble;
  }
  return none;
}

std::string CertificatesFor(const std::string& registry, const EnvironmentLookup& environment) {
  std::vector<std::string> folders = {"/etc/containers/certs.d/", "/etc/docker/certs.d/"};
  if (const auto home = environment("HOME")) {
    folders.insert(folders.begin(), *home + "/.config/containers/certs.d/");
  }
  for (const std::string& folder : folders) {
    const auto files = sys::ListDir(folder + registry);
    if (!files.ok()) continue;
    for (const sys::DirEntry& file : *files) {
      if (EndsWith(file.name, ".crt")) return folder + registry + "/" + file.name;
    }
  }
  return "";
}

}  // namespace stoker
