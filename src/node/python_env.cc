// SPDX-License-Identifier: Apache-2.0
#include "node/python_env.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <thread>

#include "base/text.h"
#include "job/digest.h"
#include "node/requirements.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

constexpr char kMarker[] = "/.stoker-complete";

// Collects a short output; used to ask the interpreter for its version.
class TextSink : public LogSink {
 public:
  void Write(LogStream, std::string_view bytes) override {
    if (text.size() < 4096) text.append(bytes);
  }
  std::string text;
};

// Passes everything on and keeps the end: what pip says last is why it failed.
class TailSink : public LogSink {
 public:
  explicit TailSink(LogSink& to) : to_(to) {}
  void Write(LogStream stream, std::string_view bytes) override {
    to_.Write(stream, bytes);
    const std::lock_guard<std::mutex> lock(mutex_);
    tail_.append(bytes);
    if (tail_.size() > 2 * kKept) tail_.erase(0, tail_.size() - kKept);
  }
  // On one line: from the first "ERROR" that is kept, else the last three lines.
  std::string Last() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::string> lines;
    bool found = false;
    for (const std::string& line : Split(tail_, '\n')) {
      const size_t first = line.find_first_not_of(" \t\r");
      if (first == std::string::npos || StartsWith(line, "[notice]")) continue;
      if (!found && StartsWith(line.substr(first), "ERROR")) {
        found = true;
        lines.clear();
      }
      lines.push_back(Printable(line.substr(first)));
      if (!found && lines.size() > 3) lines.erase(lines.begin());
    }
    const std::string all = Join(lines, " / ");
    return all.size() <= kShown ? all : all.substr(0, kShown) + "…";
  }

 private:
  static constexpr size_t kKept = 4096;
  static constexpr size_t kShown = 400;
  LogSink& to_;
  std::mutex mutex_;
  std::string tail_;
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
                   const std::string& last = "") {
  if (!exit.ok()) return exit.status().WithContext(what);
  if (exit->ShellCode() == 0) return Status::Ok();
  return Status(Code::kInvalid,
                what + " failed with exit code " + std::to_string(exit->ShellCode()) +
                    (last.empty() ? "" : ": " + last),
                last.empty() ? "Its last lines are in the log" : "All of it is in the log");
}

// One builder at a time per environment: the kernel frees the lock when a builder dies.
Result<sys::ScopedFd> Lock(const std::string& path, ShellStep& step) {
  sys::ScopedFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (fd.get() < 0) return ErrnoStatus("open " + path, errno);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  while (::fcntl(fd.get(), F_OFD_SETLK, &whole) != 0) {
    if (errno != EAGAIN && errno != EACCES && errno != EINTR)
      return ErrnoStatus("lock " + path, errno);
    if (step.cancelled()) return Status(Code::kCancelled, "stopped while the node was set up");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return fd;
}

Status Build(const std::string& requirements, const std::string& venv, const std::string& workdir,
             const std::vector<std::pair<std::string, std::string>>& env, ShellStep& step,
             LogSink& sink) {
  STOKER_TRY(sys::RemoveTree(venv));
  sink.Write(LogStream::kSystem, "stoker: making a virtual environment for requirements.txt\n");
  STOKER_TRY(MustSucceed(
      "python3 -m venv",
      step.Run(Command({"python3", "-m", "venv", "--system-site-packages", venv}, workdir, env),
               sink)));
  TailSink tail(sink);
  const auto installed =
      step.Run(Command({venv + "/bin/python", "-m", "pip", "install", "--disable-pip-version-check",
                        "--no-input", "-r", requirements},
                       workdir, env),
               tail);
  STOKER_TRY(MustSucceed("pip install -r requirements.txt", installed, tail.Last()));
  return sys::WriteFileAtomic(venv + kMarker, "", 0600, true);
}

}  // namespace

Result<std::string> PreparePythonEnv(const PythonEnvPlaces& places,
                                     const std::vector<std::pair<std::string, std::string>>& env,
                                     ShellStep& step, LogSink& sink) {
  const std::string requirements = places.workdir + "/requirements.txt";
  if (!sys::FileExists(requirements)) return std::string();
  STOKER_ASSIGN(const std::string text, sys::ReadFile(requirements, 1 << 20));
  TextSink version;
  STOKER_TRY(MustSucceed(
      "python3 --version",
      step.Run(Command({"python3", "-c", "import sys; print(sys.executable, sys.version)"},
                       places.workdir, env),
               version)));
  const RequirementsScope scope = ScopeOfRequirements(text);
  std::string key = version.text + "\n" + text;
  if (scope != RequirementsScope::kFile) key += "\n" + places.code_digest;
  const std::string& folder =
      scope == RequirementsScope::kDirectory ? places.private_dir : places.cache_dir;
  STOKER_TRY(sys::MakeDirs(folder, 0700));
  const std::string venv = folder + "/" + Sha256Hex(key).substr(0, 32);
  STOKER_ASSIGN(const sys::ScopedFd lock, Lock(venv + ".lock", step));
  // The folder is a fresh one in each attempt, and an editable installation leaves files in it.
  if (scope == RequirementsScope::kDirectory || !sys::FileExists(venv + kMarker)) {
    STOKER_TRY(Build(requirements, venv, places.workdir, env, step, sink));
  }
  return venv;
}

void ActivatePythonEnv(const std::string& venv,
                       std::vector<std::pair<std::string, std::string>>& env) {
  if (venv.empty()) return;
  std::erase_if(env,
                [](const auto& v) { return v.first == "PYTHONHOME" || v.first == "VIRTUAL_ENV"; });
  env.emplace_back("VIRTUAL_ENV", venv);
  for (auto& [name, value] : env) {
    if (name == "PATH") value = venv + "/bin:" + value;
  }
}

}  // namespace stoker::node
