// SPDX-License-Identifier: Apache-2.0
#include "node/env/python_env.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <thread>

#include "base/digest.h"
#include "base/text.h"
#include "node/env/pip_words.h"
#include "node/env/requirement_files.h"
#include "node/env/requirements.h"
#include "node/env/tail_sink.h"
#include "sys/file.h"
#include "sys/file_lock.h"

namespace stoker::node {
namespace {

constexpr int kMaxOwn = 1024;

// Collects a short output; used to ask the interpreter for its version.
class TextSink : public LogSink {
 public:
  void Write(LogStream, std::string_view bytes) override {
    if (text.size() < 4096) text.append(bytes);
  }
  std::string text;
};

TaskCommand Command(std::vector<std::string> argv, const std::string& cwd,
                    const std::vector<std::pair<std::string, std::string>>& env) {
  TaskCommand command;
  command.argv = std::move(argv);
  command.cwd = cwd;
  command.env = env;
  command.out = LogStream::kSystem;
  command.err = LogStream::kSystem;
  return command;
}

Status MustSucceed(const std::string& what, const Result<TaskExit>& exit,
                   const std::string& output = "") {
  if (!exit.ok()) return exit.status().WithContext(what);
  if (exit->ShellCode() == 0) return Status::Ok();
  const std::string why = output.empty() ? "" : WhyPipFailed(output);
  std::string next = why.empty() ? "Its last lines are in the log" : "All of it is in the log";
  if (const std::string advice = GitAdvice(output); !advice.empty()) next = advice;
  return Status(Code::kInvalid,
                what + " failed with exit code " + std::to_string(exit->ShellCode()) +
                    (why.empty() ? "" : ": " + why),
                next);
}

using Variables = std::vector<std::pair<std::string, std::string>>;

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

// The interpreter that the job's PATH has, and, where that is one of a virtual environment, its
// packages: "parent FOLDER" with the time of their last change, on a line of its own.
constexpr char kAsk[] =
    "import sys; print(sys.executable, sys.version)\n"
    "if sys.prefix != sys.base_prefix:\n"
    "  import os, sysconfig; p = sysconfig.get_paths()['purelib']\n"
    "  print('changed', os.stat(p).st_mtime_ns); print('parent ' + p)\n";

std::string ParentPackages(const std::string& asked) {
  const size_t at = asked.rfind("\nparent ");
  if (at == std::string::npos) return "";
  const std::string rest = asked.substr(at + 8);
  return rest.substr(0, rest.find('\n'));
}

// Packages of `parent` become visible in `venv`, behind its own. addsitedir, and not the path
// alone, because what is installed there for editing is found by files of the same kind.
Status SeeParent(const std::string& venv, const std::string& parent) {
  if (parent.empty()) return Status::Ok();
  std::string quoted;
  for (const char c : parent) {
    if (c == '\\' || c == '\'') quoted += '\\';
    quoted += c;
  }
  STOKER_ASSIGN(const auto versions, sys::ListDir(venv + "/lib"));
  for (const auto& version : versions) {
    const std::string packages = venv + "/lib/" + version.name + "/site-packages";
    if (!StartsWith(version.name, "python") || !sys::DirExists(packages)) continue;
    STOKER_TRY(sys::WriteFileAtomic(packages + "/stoker-parent.pth",
                                    "import site; site.addsitedir('" + quoted + "')\n", 0644,
                                    false));
  }
  return Status::Ok();
}

Status Build(const std::string& requirements, const std::string& parent, const std::string& venv,
             const std::string& workdir, const Variables& env, ShellStep& step, LogSink& sink) {
  STOKER_TRY(sys::RemoveTree(venv));
  sink.Write(LogStream::kSystem, "stoker: making a virtual environment for requirements.txt\n");
  STOKER_TRY(MustSucceed(
      "python3 -m venv",
      step.Run(Command({"python3", "-m", "venv", "--system-site-packages", venv}, workdir, env),
               sink)));
  STOKER_TRY(SeeParent(venv, parent));
  TailSink tail(sink);
  const auto installed =
      step.Run(Command({venv + "/bin/python", "-m", "pip", "install", "--disable-pip-version-check",
                        "--no-input", "-r", requirements},
                       workdir, env),
               tail);
  STOKER_TRY(MustSucceed("pip install -r requirements.txt", installed, tail.Tail()));
  return sys::WriteFileAtomic(venv + kPythonEnvMarker, "", 0600, true);
}

// For setup alone: takes a tenth of a second where pip need not be unpacked, since the interpreter
// has one that can be seen from here.
Status BuildBare(const std::string& parent, const std::string& venv, const std::string& workdir,
                 const Variables& env, ShellStep& step, LogSink& sink) {
  STOKER_TRY(sys::RemoveTree(venv));
  STOKER_TRY(MustSucceed(
      "python3 -m venv",
      step.Run(Command({"python3", "-m", "venv", "--without-pip", "--system-site-packages", venv},
                       workdir, env),
               sink)));
  STOKER_TRY(SeeParent(venv, parent));
  TextSink quiet;
  const auto has_pip =
      step.Run(Command({venv + "/bin/python", "-c", "import pip"}, workdir, env), quiet);
  if (has_pip.ok() && has_pip->ShellCode() == 0) {
    for (const char* name : {"/bin/pip", "/bin/pip3"}) {
      STOKER_TRY(sys::WriteFileAtomic(
          venv + name, "#!/bin/sh\nexec " + ShellQuote(venv + "/bin/python") + " -m pip \"$@\"\n",
          0755, false));
    }
  } else {
    STOKER_TRY(MustSucceed(
        "python3 -m ensurepip",
        step.Run(Command({venv + "/bin/python", "-m", "ensurepip", "--default-pip"}, workdir, env),
                 quiet)));
  }
  return sys::WriteFileAtomic(venv + kPythonEnvMarker, "", 0600, true);
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

Result<PythonEnv> ForSetup(const PythonEnvPlaces& places, const Variables& env, ShellStep& step,
                           LogSink& sink) {
  TextSink asked;
  const auto python = step.Run(Command({"python3", "-c", kAsk}, places.workdir, env), asked);
  if (step.cancelled()) return python.status();
  Status status = MustSucceed("python3", python);
  if (status.ok()) {
    STOKER_TRY(sys::MakeDirs(places.cache_dir, 0700));
    const std::string key = Sha256Hex("setup\n" + asked.text + "\n" + places.setup);
    STOKER_ASSIGN(PythonEnv own, TakeOwn(places.cache_dir, key.substr(0, 32)));
    if (IsWhole(own.folder)) return own;
    status = BuildBare(ParentPackages(asked.text), own.folder, places.workdir, env, step, sink);
    if (status.ok() || step.cancelled()) {
      if (status.ok()) return own;
      return status;
    }
  }
  const std::string told =
      "stoker: setup has no Python environment of its own: " + status.message() +
      " (on Debian: apt install python3-venv)\n";
  sink.Write(LogStream::kSystem, told);
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
                                  const Variables& env, ShellStep& step, LogSink& sink) {
  STOKER_ASSIGN(const std::string text, sys::ReadFile(requirements, 1 << 20));
  TextSink asked;
  STOKER_TRY(MustSucceed("python3 --version",
                         step.Run(Command({"python3", "-c", kAsk}, places.workdir, env), asked)));
  const RequirementsScope scope = ScopeOfRequirements(text);
  std::string base = asked.text + "\n" + text;
  if (scope != RequirementsScope::kFile) base += "\n" + places.code_digest;
  if (!places.setup.empty()) base += "\nsetup\n" + places.setup;
  const std::string& folder =
      scope == RequirementsScope::kDirectory ? places.private_dir : places.cache_dir;
  STOKER_TRY(sys::MakeDirs(folder, 0700));
  const std::string key = KeyWithPins(folder, base, places, sink);
  PythonEnv made;
  sys::ScopedFd lock;
  if (places.setup.empty()) {
    made.folder = folder + "/" + key;
    STOKER_ASSIGN(lock, Lock(made.folder + ".lock", step));
  } else {
    STOKER_ASSIGN(made, TakeOwn(folder, key));
  }
  // The folder is a fresh one in each attempt, and an editable installation leaves files in it.
  if (scope == RequirementsScope::kDirectory || !IsWhole(made.folder)) {
    std::string from = requirements;
    if (!places.pins.empty()) {
      STOKER_ASSIGN(from, WritePinnedFiles(places.workdir, places.pins, places.private_dir + "-r"));
    }
    STOKER_TRY(
        Build(from, ParentPackages(asked.text), made.folder, places.workdir, env, step, sink));
  }
  if (!places.pins.empty() && scope != RequirementsScope::kDirectory) {
    STOKER_TRY(sys::WriteFileAtomic(NewestOf(folder, Digest(base)), key, 0600, false));
  }
  return made;
}

}  // namespace

Result<PythonEnv> PreparePythonEnv(const PythonEnvPlaces& places, const Variables& env,
                                   ShellStep& step, LogSink& sink) {
  const std::string requirements = places.workdir + "/requirements.txt";
  if (sys::FileExists(requirements)) {
    return ForRequirements(places, requirements, env, step, sink);
  }
  if (places.setup.empty()) return PythonEnv();
  return ForSetup(places, env, step, sink);
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
  for (auto& [name, value] : env) {
    // Where setup has arranged it, its order stands.
    const bool there = (":" + value + ":").find(":" + venv + "/bin:") != std::string::npos;
    if (name == "PATH" && !there) value = venv + "/bin:" + value;
  }
}

}  // namespace stoker::node
