// SPDX-License-Identifier: Apache-2.0
#include "sys/watch/task_watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <vector>

namespace stoker {
namespace {

constexpr MonoTime kStart{1'000'000};
constexpr long kTmpfs = 0x01021994;  // linux/magic.h

class TaskWatchTest : public ::testing::Test {
 protected:
  void TearDown() override {
    for (pid_t pid : children_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }
  // A process of the task; it sleeps until a signal, then exits with `code` if that is SIGUSR1.
  // `works`: it has used the processor before, as whoever computes something has.
  pid_t Start(int code = 0, bool works = false) {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    sigprocmask(SIG_BLOCK, &wanted, nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (works && clock() < CLOCKS_PER_SEC / 5) continue;
      int got = 0;
      sigwait(&wanted, &got);
      _exit(code);
    }
    children_.push_back(pid);
    return pid;
  }
  // Ends it; it can still be looked at unless its parent has `collected` it.
  void End(pid_t pid, int signal, bool collected) {
    kill(pid, signal);
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
    if (!collected) return;
    waitpid(pid, nullptr, 0);
    std::erase(children_, pid);
  }
  // Until it has used enough of the processor to be no mere waiter.
  static void AwaitWork(pid_t pid) {
    clockid_t its = 0;
    ASSERT_EQ(clock_getcpuclockid(pid, &its), 0);
    timespec used{};
    while (used.tv_sec == 0 && used.tv_nsec < 150'000'000) clock_gettime(its, &used);
  }
  void Watch() {
    watch_.SetProcesses([this] { return std::vector<int>(children_.begin(), children_.end()); });
    watch_.Refresh(kStart);
  }

  TaskWatch watch_;
  std::vector<pid_t> children_;
};

TEST_F(TaskWatchTest, WhoLivesLived) {
  Start();
  Watch();
  EXPECT_EQ(watch_.Judge(kStart + Duration::Ms(50)), Fate::kLived);
  EXPECT_EQ(watch_.Judge(kStart + Duration::Seconds(50)), Fate::kLived);
}

// A trainer in its first second, collected before anybody could see that a signal had ended it.
TEST_F(TaskWatchTest, TheEndOfTheWholeTaskIsNeverHarmless) {
  const pid_t pid = Start();
  Watch();
  EXPECT_EQ(watch_.Judge(kStart + Duration::Ms(50)), Fate::kLived);
  End(pid, SIGKILL, true);
  EXPECT_EQ(watch_.Judge(kStart + Duration::Ms(600)), Fate::kUnknown);
  // A hint of it may be looked at much later.
  EXPECT_EQ(watch_.Judge(kStart + Duration::Seconds(20)), Fate::kUnknown);
}

TEST_F(TaskWatchTest, AStepOfAScriptIsLikelyToHaveEndedWell) {
  Start();
  const pid_t step = Start();
  Watch();
  End(step, SIGUSR1, true);
  EXPECT_EQ(watch_.Judge(kStart + Duration::Ms(600)), Fate::kLikely);
  EXPECT_EQ(watch_.Judge(kStart + Duration::Ms(1200)), Fate::kLived);
}

TEST_F(TaskWatchTest, AStepOfAScriptThatTakesTheScriptAlongIsNot) {
  const pid_t script = Start();
  const pid_t step = Start();
  Watch();
  End(step, SIGKILL, true);
  EXPECT_EQ(watch_.Judge(kStart + Duration::Ms(600)), Fate::kLikely);
  End(script, SIGUSR1, true);
  EXPECT_EQ(watch_.Judge(kStart + Duration::Ms(700)), Fate::kUnknown);
}

TEST_F(TaskWatchTest, AnOlderOneThatIsGoneMayHaveBeenKilled) {
  Start();
  const pid_t trainer = Start(0, true);
  Watch();
  AwaitWork(trainer);
  watch_.Judge(kStart + Duration::Seconds(1));
  End(trainer, SIGUSR1, true);
  EXPECT_EQ(watch_.Judge(kStart + Duration::Seconds(5)), Fate::kUnknown);
}

// "sleep 6" between two steps of a script.
TEST_F(TaskWatchTest, AnOlderOneThatOnlyWaitedIsLikeAStepOfAScript) {
  Start();
  const pid_t wait = Start();
  Watch();
  watch_.Judge(kStart + Duration::Seconds(1));
  End(wait, SIGUSR1, true);
  EXPECT_EQ(watch_.Judge(kStart + Duration::Seconds(5)), Fate::kLikely);
}

TEST_F(TaskWatchTest, WhatCanStillBeSeenIsBelieved) {
  const pid_t well = Start();
  Watch();
  End(well, SIGUSR1, false);
  EXPECT_EQ(watch_.Judge(kStart + Duration::Ms(100)), Fate::kLived);
  const pid_t killed = Start();
  Start();
  Watch();
  End(killed, SIGKILL, false);
  EXPECT_EQ(watch_.Judge(kStart + Duration::Ms(100)), Fate::kKilled);
  const pid_t failed = Start(3);
  Watch();
  End(failed, SIGUSR1, false);
  EXPECT_EQ(watch_.Judge(kStart + Duration::Ms(100)), Fate::kLikely);
  const pid_t older = Start(3, true);
  AwaitWork(older);
  Watch();
  End(older, SIGUSR1, false);
  EXPECT_EQ(watch_.Judge(kStart + Duration::Seconds(2)), Fate::kKilled);
}

// "yes | head -c 1G > step-3.pt": SIGPIPE ends the first, once the second has all that it wants.
TEST_F(TaskWatchTest, WhoFeedsAPipelineIsLikeAStepOfAScript) {
  Start();
  const pid_t young = Start();
  Watch();
  End(young, SIGPIPE, false);
  EXPECT_EQ(watch_.Judge(kStart + Duration::Ms(100)), Fate::kLikely);
  const pid_t older = Start(0, true);
  Watch();
  AwaitWork(older);
  watch_.Judge(kStart + Duration::Seconds(1));
  End(older, SIGPIPE, false);
  EXPECT_EQ(watch_.Judge(kStart + Duration::Seconds(5)), Fate::kUnknown);
}

TEST_F(TaskWatchTest, WhoWasSeenToWriteAndDiesOfAPipeWasKilled) {
  char path[] = "/tmp/task-watch-XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  Start();
  const pid_t writer = Start();  // has inherited it
  struct stat info {};
  ASSERT_EQ(fstat(fd, &info), 0);
  Watch();
  watch_.Look(info.st_dev, path, {{"a", {info.st_dev, info.st_ino}}});
  End(writer, SIGPIPE, false);
  EXPECT_EQ(watch_.Judge(kStart + Duration::Ms(100)), Fate::kKilled);
  close(fd);
  unlink(path);
}

// A write so short, or a tree so large, that no look saw the file open.
TEST_F(TaskWatchTest, WhoHasWrittenUnseenAndDiesOfAPipeWasKilled) {
  char path[] = "task-watch-XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  struct statfs there {};
  ASSERT_EQ(fstatfs(fd, &there), 0);
  Start();
  const pid_t writer = fork();
  if (writer == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::vector<char> half(100'000, 'h');
    (void)!write(fd, half.data(), half.size());
    close(fd);
    while (true) pause();
  }
  close(fd);
  children_.push_back(writer);
  Watch();
  struct stat info {};
  while (stat(path, &info) == 0 && info.st_size < 100'000) usleep(1000);
  End(writer, SIGPIPE, false);
  // Nobody counts what is written into memory.
  const Fate expected = there.f_type == kTmpfs ? Fate::kLikely : Fate::kKilled;
  EXPECT_EQ(watch_.Judge(kStart + Duration::Ms(100)), expected);
  unlink(path);
}

// "exec >> train.log" in a script: what it starts has the file open, too.
TEST_F(TaskWatchTest, WhoWaitsWithTheLogOfItsScriptOpenOnlyWaits) {
  char path[] = "/tmp/task-watch-XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  Start();
  const pid_t wait = Start();
  struct stat info {};
  ASSERT_EQ(fstat(fd, &info), 0);
  Watch();
  watch_.Look(info.st_dev, "/checkpoints", {{"a", {info.st_dev, 1}}});
  watch_.Judge(kStart + Duration::Seconds(1));
  End(wait, SIGUSR1, true);
  EXPECT_EQ(watch_.Judge(kStart + Duration::Seconds(5)), Fate::kLikely);
  close(fd);
  unlink(path);
}

TEST_F(TaskWatchTest, WhoHasAFileOfItsOwnOpenIsAWriter) {
  Start();
  char path[] = "/tmp/task-watch-XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  const pid_t writer = Start();
  struct stat info {};
  ASSERT_EQ(fstat(fd, &info), 0);
  Watch();
  watch_.Look(info.st_dev, "/checkpoints", {{"a", {info.st_dev, 1}}});
  watch_.Judge(kStart + Duration::Seconds(1));
  End(writer, SIGUSR1, true);
  EXPECT_EQ(watch_.Judge(kStart + Duration::Seconds(5)), Fate::kUnknown);
  close(fd);
  unlink(path);
}

TEST_F(TaskWatchTest, NothingIsSureBeforeTheTaskHasBeenSeen) {
  watch_.SetProcesses([] { return std::vector<int>(); });
  watch_.Refresh(kStart);
  EXPECT_EQ(watch_.Judge(kStart), Fate::kLikely);
}

}  // namespace
}  // namespace stoker
