// SPDX-License-Identifier: Apache-2.0
#include "node/env/python_env.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <thread>

#include "base/digest.h"
#include "base/text.h"
#include "node/env/conda_env.h"
#include "node/env/kept/env_parts.h"
#include "node/env/kept/env_source.h"
#include "node/env/kept/take_env.h"
#include "node/env/login/beside.h"
#include "node/env/make_env.h"
#include "node/env/project/choose_project.h"
#include "node/env/project_files.h"
#include "node/env/requirement_files.h"
#include "node/env/requirements.h"
#include "node/env/uv.h"
#include "sys/file.h"
#include "sys/file_lock.h"

namespace stoker::node {
namespace {

constexpr int kMaxOwn = 1024;

// Whether `venv` is whole; from now on it is as one that was just used, for `stoker gc`.
bool IsWhole(const std::string& venv) {
  (void)::utimensat(AT_FDCWD, (venv + kPythonEnvMarker).c_str(), nullptr, 0);
  return sys::FileExists(venv + kPythonEnvMarker);
}

// One builder at a time per environment.
Result<sys::ScopedFd> Lock(const std::string& path, ShellStep& step) {
  for (;;) {
    auto fd = sys::TryFileLock(path);
    if (fd.ok() || !fd.status().Is(Code::kBusy)) return fd;
    if (step.cancelled()) return Status(Code::kCancelled, "stopped while the node was set up");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Status MakeWhole(const EnvMaker& by, const std::string& asked, const EnvWanted& wanted) {
  STOKER_TRY(MakeEnv(by, asked, wanted));
  return MarkPythonEnvWhole(wanted.venv);
}

// What environments of this kind are known by in the store; "": they are not, which is said.
std::string SharedKeyOf(const PythonEnvPlaces& places, const EnvMaker& by, const std::string& asked,
                        const std::string& text) {
  TextSink machine;
  const auto exit = by.step.Run(by.Command({"python3", "-c", kAskMachine}), machine);
  const auto settings = ReadPipSettings(by);
  SharedKey shared{"", "python3 does not say what is installed"};
  if (exit.ok() && exit->ShellCode() == 0 && settings.ok()) {
    const bool code = ScopeOfRequirements(text) != RequirementsScope::kFile;
    shared = KeyOfSource({asked, machine.text, text, code ? places.code_digest : "", places.setup,
                          places.image, places.pins, *settings, by.env});
  }
  if (shared.key.empty()) by.Say("the environment is not shared by the store: " + shared.why_not);
  return shared.key;
}

Status RunsAtAll(const EnvMaker& by, const std::string& python) {
  STOKER_ASSIGN(const TaskExit exit,
                by.step.Run(by.Command({python, "-c", "import sys, encodings"}), by.sink));
  if (exit.ShellCode() == 0) return Status::Ok();
  return Status(Code::kInvalid, "its Python does not run here");
}

// Out of the store where it has the environment, else built, and noted so that it can be kept: with
// a setup once that has run (NoteSetupKept).
Status TakeOrMake(const PythonEnvPlaces& places, const EnvMaker& by, const std::string& asked,
                  const EnvWanted& wanted) {
  const bool shared =
      places.kept != nullptr && (wanted.setup ? places.setup_cached : AsksForPackages(wanted.text));
  const std::string key = shared ? SharedKeyOf(places, by, asked, wanted.text) : "";
  if (key.empty()) return MakeWhole(by, asked, wanted);
  const EnvTaker taker{*places.kept, [&by] { return by.step.cancelled(); },
                       [&by](const std::string& line) { by.Say(line); },
                       [&by](const std::string& python) { return RunsAtAll(by, python); }};
  STOKER_ASSIGN(const TakenEnv taken,
                TakeEnv(taker, key, wanted.venv, asked.substr(0, asked.find(' '))));
  EnvNote note{key, kKeptStamp, taken.damaged.value_or("")};
  if (!taken.taken) {
    STOKER_TRY(MakeEnv(by, asked, wanted));
    STOKER_ASSIGN(const EnvTree tree, SeeEnv(wanted.venv));
    note.stamp = wanted.setup ? kSpoiltStamp : StampOf(tree);
  }
  STOKER_TRY(WriteEnvNote(wanted.venv, note));
  return MarkPythonEnvWhole(wanted.venv);
}

// With logins beside the addresses that they stood in, of requirements.txt and of pip's variables.
Status MakeOf(const PythonEnvPlaces& places, const EnvMaker& by, const std::string& asked,
              RequirementsScope scope, EnvWanted wanted) {
  const VariableSource variable = VariablesOf(by.env);
  for (const auto& [name, value] : by.env) {
    for (const std::string_view known : kIndexVariables) {
      if (name == known) (void)TakeLogins(value, variable, &wanted.logins);
    }
  }
  if (wanted.source == "requirements.txt") {
    STOKER_ASSIGN(wanted.requirements,
                  WritePinnedFiles(places.workdir, places.pins, places.private_dir + "-r", variable,
                                   &wanted.logins));
  }
  Variables env = by.env;
  NetrcFile netrc;
  STOKER_TRY(GiveBeside(wanted.logins, places.private_dir + "-netrc", &env, &netrc));
  const EnvMaker with{by.workdir, env, by.step, by.sink};
  // What refers to the very folder is nobody else's.
  return scope == RequirementsScope::kDirectory ? MakeWhole(with, asked, wanted)
                                                : TakeOrMake(places, with, asked, wanted);
}

// The first that nobody has: "<key>-1", "<key>-2", …
Result<PythonEnv> TakeOwn(const std::string& folder, const std::string& key) {
  for (int n = 1; n <= kMaxOwn; ++n) {
    PythonEnv own;
    own.folder = folder + "/" + key + "-" + std::to_string(n);
    auto held = sys::TryFileLock(own.folder + ".lock");
    if (held.ok()) {
      own.held = std::move(*held);
      return own;
    }
    if (!held.status().Is(Code::kBusy)) return held.status();
  }
  return Status(Code::kUnavailable, "all environments of this setup are in use");
}

Result<PythonEnv> ForSetup(const PythonEnvPlaces& places, const EnvMaker& by) {
  const auto asked = AskPython(by);
  if (by.step.cancelled()) return asked.status();
  Status status = asked.status();
  if (status.ok()) {
    STOKER_TRY(sys::MakeDirs(places.cache_dir, 0700));
    const std::string key = Sha256Hex("setup\n" + *asked + "\n" + places.setup);
    STOKER_ASSIGN(PythonEnv own, TakeOwn(places.cache_dir, key.substr(0, 32)));
    if (IsWhole(own.folder)) return own;
    status = TakeOrMake(places, by, *asked, {own.folder, places.cache_dir, "", "", true, ""});
    if (status.ok()) return own;
    if (by.step.cancelled()) return status;
  }
  by.sink.Write(LogStream::kSystem, "stoker: setup has no Python environment of its own: " +
                                        status.message() + ". " + status.next() + "\n");
  return PythonEnv();
}

// Where the newest environment of a requirements.txt is noted whose pins were known.
std::string NewestOf(const std::string& folder, const std::string& base) {
  return folder + "/" + base + ".newest";
}

std::string Digest(const std::string& text) { return Sha256Hex(text).substr(0, 32); }

// What an environment is found by: `base`, and with pins these too. Where one of them is not known,
// what was made from the file last, as far as it is still there.
std::string KeyWithPins(const std::string& folder, const std::string& base,
                        const PythonEnvPlaces& places, LogSink& sink) {
  if (places.pins.empty()) return Digest(base);
  std::string all = base + "\npins";
  std::vector<std::string> unknown;
  for (const Pin& pin : places.pins) {
    all += "\n" + pin.source + " " + pin.commit;
    if (pin.commit.empty()) unknown.push_back(Printable(pin.source));
  }
  const std::string key = Digest(all);
  if (unknown.empty()) return key;
  const auto newest = sys::ReadFile(NewestOf(folder, Digest(base)), 64);
  const std::string known = newest.ok() && IsSafeName(*newest) ? *newest : key;
  const bool there = IsWhole(folder + "/" + known + (places.setup.empty() ? "" : "-1"));
  sink.Write(LogStream::kSystem,
             "stoker: which commit " + Join(unknown, ", ") +
                 " is was not known when the job was submitted: " +
                 (there ? "the environment that was made from it before is used, as it was then"
                        : "pip takes what it is now") +
                 "\n");
  return there ? known : key;
}

Result<PythonEnv> ForRequirements(const PythonEnvPlaces& places, const std::string& requirements,
                                  const std::string& source, const EnvMaker& by) {
  STOKER_ASSIGN(const std::string text, sys::ReadFile(requirements, 1 << 20));
  STOKER_ASSIGN(const std::string asked, AskPython(by));
  const RequirementsScope scope = ScopeOfRequirements(text);
  std::string base = asked + "\n" + text;
  if (scope != RequirementsScope::kFile) base += "\n" + places.code_digest;
  if (!places.setup.empty()) base += "\nsetup\n" + places.setup;
  const std::string& folder =
      scope == RequirementsScope::kDirectory ? places.private_dir : places.cache_dir;
  STOKER_TRY(sys::MakeDirs(folder, 0700));
  STOKER_TRY(sys::MakeDirs(places.cache_dir, 0700));
  const std::string key = KeyWithPins(folder, base, places, by.sink);
  PythonEnv made;
  sys::ScopedFd lock;
  if (places.setup.empty()) {
    made.folder = folder + "/" + key;
    STOKER_ASSIGN(lock, Lock(made.folder + ".lock", by.step));
  } else {
    STOKER_ASSIGN(made, TakeOwn(folder, key));
  }
  // The folder is a fresh one in each attempt, and an editable installation leaves files in it.
  if (scope == RequirementsScope::kDirectory || !IsWhole(made.folder)) {
    STOKER_TRY(
        MakeOf(places, by, asked, scope,
               {made.folder, places.cache_dir, requirements, text, !places.setup.empty(), source}));
  }
  if (!places.pins.empty() && scope != RequirementsScope::kDirectory) {
    STOKER_TRY(sys::WriteFileAtomic(NewestOf(folder, Digest(base)), key, 0600, false));
  }
  return made;
}

// The environment of an environment.yml, which is found by its text.
Result<PythonEnv> ForConda(const PythonEnvPlaces& places, const std::string& file,
                           const EnvMaker& by) {
  const auto text = sys::ReadFile(places.workdir + "/" + file, 1 << 20);
  if (!text.ok()) {
    return text.status().WithNext(
        "requirements.txt demands that file: bring it along, or write "
        "'# none' there");
  }
  const RequirementsScope scope = ScopeOfCondaFile(*text);
  std::string key = "conda\n" + *text;
  if (scope != RequirementsScope::kFile) key += "\n" + places.code_digest;
  if (!places.setup.empty()) key += "\nsetup\n" + places.setup;
  const bool own = scope == RequirementsScope::kDirectory;
  const std::string& folder = own ? places.private_dir : places.cache_dir;
  STOKER_TRY(sys::MakeDirs(folder, 0700));
  PythonEnv made;
  sys::ScopedFd lock;
  if (places.setup.empty()) {
    made.folder = folder + "/" + Digest(key);
    STOKER_ASSIGN(lock, Lock(made.folder + ".lock", by.step));
  } else {
    STOKER_ASSIGN(made, TakeOwn(folder, Digest(key)));
  }
  if (!own && IsWhole(made.folder)) return made;
  STOKER_TRY(MakeCondaEnv(by, file, made.folder));
  STOKER_TRY(MarkPythonEnvWhole(made.folder));
  return made;
}

// What requirements.txt itself says is to be taken in its place; "" = none.
std::string DemandedBy(const PythonEnvPlaces& places, const std::string& file) {
  if (file != "requirements.txt") return "";
  const auto text = sys::ReadFile(places.workdir + "/" + file, 1 << 20);
  return text.ok() ? DemandedCondaFile(*text) : "";
}

// The file that says what is to be installed for `file`; nullopt: nothing is.
Result<std::optional<std::string>> RequirementsOf(const PythonEnvPlaces& places,
                                                  const std::string& file, const EnvMaker& by) {
  if (file == "requirements.txt") return std::optional(places.workdir + "/" + file);
  const auto asked = AskPython(by);
  // Without a Python there is nothing to install for: the program is none of Python's.
  if (!asked.ok() && !by.step.cancelled()) return std::optional<std::string>();
  STOKER_TRY(asked.status());
  auto needs = WriteProjectNeeds(
      by, {file, *asked, places.cache_dir, places.private_dir + "-project", !places.setup.empty()});
  return needs.ok() ? std::move(needs) : needs.status().WithContext(file);
}

// Files that only describe the project, and that a former stoker left alone, have a way out.
Status Unmade(const Status& why, const std::string& file) {
  const Status told = why.WithContext(file);
  if (file == "requirements.txt" || !why.Is(Code::kInvalid)) return told;
  return told.WithNext(why.next() + kWithWhatIsThere);
}

}  // namespace

Result<PythonEnv> PreparePythonEnv(const PythonEnvPlaces& places, const Variables& env,
                                   ShellStep& step, LogSink& sink) {
  const EnvMaker by{places.workdir, env, step, sink};
  std::set<std::string> files;
  STOKER_ASSIGN(const auto entries, sys::ListDir(places.workdir));
  for (const auto& entry : entries) {
    if (sys::FileExists(places.workdir + "/" + entry.name)) files.insert(entry.name);
  }
  const bool activated = std::any_of(env.begin(), env.end(), [](const auto& v) {
    return (v.first == "VIRTUAL_ENV" || v.first == "CONDA_PREFIX") && !v.second.empty();
  });
  const std::string commands = places.setup + "\n" + places.program;
  const ProjectChoice choice = ChooseProject(files, activated, commands);
  if (!choice.unused.empty()) by.Say(choice.unused);
  if (const std::string conda = DemandedBy(places, choice.file); !conda.empty()) {
    auto made = ForConda(places, conda, by);
    return made.ok() ? std::move(made) : made.status().WithContext(conda);
  }
  if (!choice.file.empty()) {
    STOKER_ASSIGN(const auto requirements, RequirementsOf(places, choice.file, by));
    if (requirements) {
      auto made = ForRequirements(places, *requirements, choice.file, by);
      return made.ok() ? std::move(made) : Unmade(made.status(), choice.file);
    }
    // A pyproject.toml that needs nothing: as if it were not there.
    files.erase(choice.file);
    const ProjectChoice rest = ChooseProject(files, activated, commands);
    if (!rest.unused.empty()) by.Say(rest.unused);
  }
  if (places.setup.empty()) return PythonEnv();
  return ForSetup(places, by);
}

Status MarkPythonEnvWhole(const std::string& venv) {
  const sys::ScopedFd folder(::open(venv.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // One for thousands of files, which is far cheaper than an fsync of each.
  if (!folder.valid() || ::syncfs(folder.get()) != 0) {
    return ErrnoStatus("writing " + venv + " to the disk", errno);
  }
  return sys::WriteFileAtomic(venv + kPythonEnvMarker, "", 0600, true);
}

void SpoilPythonEnv(const PythonEnv& env) {
  if (!env.folder.empty()) (void)sys::RemoveTree(env.folder + kPythonEnvMarker);
}

void ActivatePythonEnv(const std::string& venv,
                       std::vector<std::pair<std::string, std::string>>& env) {
  if (venv.empty()) return;
  std::erase_if(env,
                [](const auto& v) { return v.first == "PYTHONHOME" || v.first == "VIRTUAL_ENV"; });
  env.emplace_back("VIRTUAL_ENV", venv);
  if (sys::DirExists(venv + "/conda-meta")) {
    std::erase_if(env, [](const auto& v) { return v.first == "CONDA_PREFIX"; });
    env.emplace_back("CONDA_PREFIX", venv);
  }
  for (auto& [name, value] : env) {
    // Where setup has arranged it, its order stands.
    const bool there = (":" + value + ":").find(":" + venv + "/bin:") != std::string::npos;
    if (name == "PATH" && !there) value = venv + "/bin:" + value;
  }
}

}  // namespace stoker::node
