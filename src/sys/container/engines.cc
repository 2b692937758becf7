// SPDX-License-Identifier: Apache-2.0
#include "sys/container/engines.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/text.h"
#include "container/docker_info.h"
#include "container/engine_words.h"
#include "container/inside.h"
#include "sys/container/engine_notes.h"
#include "sys/container/groups_left.h"
#include "sys/file.h"
#include "sys/program_lookup.h"
#include "sys/task/process_table.h"

extern char** environ;

namespace stoker {
namespace {

constexpr int64_t kRemoveMs = 40'000;  // so that a second try comes within an engine's patience
constexpr int kTries = 2;
// In the order of preference. apptainer was singularity, and may be called so still.
constexpr std::pair<EngineKind, const char*> kPrograms[] = {
    {EngineKind::kPodman, "podman"},
    {EngineKind::kDocker, "docker"},
    {EngineKind::kApptainer, "apptainer"},
    {EngineKind::kApptainer, "singularity"},
};

// The words that follow the client's path.
std::vector<std::string> VersionArgv(EngineKind kind, const std::string& program) {
  if (kind == EngineKind::kDocker) {
    return {program, "version", "--format={{.Server.Version}}"};
  }
  if (kind == EngineKind::kApptainer) return {program, "--version"};
  return {program, "info",
          "--format={{.Version.Version}} {{.Host.Security.Rootless}} {{.Store.GraphRoot}}"};
}

// One of this user's, and of all jobs.
std::string ImagesOfApptainer() {
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  const bool given = xdg != nullptr && xdg[0] == '/';
  return (given ? std::string(xdg) : sys::HomeDir() + "/.cache") + "/stoker/images";
}

// What its daemon tells, into `docker`.
Status LearnOfDocker(EngineFacts* docker, int64_t ask_ms, const sys::Stopped& stopped) {
  STOKER_ASSIGN(const sys::CommandOutput said,
                AskEngine({docker->program, "info", "--format={{json .}}"}, ask_ms, stopped));
  if (said.exit_code != 0) return EngineFailure(*docker, "answer", said.exit_code, said.err);
  ReadDockerInfo(said.out, docker);
  // Enough for --gpus, whether or not the runtime was put into the daemon's settings.
  constexpr char kWhere[] = "/usr/bin:/usr/local/bin:/usr/local/nvidia/toolkit";
  if (FindProgram("nvidia-container-runtime-hook", kWhere, "/").ok()) docker->nvidia = true;
  return Status::Ok();
}

// What it takes to begin a container, asked of podman's client alone, which answers in a fifth of
// the time: whatever else is wrong shows when the container begins.
std::optional<EngineFacts> LookAtPodman(const std::string& wanted, const std::string& path,
                                        int64_t ask_ms, const sys::Stopped& stopped) {
  const char* const name = EngineName(EngineKind::kPodman);
  // Where there is another in its place, this one has to be known to work.
  const bool alone = !FindProgram(EngineName(EngineKind::kDocker), path, "/").ok();
  if (wanted != name && !(wanted.empty() && alone)) return std::nullopt;
  const auto program = FindProgram(name, path, "/");
  if (!program.ok()) return std::nullopt;
  const auto said = AskEngine({*program, "--version"}, ask_ms, stopped);
  if (!said.ok() || said->exit_code != 0) return std::nullopt;
  EngineFacts facts;
  facts.program = *program;
  const std::string line = said->out.substr(0, said->out.find('\n'));  // "podman version 4.3.1"
  facts.version = Printable(line.substr(line.rfind(' ') + 1));
  facts.rootless = geteuid() != 0;
  return facts;
}

std::string OwnPath() {
  const char* own = std::getenv("PATH");
  return own != nullptr ? own : "/usr/local/bin:/usr/bin:/bin";
}

FoundEngine Look(EngineKind kind, const std::string& program, int64_t ask_ms,
                 const sys::Stopped& stopped) {
  FoundEngine found;
  found.facts.kind = kind;
  found.facts.program = program;
  const auto said = AskEngine(VersionArgv(kind, program), ask_ms, stopped);
  if (!said.ok()) {
    found.trouble = said.status().ToString();
    found.away = said.status().transient();
    return found;
  }
  if (said->exit_code != 0) {
    const Status why = EngineFailure(found.facts, "answer", said->exit_code, said->err);
    found.trouble = why.ToString();
    found.away = why.Is(Code::kUnavailable);
    return found;
  }
  const std::vector<std::string> words = Split(said->out.substr(0, said->out.find('\n')), ' ');
  if (kind == EngineKind::kApptainer) {
    found.facts.version = Printable(words.back());  // "apptainer version 1.4.5"
    found.facts.folder = ImagesOfApptainer();
    return found;
  }
  found.facts.version = Printable(words[0]);
  found.facts.rootless = words.size() > 1 && words[1] == "true";
  if (words.size() == 3) found.facts.folder = words[2];
  if (kind == EngineKind::kDocker) {
    const Status learned = LearnOfDocker(&found.facts, ask_ms, stopped);
    if (!learned.ok()) found.trouble = learned.ToString();
    found.away = learned.transient();
  }
  return found;
}

// Asks until a time in all.
class Patience {
 public:
  explicit Patience(int64_t within_ms, sys::Stopped stopped = {})
      : end_(std::chrono::steady_clock::now() + std::chrono::milliseconds(within_ms)),
        stopped_(std::move(stopped)) {}
  Result<sys::CommandOutput> Ask(const std::vector<std::string>& argv, int64_t most_ms) const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end_ - std::chrono::steady_clock::now());
    if (left.count() > 0) {
      return AskEngine(argv, std::min<int64_t>(most_ms, left.count()), stopped_);
    }
    return Status(Code::kTimeout, "there is no time left to ask " + argv[0]);
  }

 private:
  const std::chrono::steady_clock::time_point end_;
  const sys::Stopped stopped_;
};

// "podman run", "docker version".
std::string TellAsked(const std::vector<std::string>& argv) {
  std::string out = argv[0].substr(argv[0].rfind('/') + 1);
  const auto verb = std::find_if(argv.begin() + 1, argv.end(),
                                 [](const std::string& word) { return word[0] != '-'; });
  return verb == argv.end() ? out : out + " " + *verb;
}

struct Listed {
  std::string id;
  std::string owner;  // "" where it was asked for
};

// Of `owner`; "" = of all.
Result<std::vector<Listed>> List(const EngineFacts& engine, const std::string& owner,
                                 const Patience& patience) {
  STOKER_ASSIGN(const sys::CommandOutput said, patience.Ask(ListArgv(engine, owner), kAskEngineMs));
  if (said.exit_code != 0) {
    return EngineFailure(engine, "list its containers", said.exit_code, said.err);
  }
  std::vector<Listed> out;
  for (const std::string& line : Split(said.out, '\n')) {
    const size_t blank = line.find(' ');
    if (line.empty()) continue;
    out.push_back({line.substr(0, blank), blank == line.npos ? "" : line.substr(blank + 1)});
  }
  return out;
}

Status Remove(const EngineFacts& engine, const std::string& id, const Patience& patience) {
  Status why;
  std::vector<std::string> words = RemoveArgv(engine, id);
  for (int i = 0; i < kTries; ++i) {
    const auto said = patience.Ask(words, kRemoveMs);
    if (said.ok() && said->exit_code == 0) {
      RemoveGroupsOf(id);
      return Status::Ok();
    }
    if (!said.ok()) return said.status();
    why = EngineFailure(engine, "remove the container " + id, said->exit_code, said->err);
    // podman has it since 4.0, and Ubuntu 22.04 has 3.4.
    if (said->err.find("unknown flag: --time") != std::string::npos) std::erase(words, "--time=0");
  }
  RemoveGroupsOf(id);  // a try before, or another, may have removed it; those in use stay
  return why;
}

}  // namespace

std::vector<std::string> EngineEnvironment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!StartsWith(*entry, std::string(kInstanceMark) + "=")) out.emplace_back(*entry);
  }
  return out;
}

Result<sys::CommandOutput> AskEngine(const std::vector<std::string>& argv, int64_t timeout_ms,
                                     const sys::Stopped& stopped, const std::string& cwd) {
  sys::Command command;
  command.argv = argv;
  command.env = EngineEnvironment();
  command.cwd = cwd.empty() ? "/" : cwd;
  auto said = std::move(sys::RunCommands({command}, timeout_ms, stopped)[0]);
  if (said.ok() || !said.status().Is(Code::kTimeout)) return said;
  return said.status().WithContext(TellAsked(argv));
}

std::vector<std::string> InstalledEngines() {
  std::vector<std::string> out;
  for (const auto& [kind, name] : kPrograms) {
    const bool again = !out.empty() && out.back() == EngineName(kind);
    if (!again && FindProgram(name, OwnPath(), "/").ok()) out.emplace_back(EngineName(kind));
  }
  return out;
}

std::vector<FoundEngine> FindEngines(const std::string& wanted, int64_t ask_ms,
                                     const sys::Stopped& stopped) {
  std::vector<FoundEngine> out;
  const std::string path = OwnPath();
  for (const auto& [kind, name] : kPrograms) {
    if (!wanted.empty() && wanted != EngineName(kind)) continue;
    const auto program = FindProgram(name, path, "/");
    const bool again = !out.empty() && out.back().facts.kind == kind;
    if (program.ok() && !again) out.push_back(Look(kind, *program, ask_ms, stopped));
  }
  return out;
}

std::optional<EngineFacts> FirstEngine(const std::string& wanted) {
  const std::string path = OwnPath();
  for (const auto& [kind, name] : kPrograms) {
    if (!wanted.empty() && wanted != EngineName(kind)) continue;
    const auto program = FindProgram(name, path, "/");
    if (!program.ok()) continue;
    EngineFacts facts;
    facts.kind = kind;
    facts.program = *program;
    return facts;
  }
  return std::nullopt;
}

bool HasCdiFiles() {
  for (const char* folder : {"/etc/cdi", "/var/run/cdi"}) {
    const auto files = sys::ListDir(folder);
    if (!files.ok()) continue;
    for (const sys::DirEntry& file : *files) {
      if (file.name.find("nvidia") != std::string::npos) return true;
    }
  }
  return false;
}

std::vector<std::string> TellEngines(const std::vector<FoundEngine>& found) {
  std::vector<std::string> out;
  for (const FoundEngine& one : found) {
    if (one.trouble.empty()) out.push_back(TellEngine(one.facts));
  }
  return out;
}

Result<EngineFacts> ChooseEngine(const std::string& wanted, int64_t ask_ms,
                                 const sys::Stopped& stopped) {
  if (const auto podman = LookAtPodman(wanted, OwnPath(), ask_ms, stopped)) return *podman;
  std::string why;
  bool away = false;
  for (const FoundEngine& found : FindEngines(wanted, ask_ms, stopped)) {
    if (found.trouble.empty()) return found.facts;
    why += (why.empty() ? "" : "; ") + found.trouble;
    away |= found.away;
  }
  if (stopped && stopped()) return Status(Code::kCancelled, "stopped while engines were asked");
  if (!why.empty()) return Status(away ? Code::kUnavailable : Code::kInvalid, why);
  if (wanted.empty()) {
    return Status(
        Code::kInvalid, "this machine has no engine for containers",
        "Install podman, docker or apptainer; where a cluster has one as a module, load it "
        "before the job is submitted, so that PATH has it");
  }
  return Status(Code::kInvalid, "this machine has no " + wanted,
                "Install it, or leave container.engine out: what the machine has is taken");
}

Result<std::vector<std::string>> ImageEntrypoint(const EngineFacts& engine,
                                                 const std::string& image,
                                                 const sys::Stopped& stopped) {
  STOKER_ASSIGN(const sys::CommandOutput said,
                AskEngine(EntrypointArgv(engine, image), kAskEngineMs, stopped));
  if (said.exit_code == 0) return ReadEntrypoint(said.out);
  return EngineFailure(engine, "look at the image " + image, said.exit_code, said.err);
}

Result<std::string> ContainerOf(const EngineFacts& engine, const std::string& owner) {
  STOKER_ASSIGN(const std::vector<Listed> found, List(engine, owner, Patience(kAskEngineMs)));
  return found.empty() ? std::string() : found[0].id;
}

Status RemoveContainers(const EngineFacts& engine, const std::string& owner, int64_t within_ms,
                        const sys::Stopped& stopped) {
  if (!KeepsBooks(engine.kind)) return Status::Ok();
  const Patience patience(within_ms, stopped);
  STOKER_ASSIGN(const std::vector<Listed> found, List(engine, owner, patience));
  Status why;
  for (const Listed& one : found) {
    const Status removed = Remove(engine, one.id, patience);
    if (!removed.ok()) why = removed;
  }
  if (why.ok() || why.Is(Code::kTimeout)) return why;
  // Two may have removed it at once.
  STOKER_ASSIGN(const std::vector<Listed> left, List(engine, owner, patience));
  return left.empty() ? Status::Ok() : why;
}

std::vector<std::string> SweepContainers(const std::string& state_dir,
                                         const std::vector<FoundEngine>& engines,
                                         const std::string& instances, bool dry_run) {
  std::vector<std::string> out;
  const EngineNotes notes(state_dir);
  for (const FoundEngine& found : engines) {
    const EngineFacts& engine = found.facts;
    if (!notes.Has(engine) || !found.trouble.empty()) continue;
    const auto all = List(engine, "", Patience(kRemoveWithinMs));
    if (!all.ok()) continue;
    for (const Listed& one : *all) {
      // Another's of this machine may lie where this user cannot look.
      if (!StartsWith(one.owner, instances + "/") || sys::DirExists(one.owner)) continue;
      if (dry_run || Remove(engine, one.id, Patience(kRemoveWithinMs)).ok())
        out.push_back("container " + one.id);
    }
  }
  return out;
}

}  // namespace stoker
