// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "sys/file.h"
#include "sys/task/process_runner.h"
#include "sys/task/task_init.h"
#include "test/kit/heads_for_test.h"

namespace stoker {
namespace {

constexpr int kLifeMs = 60'000;  // a head that escapes its test ends by itself

void IgnoreAllSignals() {
  for (int signo = 1; signo < 65; ++signo) signal(signo, SIG_IGN);
}

void Beat(const std::string& file, long count) {
  const int fd = open(file.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return;
  char text[32];
  const int n = std::snprintf(text, sizeof text, "%ld", count);
  (void)!write(fd, text, static_cast<size_t>(n));
  close(fd);
}

void BeatForLife(const std::string& file) {
  for (long i = 1; i < kLifeMs / 5; ++i) {
    Beat(file, i);
    usleep(5000);
  }
}

// Two that watch each other: whoever dies is started again by the other.
[[noreturn]] void Respawn(const std::string& file) {
  const pid_t starter = getpid();
  for (int left = 200; left > 0; --left) {
    const pid_t child = fork();
    if (child == 0) {
      const pid_t parent = getppid();
      for (long i = 1; i < kLifeMs / 5 && getppid() == parent; ++i) {
        Beat(file, i + 1000L * starter);
        usleep(5000);
      }
      continue;  // the parent died: be the watcher
    }
    signal(SIGCHLD, SIG_DFL);
    waitpid(child, nullptr, 0);
  }
  _exit(0);
}

// Each lives for a millisecond and goes on in its child.
[[noreturn]] void Chain(const std::string& file) {
  for (long i = 1; i < 20'000; ++i) {
    if (fork() != 0) _exit(0);
    Beat(file, i);
    usleep(1000);
  }
  _exit(0);
}

int Heads(const std::string& dir, const std::string& kind) {
  for (int i = 0; i < kHeads; ++i) {
    if (fork() != 0) continue;
    setsid();
    if (fork() != 0) _exit(0);
    IgnoreAllSignals();
    clearenv();
    const std::string file = dir + "/head-" + std::to_string(i);
    if (kind == "respawn") Respawn(file);
    if (kind == "chain") Chain(file);
    BeatForLife(file);
    _exit(0);
  }
  IgnoreAllSignals();
  BeatForLife(dir + "/main");
  return 0;
}

class Discard : public LogSink {
 public:
  void Write(LogStream, std::string_view) override {}
};

TaskCommand HeadsCommand(const std::string& dir, const std::string& kind) {
  return {{"/proc/self/exe", "__heads", dir, kind}, {{"PATH", "/usr/bin:/bin"}}, dir};
}

// Starts the heads and stays until it is killed.
int Owner(const std::string& dir, const std::string& mechanism, const std::string& kind) {
  Discard sink;
  auto runner = MakeProcessRunner({mechanism, "/proc/self/exe"});
  auto task = runner->Start(HeadsCommand(dir, kind), sink);
  if (!task.ok()) {
    std::fprintf(stderr, "%s\n", task.status().ToString().c_str());
    return 3;
  }
  poll(nullptr, 0, kLifeMs);
  return 0;
}

// As an ordinary user: 0 when all beat and then none does.
int Nobody(const std::string& dir, const std::string& mechanism, const std::string& kind) {
  if (geteuid() == 0) {
    if (setgroups(0, nullptr) != 0 || setgid(65534) != 0 || setuid(65534) != 0) return 4;
    // A process that has changed its user may not look into its own /proc before the next exec.
    execl("/proc/self/exe", "test", "__nobody", dir.c_str(), mechanism.c_str(), kind.c_str(),
          nullptr);
    return 8;
  }
  Discard sink;
  auto runner = MakeProcessRunner({mechanism, "/proc/self/exe"});
  auto task = runner->Start(HeadsCommand(dir, kind), sink);
  if (!task.ok()) {
    std::fprintf(stderr, "%s\n", task.status().ToString().c_str());
    return 3;
  }
  if (!AwaitBeating(dir, kHeads + 1)) return 5;
  if (const Status status = (*task)->End(); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 6;
  }
  return CountBeating(dir) == 0 ? 0 : 7;
}

}  // namespace

bool RunTestVerb(int argc, char** argv, int& code) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "__init") {
    code = TaskInitMain(argc, argv);
  } else if (verb == "__heads" && argc > 3) {
    code = Heads(argv[2], argv[3]);
  } else if (verb == "__owner" && argc > 4) {
    code = Owner(argv[2], argv[3], argv[4]);
  } else if (verb == "__nobody" && argc > 4) {
    code = Nobody(argv[2], argv[3], argv[4]);
  } else {
    return false;
  }
  return true;
}

std::map<std::string, std::string> Heartbeats(const std::string& dir) {
  std::map<std::string, std::string> out;
  auto entries = sys::ListDir(dir);
  if (!entries.ok()) return out;
  for (const sys::DirEntry& entry : *entries) {
    out[entry.name] = sys::ReadFile(dir + "/" + entry.name).value_or("");
  }
  return out;
}

int CountBeating(const std::string& dir) {
  const auto before = Heartbeats(dir);
  poll(nullptr, 0, 120);
  int beating = 0;
  for (const auto& [name, content] : Heartbeats(dir)) {
    const auto it = before.find(name);
    beating += it == before.end() || it->second != content;
  }
  return beating;
}

bool AwaitBeating(const std::string& dir, int count, int limit_ms) {
  for (int waited = 0; waited < limit_ms; waited += 120) {
    if (CountBeating(dir) >= count) return true;
  }
  return false;
}

}  // namespace stoker

int main(int argc, char** argv) {
  int code = 0;
  if (stoker::RunTestVerb(argc, argv, code)) return code;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
