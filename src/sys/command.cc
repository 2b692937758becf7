// SPDX-License-Identifier: Apache-2.0
#include "sys/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/time.h"
#include "sys/file.h"

namespace stoker::sys {
namespace {

constexpr size_t kMaxError = 64 << 10;
constexpr int64_t kLongestLook = 1000;
constexpr int64_t kStoppedEvery = 100;

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Pipe {
  sys::ScopedFd read;
  sys::ScopedFd write;
};

Result<Pipe> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus("cannot make a pipe", errno);
  return Pipe{sys::ScopedFd(fds[0]), sys::ScopedFd(fds[1])};
}

// The attributes of posix_spawn, destroyed with the object.
struct SpawnSetup {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  SpawnSetup(const char* input, int out, int err) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, err, 2);
    posix_spawnattr_init(&attributes);
    // Whatever this process blocks or ignores, the child starts as from a shell.
    sigset_t none;
    sigset_t usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    for (int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) {
      sigaddset(&usual, signal);
    }
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

struct Running {
  Status failure;  // could not be started, or took too long
  pid_t pid = -1;
  sys::ScopedFd out;
  sys::ScopedFd err;
  CommandOutput output;
};

Running Start(const Command& command) {
  Running running;
  Result<Pipe> out = MakePipe();
  Result<Pipe> err = MakePipe();
  if (!out.ok() || !err.ok()) {
    running.failure = out.ok() ? err.status() : out.status();
    return running;
  }
  SpawnSetup setup(command.input.c_str(), out->write.get(), err->write.get());
  if (!command.cwd.empty()) {
    posix_spawn_file_actions_addchdir_np(&setup.actions, command.cwd.c_str());
  }
  int error = posix_spawnp(&running.pid, command.argv[0].c_str(), &setup.actions, &setup.attributes,
                           Pointers(command.argv).data(), Pointers(command.env).data());
  if (error != 0) {
    running.pid = -1;
    running.failure = ErrnoStatus("cannot run " + command.argv[0], error);
    return running;
  }
  running.out = std::move(out->read);
  running.err = std::move(err->read);
  return running;
}

// Takes what is there; closes at the end, on an error, and when there is more than `limit`.
void Drain(sys::ScopedFd& fd, std::string& into, size_t limit, bool* truncated) {
  char buffer[64 << 10];
  ssize_t got = read(fd.get(), buffer, sizeof(buffer));
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) {
    fd.Reset();
    return;
  }
  const size_t keep = std::min(static_cast<size_t>(got), limit - into.size());
  into.append(buffer, keep);
  if (keep == static_cast<size_t>(got)) return;
  if (truncated == nullptr) return;  // read on and forget, so that the command can end by itself
  *truncated = true;
  fd.Reset();  // the command meets SIGPIPE
}

void Reap(Running& running) {
  if (running.pid < 0) return;
  int status = 0;
  pid_t got;
  do {
    got = waitpid(running.pid, &status, 0);
  } while (got < 0 && errno == EINTR);
  running.output.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  running.pid = -1;
}

// Those that are not done.
void Kill(std::vector<Running>& all, const Status& why) {
  for (Running& one : all) {
    if (!one.out.valid() && !one.err.valid()) continue;
    kill(one.pid, SIGKILL);
    one.failure = why;
  }
}

}  // namespace

std::vector<Result<CommandOutput>> RunCommands(const std::vector<Command>& commands,
                                               int64_t timeout_ms, const Stopped& stopped) {
  std::vector<Running> all;
  for (const Command& command : commands) all.push_back(Start(command));
  const int64_t deadline = NowMs() + timeout_ms;
  while (true) {
    std::vector<pollfd> waiting;
    for (const Running& one : all) {
      if (one.out.valid()) waiting.push_back({one.out.get(), POLLIN, 0});
      if (one.err.valid()) waiting.push_back({one.err.get(), POLLIN, 0});
    }
    if (waiting.empty()) break;
    const int64_t left = deadline - NowMs();
    if (left <= 0) {
      Kill(all, Status(Code::kTimeout, "no answer in " + FormatDuration(Duration::Ms(timeout_ms))));
      break;
    }
    if (stopped && stopped()) {
      Kill(all, Status(Code::kCancelled, "stopped before it answered"));
      break;
    }
    const int64_t look = std::min(left, stopped ? kStoppedEvery : kLongestLook);
    if (poll(waiting.data(), waiting.size(), static_cast<int>(look)) <= 0) {
      continue;
    }
    for (size_t i = 0; i < all.size(); ++i) {
      auto ready = [&](const sys::ScopedFd& fd) {
        return fd.valid() && std::any_of(waiting.begin(), waiting.end(), [&](const pollfd& p) {
                 return p.fd == fd.get() && p.revents != 0;
               });
      };
      // Both are asked before either is drained: a drained one may be closed.
      const bool out = ready(all[i].out);
      const bool err = ready(all[i].err);
      CommandOutput& output = all[i].output;
      if (out) Drain(all[i].out, output.out, commands[i].max_output, &output.truncated);
      if (err) Drain(all[i].err, output.err, kMaxError, nullptr);
    }
  }
  std::vector<Result<CommandOutput>> results;
  for (Running& one : all) {
    Reap(one);
    if (one.failure.ok()) {
      results.emplace_back(std::move(one.output));
    } else {
      results.emplace_back(one.failure);
    }
  }
  return results;
}

}  // namespace stoker::sys
