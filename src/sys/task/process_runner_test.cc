// SPDX-License-Identifier: Apache-2.0
#include "sys/task/process_runner.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "base/text.h"
#include "sys/file.h"
#include "sys/file_lock.h"
#include "sys/task/cgroup.h"
#include "sys/task/process_table.h"
#include "test/kit/heads_for_test.h"

namespace stoker {
namespace {

class Keep : public LogSink {
 public:
  void Write(LogStream stream, std::string_view bytes) override {
    std::lock_guard<std::mutex> lock(mutex_);
    (stream == LogStream::kOut ? out : stream == LogStream::kErr ? err : system) += bytes;
  }
  // While the task runs; after End the members may be read as they are.
  std::string Out() {
    std::lock_guard<std::mutex> lock(mutex_);
    return out;
  }
  std::string out, err, system;

 private:
  std::mutex mutex_;
};

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// True once one of the task's processes has exec'ed the program `name`.
bool AwaitProgram(Task& task, const std::string& name) {
  for (int i = 0; i < 1000; ++i, usleep(10'000)) {
    for (const int pid : task.Processes()) {
      const auto stat = ReadProcessStat(pid);
      if (stat && stat->comm == name) return true;
    }
  }
  return false;
}

TaskCommand Sh(const std::string& script, const std::string& cwd = "/tmp") {
  return {{"sh", "-c", script}, {{"PATH", "/usr/bin:/bin"}, {"GREETING", "hello"}}, cwd};
}

const std::vector<std::string>& Working() {
  static const std::vector<std::string> working = WorkingMechanisms();
  return working;
}

class EachMechanism : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::find(Working().begin(), Working().end(), GetParam()) == Working().end()) {
      GTEST_SKIP() << GetParam() << " does not work on this machine for this user";
    }
    dir_.emplace(sys::TempDir::Make("heads").value());
    chmod(path().c_str(), 0777);
  }
  std::string path() const { return dir_->path(); }
  std::unique_ptr<Task> Start(const TaskCommand& command) {
    auto task = MakeProcessRunner({GetParam(), "/proc/self/exe"})->Start(command, sink_);
    EXPECT_TRUE(task.ok()) << task.status().ToString();
    return task.ok() ? std::move(*task) : nullptr;
  }
  TaskCommand Heads(const std::string& kind) {
    return {{"/proc/self/exe", "__heads", path(), kind}, {{"PATH", "/bin"}}, path()};
  }
  pid_t Verb(const std::string& verb, const std::string& kind) {
    const pid_t pid = fork();
    if (pid == 0) {
      execl("/proc/self/exe", "test", verb.c_str(), path().c_str(), GetParam(), kind.c_str(),
            nullptr);
      _exit(127);
    }
    return pid;
  }
  Keep sink_;
  std::optional<sys::TempDir> dir_;
};

INSTANTIATE_TEST_SUITE_P(Mechanisms, EachMechanism, testing::Values("pidns", "cgroup", "subreaper"),
                         [](const auto& p) { return std::string(p.param); });

TEST_P(EachMechanism, RunsAndReportsOutputAndExit) {
  auto task = Start(Sh("echo $GREETING; pwd; echo bad >&2; exit 7", path()));
  ASSERT_TRUE(task);
  const auto exit = task->Wait(5000);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->exit_code, 7);
  EXPECT_EQ(exit->signal, 0);
  EXPECT_FALSE(exit->out_of_memory);
  EXPECT_TRUE(task->End().ok());
  EXPECT_EQ(sink_.out, "hello\n" + path() + "\n");
  EXPECT_EQ(sink_.err, "bad\n");
  EXPECT_EQ(sink_.system, "");
  EXPECT_EQ(task->mechanism(), GetParam());
  EXPECT_EQ(task->Poll()->exit_code, 7);
}

TEST_P(EachMechanism, ProgramDiesOfSignal) {
  auto task = Start(Sh("kill -USR1 $$"));
  const auto exit = task->Wait(5000);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->signal, SIGUSR1);
  EXPECT_EQ(exit->ShellCode(), 128 + SIGUSR1);
  EXPECT_FALSE(exit->ours);
  auto told = Start(Sh("exec sleep 60"));
  ASSERT_TRUE(AwaitProgram(*told, "sleep"));
  EXPECT_TRUE(told->Stop().ok());
  const auto end = told->Wait(5000);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->signal, SIGTERM);
  EXPECT_TRUE(end->ours);
  EXPECT_GT(told->Usage().peak_bytes, 0) << "its own, though nobody looked while it ran";
}

TEST_P(EachMechanism, EndsHeads) {
  for (const char* kind : {"plain", "respawn"}) {
    auto task = Start(Heads(kind));
    ASSERT_TRUE(AwaitBeating(path(), kHeads + 1)) << kind;
    const Status status = task->End();
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(CountBeating(path()), 0) << kind;
    EXPECT_EQ(task->Poll()->signal, SIGKILL);
    EXPECT_TRUE(task->End().ok());
    EXPECT_TRUE(task->Processes().empty());
  }
}

TEST_P(EachMechanism, EndsChainsOfForks) {
  auto task = Start(Heads("chain"));
  ASSERT_TRUE(AwaitBeating(path(), kHeads + 1));
  const Status status = task->End();
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(CountBeating(path()), 0);
}

TEST_P(EachMechanism, DiesWithOwner) {
  for (const char* kind : {"plain", "respawn"}) {
    const pid_t owner = Verb("__owner", kind);
    ASSERT_TRUE(AwaitBeating(path(), kHeads + 1));
    kill(owner, SIGKILL);
    waitpid(owner, nullptr, 0);
    int beating = 1;
    for (int i = 0; i < 20 && beating > 0; ++i) beating = CountBeating(path());
    EXPECT_EQ(beating, 0) << kind;
  }
}

TEST_P(EachMechanism, SurvivesDeathOfItsShim) {
  auto task = Start(Heads("plain"));
  ASSERT_TRUE(AwaitBeating(path(), kHeads + 1));
  const std::vector<int> processes = task->Processes();
  ASSERT_GE(processes.size(), static_cast<size_t>(kHeads));
  pid_t shim = 0;  // the only child of ours that is an ancestor of those
  for (const ProcessStat& p : ListProcesses()) {
    if (p.parent == getpid() && !p.ended()) shim = p.pid;
  }
  ASSERT_GT(shim, 0);
  kill(shim, SIGKILL);
  const auto exit = task->Wait(5000);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->signal, SIGKILL);
  EXPECT_TRUE(exit->unwatched);
  (void)task->End();
  if (GetParam() != std::string("subreaper")) {
    EXPECT_EQ(CountBeating(path()), 0);
    return;
  }
  // Without its shim and with a cleared environment nothing ties the heads to the task any more:
  // the documented limit of this mechanism. The program itself went with the shim.
  EXPECT_LE(CountBeating(path()), kHeads);
  for (const int pid : processes) kill(pid, SIGKILL);
}

TEST_P(EachMechanism, StoppedShimStillEnds) {
  auto task = Start(Heads("plain"));
  ASSERT_TRUE(AwaitBeating(path(), kHeads + 1));
  for (const ProcessStat& p : ListProcesses()) {
    if (p.parent == getpid()) kill(p.pid, SIGSTOP);
  }
  EXPECT_TRUE(task->End().ok());
  EXPECT_EQ(CountBeating(path()), 0);
}

TEST_P(EachMechanism, ReportsMainReplacedByExec) {
  auto task = Start(Sh("(sleep 30 &) ; exec sh -c 'exit 5'"));
  const auto exit = task->Wait(5000);
  ASSERT_TRUE(exit);  // though sleep holds both pipes
  EXPECT_EQ(exit->exit_code, 5);
  EXPECT_EQ(exit->left_behind, 1);
  const int64_t start = NowMs();
  EXPECT_TRUE(task->End().ok());
  EXPECT_LT(NowMs() - start, 15'000) << "it waited for sleep";
}

TEST_P(EachMechanism, OutsiderHoldingThePipeDoesNotHangEnd) {
  // This process itself is the outsider: it opens the program's output by /proc.
  auto task = Start(Sh("echo before; sleep 30"));
  pid_t main = 0;
  for (int i = 0; i < 500 && main == 0; ++i, usleep(10'000)) {
    if (sink_.Out() == "before\n" && !task->Processes().empty()) main = task->Processes()[0];
  }
  ASSERT_GT(main, 0);
  const std::string link = "/proc/" + std::to_string(main) + "/fd/1";
  const int held = open(link.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(held, 0);
  const int64_t start = NowMs();
  EXPECT_TRUE(task->End().ok());
  EXPECT_LT(NowMs() - start, 15'000);
  EXPECT_NE(sink_.system.find("still holds its output open"), std::string::npos);
  close(held);
}

TEST_P(EachMechanism, SignalsOnlyThoseThatHandle) {
  auto task = Start(Sh("trap 'echo got; exit 3' USR1; sleep 30 & echo up; while :; do wait; done"));
  for (int i = 0; i < 500 && sink_.Out().empty(); ++i) usleep(10'000);
  ASSERT_TRUE(AwaitProgram(*task, "sleep"));  // before, the shell's handler is its own
  const auto told = task->Signal(SIGUSR1);
  ASSERT_TRUE(told.ok());
  EXPECT_EQ(told->size(), 1u) << "the shell has a trap for it, and nobody else";
  const auto exit = task->Wait(5000);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->exit_code, 3);
  EXPECT_EQ(exit->left_behind, 1) << "sleep was to live";
  EXPECT_TRUE(task->End().ok());
  EXPECT_EQ(sink_.out, "up\ngot\n");
}

// A program that needs a while to save at SIGTERM. `before` runs first.
std::string Saver(const std::string& before = "") {
  return "python3 -c '\nimport os, signal, sys, time\n" + before +
         "def save(*_):\n    time.sleep(0.4); print(\"saved\", flush=True); sys.exit(0)\n"
         "signal.signal(signal.SIGTERM, save)\nprint(\"up\", flush=True)\n"
         "while True: time.sleep(0.05)'";
}

TEST_P(EachMechanism, StopLetsAProgramBehindAShellSave) {
  auto task = Start(Sh(Saver() + " | cat\nsleep 30; echo another line"));
  for (int i = 0; i < 1000 && sink_.Out().empty(); ++i) usleep(10'000);
  const auto told = task->Stop();
  ASSERT_TRUE(told.ok());
  ASSERT_EQ(told->size(), 1u) << "neither the shell nor cat";
  EXPECT_NE(told->front().command.find("python3"), std::string::npos);
  ASSERT_TRUE(task->Stop().ok());
  EXPECT_TRUE(task->Wait(20'000)) << "the shell was to be told, too, a second later";
  EXPECT_TRUE(task->Processes().empty());
  EXPECT_TRUE(task->End().ok());
  EXPECT_EQ(sink_.out, "up\nsaved\n");
}

TEST_P(EachMechanism, StopWaitsForWhatTheFirstProcessLeftBehind) {
  // The parent has no handler and dies at once; its copy, which does not count as one that handles
  // the signal, saves.
  auto task = Start(Sh("exec " + Saver("if os.fork(): time.sleep(60)\n")));
  for (int i = 0; i < 1000 && sink_.Out().empty(); ++i) usleep(10'000);
  const auto told = task->Stop();
  ASSERT_TRUE(told.ok());
  EXPECT_EQ(told->size(), 2u) << "nobody counts: everybody is told";
  const auto exit = task->Wait(20'000);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->signal, SIGTERM) << "of the first process";
  EXPECT_TRUE(task->End().ok());
  EXPECT_EQ(sink_.out, "up\nsaved\n");
}

TEST_P(EachMechanism, WhatAProgramLeavesBehindMaySave) {
  auto task =
      Start(Sh("exec python3 -c '\nimport os, signal, sys, time\nr, w = os.pipe()\n"
               "if os.fork():\n    os.read(r, 1); os._exit(4)\n"
               "def save(*_):\n    time.sleep(0.4); print(\"saved\", flush=True); sys.exit(0)\n"
               "signal.signal(signal.SIGTERM, save)\nos.write(w, b\"1\")\n"
               "while True: time.sleep(0.05)'"));
  const auto exit = task->Wait(20'000);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->exit_code, 4) << "of the first process";
  EXPECT_EQ(exit->left_behind, 1);
  EXPECT_FALSE(exit->ours);
  EXPECT_TRUE(task->End().ok());
  EXPECT_EQ(sink_.out, "saved\n");
}

TEST_P(EachMechanism, EndIsNotHeldBackByAStop) {
  auto task = Start(Sh("trap : TERM; (trap \"\" TERM; sleep 60) & echo up; wait; exit 7"));
  for (int i = 0; i < 1000 && sink_.Out().empty(); ++i) usleep(10'000);
  ASSERT_TRUE(task->Stop().ok());
  EXPECT_FALSE(task->Wait(300)) << "what ignores SIGTERM lives";
  EXPECT_TRUE(task->End().ok());
  const auto exit = task->Poll();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->exit_code, 7) << "the first process had ended by itself";
}

TEST_P(EachMechanism, CleanStartingState) {
  signal(SIGPIPE, SIG_IGN);
  const int leak = open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  auto task =
      Start(Sh("grep -E 'SigBlk|SigIgn' /proc/self/status; ls -1 /proc/self/fd | wc -l; "
               "readlink /proc/self/fd/0; cat; ps -o sid= -p $$ | tr -d ' '; echo $$"));
  ASSERT_TRUE(task->Wait(5000));
  EXPECT_TRUE(task->End().ok());
  close(leak);
  signal(SIGPIPE, SIG_DFL);
  const std::vector<std::string> lines = Split(sink_.out, '\n');
  ASSERT_GE(lines.size(), 6u) << sink_.out << sink_.err;
  EXPECT_EQ(lines[0], "SigBlk:\t0000000000000000");
  EXPECT_EQ(lines[1], "SigIgn:\t0000000000000000");
  EXPECT_EQ(lines[2], "4");  // 0, 1, 2 and ls's own
  EXPECT_EQ(lines[3], "/dev/null");
  EXPECT_EQ(lines[4], lines[5]) << "the program leads its session";
}

TEST_P(EachMechanism, CountsUsage) {
  auto task = Start(Sh("(i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done); echo done; sleep 30"));
  for (int i = 0; i < 1000 && sink_.Out().empty(); ++i) usleep(10'000);
  const TaskUsage usage = task->Usage();
  EXPECT_GT(usage.cpu_seconds, 0.02);
  EXPECT_GE(usage.processes, 1);
  EXPECT_GT(usage.resident_bytes, 100'000);
  EXPECT_TRUE(task->End().ok());
  EXPECT_GE(task->Usage().cpu_seconds, usage.cpu_seconds);
  EXPECT_EQ(task->Usage().processes, 0);
}

TEST_P(EachMechanism, FloodOfLinesArrivesWhole) {
  auto task =
      Start(Sh("yes 'a line of the usual length, as training programs print them' | "
               "head -n 300000; echo end >&2"));
  ASSERT_TRUE(task->Wait(20'000));
  EXPECT_TRUE(task->End().ok());
  EXPECT_EQ(std::count(sink_.out.begin(), sink_.out.end(), '\n'), 300'000);
  EXPECT_EQ(sink_.err, "end\n");
}

TEST_P(EachMechanism, LastOutputIsWholeWhenEnded) {
  auto task = Start(Sh("trap '' TERM; head -c 900000 /dev/zero; echo x; sleep 30"));
  ASSERT_TRUE(AwaitProgram(*task, "sleep"));
  EXPECT_TRUE(task->End().ok());
  EXPECT_EQ(sink_.out.size(), 900'002u);
}

TEST_P(EachMechanism, HoldsTheLockThatItWasGiven) {
  const auto dir = sys::TempDir::Make("lock").value();
  const std::string path = dir.path() + "/lock";
  auto lock = sys::TryFileLock(path);
  ASSERT_TRUE(lock.ok());
  TaskCommand command = Sh("readlink /proc/self/fd/5; exec 1>&-; exec sleep 30");
  command.lock = lock->get();
  auto task = Start(command);
  lock->Reset();
  ASSERT_TRUE(AwaitProgram(*task, "sleep"));
  EXPECT_TRUE(sys::TryFileLock(path).status().Is(Code::kBusy));
  EXPECT_TRUE(task->End().ok());
  EXPECT_EQ(sink_.out, path + "\n");  // the program, not the shim alone
  EXPECT_TRUE(sys::TryFileLock(path).ok());
}

TEST_P(EachMechanism, AsAnOrdinaryUser) {
  if (geteuid() == 0 && GetParam() == std::string("cgroup")) return;  // root's tree
  const pid_t pid = Verb("__nobody", "respawn");
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ProcessRunner, PidNamespaceShowsItsOwnProc) {
  if (Working()[0] != "pidns") GTEST_SKIP() << "no pid namespaces here";
  Keep sink;
  auto task =
      MakeProcessRunner({"pidns", "/proc/self/exe"})
          ->Start(Sh("echo $$; cut -d' ' -f1 /proc/self/stat; ls -d /proc/[0-9]*|wc -l"), sink);
  ASSERT_TRUE(task.ok()) << task.status().ToString();
  ASSERT_TRUE((*task)->Wait(5000));
  EXPECT_TRUE((*task)->End().ok());
  const std::vector<std::string> lines = Split(sink.out, '\n');
  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(lines[0], "2");
  EXPECT_LE(std::atoi(lines[2].c_str()), 5);
  // What the task mounts stays its own.
  EXPECT_EQ(access("/proc/1/stat", R_OK), 0);
}

TEST(ProcessRunner, WhatIsLeftBehindAndIgnoresSigtermIsNotWaitedForLong) {
  Keep sink;
  auto task = MakeProcessRunner({})->Start(Sh("trap '' TERM; sleep 60 & exit 0"), sink);
  ASSERT_TRUE(task.ok()) << task.status().ToString();
  const auto exit = (*task)->Wait(kLeftBehindGrace.ms + 15'000);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->exit_code, 0);
  EXPECT_EQ(exit->left_behind, 1);
  EXPECT_TRUE((*task)->End().ok());
  EXPECT_TRUE((*task)->Processes().empty());
}

TEST(ProcessRunner, WhatIsSentToWhatIsLeftBehindSaysNothingOfTheProgram) {
  Keep sink;
  auto task = MakeProcessRunner({})->Start(Sh("trap '' TERM; sleep 60 & exit 0"), sink);
  ASSERT_TRUE(task.ok()) << task.status().ToString();
  EXPECT_FALSE((*task)->Wait(300)) << "its end is held back";
  EXPECT_TRUE((*task)->Stop().ok());  // a notice
  EXPECT_TRUE((*task)->End().ok());
  const auto exit = (*task)->Poll();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->ShellCode(), 0);
  EXPECT_TRUE(exit->untold);
  auto told = MakeProcessRunner({})->Start(Sh("trap 'exit 0' TERM; echo; sleep 60 & wait"), sink);
  ASSERT_TRUE(told.ok()) << told.status().ToString();
  EXPECT_FALSE((*told)->Wait(300));
  EXPECT_TRUE((*told)->Stop().ok());
  EXPECT_TRUE((*told)->Wait(15'000));
  EXPECT_TRUE((*told)->End().ok());
  EXPECT_FALSE((*told)->Poll()->untold);
}

TEST(ProcessRunner, EachRefusalHasItsReason) {
  const auto dir = sys::TempDir::Make("refusals").value();
  const auto file = [&dir](const std::string& name, const std::string& content, mode_t mode) {
    EXPECT_TRUE(sys::WriteFileAtomic(dir.path() + "/" + name, content, mode, false).ok());
    return "./" + name;
  };
  const struct {
    std::string program;
    Code code;
    std::string says;
  } cases[] = {
      {"python9", Code::kNotFound, "python9: not found in PATH=/usr/bin:/bin"},
      {"./missing", Code::kNotFound, "./missing: no such file"},
      {file("a", "#!/no/such/interp -x\n", 0755), Code::kNotFound, "/no/such/interp"},
      {file("b", "#!/usr/bin/env python9\n", 0755), Code::kNotFound, "python9: not found"},
      {file("c", "#!/bin/sh\r\necho\r\n", 0755), Code::kNotFound, "dos2unix"},
      {file("d", "#!/bin/sh\n", 0644), Code::kDenied, "chmod +x"},
      {file("e", "just text\n", 0755), Code::kInvalid, "is not a program"},
      {".", Code::kNotFound, ".: not found"},
      {"", Code::kInvalid, "empty"},
  };
  Keep sink;
  for (const auto& c : cases) {
    TaskCommand command = Sh("", dir.path());
    command.argv = {c.program};
    const Status status = MakeProcessRunner()->Start(command, sink).status();
    EXPECT_EQ(status.code(), c.code) << status.ToString();
    EXPECT_NE(status.ToString().find(c.says), std::string::npos) << status.ToString();
  }
  EXPECT_EQ(MakeProcessRunner()->Start(Sh("true", "/no/such/dir"), sink).code(), Code::kInvalid);
  EXPECT_EQ(MakeProcessRunner({"magic", "/proc/self/exe"})->Start(Sh("true"), sink).code(),
            Code::kInvalid);
  TaskCommand nul = Sh("true");
  nul.argv.push_back(std::string("a\0b", 3));
  EXPECT_EQ(MakeProcessRunner()->Start(nul, sink).code(), Code::kInvalid);
  TaskCommand huge = Sh("true");
  huge.argv.push_back(std::string(300'000, 'x'));
  EXPECT_NE(MakeProcessRunner()->Start(huge, sink).status().message().find("longer"),
            std::string::npos);
}

// Found by chaos: the enclosure died of kill -9 while the program was being started, and the user
// got the blame. It is no reason to end processes in a lesser way from then on either.
TEST(ProcessRunner, BoxThatDiesWhileItStartsIsTheMachinesFault) {
  const std::string dying = testing::TempDir() + "dying-" + std::to_string(getpid());
  ASSERT_TRUE(sys::WriteFileAtomic(dying, "#!/bin/sh\nkill -9 $$\n", 0755, false).ok());
  Keep keep;
  const auto task = MakeProcessRunner({"subreaper", dying})->Start({{"true"}, {}, "/"}, keep);
  EXPECT_EQ(task.status().code(), Code::kUnavailable) << task.status().ToString();
  EXPECT_NE(task.status().message().find("signal 9"), std::string::npos)
      << task.status().ToString();
  unlink(dying.c_str());
}

TEST(ProcessRunner, LeavesNoDescriptorAndNoChild) {
  const auto descriptors = [] { return sys::ListDir("/proc/self/fd")->size(); };
  Keep sink;
  auto runner = MakeProcessRunner();
  (void)(*runner->Start(Sh("true"), sink))->End();
  const size_t before = descriptors();
  for (int i = 0; i < 20; ++i) {
    auto task = runner->Start(Sh("exit 1"), sink);
    ASSERT_TRUE(task.ok());
    TaskCommand bad = Sh("true");
    bad.argv = {"no-such-program"};
    EXPECT_FALSE(runner->Start(bad, sink).ok());
  }
  EXPECT_EQ(descriptors(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  if (auto own = OwnCgroup(); own.ok()) {
    const std::vector<sys::DirEntry> entries = sys::ListDir(*own).value();
    for (const sys::DirEntry& entry : entries) {
      EXPECT_FALSE(StartsWith(entry.name, "stoker-") && !CgroupPopulated(*own + "/" + entry.name))
          << entry.name;
    }
  }
}

TEST(ProcessRunner, ManyAtOnce) {
  auto runner = MakeProcessRunner();
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        Keep sink;
        auto task = runner->Start(Sh("echo x; exit 4"), sink);
        if (!task.ok()) continue;
        const auto exit = (*task)->Wait(10'000);
        (void)(*task)->End();
        good += exit && exit->exit_code == 4 && sink.out == "x\n";
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(good, 40);
}

// Where namespaces can be had; elsewhere the program is told so.
TEST(ProcessRunner, AHostNameOfItsOwn) {
  const auto folder = sys::TempDir::Make();
  ASSERT_TRUE(folder.ok());
  const std::string hosts = folder->path() + "/hosts";
  ASSERT_TRUE(sys::WriteFileAtomic(hosts, "127.64.3.2 k3f7-job-1\n").ok());
  for (const std::string& mechanism : WorkingMechanisms()) {
    Keep keep;
    TaskCommand command{{"sh", "-c", "cat /proc/sys/kernel/hostname; cat /etc/hosts; echo $NODES"},
                        {{"PATH", "/usr/bin:/bin"}, {"NODES", "k3f7-job-0 k3f7-job-1"}},
                        "/"};
    command.host = {"k3f7-job-1", hosts, {{"NODES", "127.64.3.1 127.64.3.2"}}};
    auto task = MakeProcessRunner({mechanism})->Start(command, keep);
    ASSERT_TRUE(task.ok()) << task.status().ToString();
    ASSERT_TRUE((*task)->Wait(20'000));
    ASSERT_TRUE((*task)->End().ok());
    const std::string own = "k3f7-job-1\n127.64.3.2 k3f7-job-1\nk3f7-job-0 k3f7-job-1\n";
    EXPECT_EQ((*task)->has_host_name(), mechanism == "pidns");
    if (mechanism == "pidns") {
      EXPECT_EQ(keep.out, own);
    } else {
      EXPECT_TRUE(StartsWith(keep.out, sys::Hostname() + "\n")) << keep.out;
      EXPECT_TRUE(EndsWith(keep.out, "\n127.64.3.1 127.64.3.2\n")) << keep.out;
    }
  }
  EXPECT_NE(sys::Hostname(), "k3f7-job-1");
}

}  // namespace
}  // namespace stoker
