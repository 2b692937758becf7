// SPDX-License-Identifier: Apache-2.0
// Who sent a node its signal, from a stand-in for squeue that prints what a real one printed; and
// what the batch script leaves when it is told to end.
#include "provider/slurm/slurm_platform.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "provider/slurm/slurm_job.h"
#include "sys/file.h"

namespace stoker {
namespace {

// Each look at the date takes half a second: nothing is waited for that could be late.
class FastClock : public Clock {
 public:
  MonoTime Mono() override { return {1'000}; }
  WallTime Wall() override { return {now_.ms += 500}; }

 private:
  WallTime now_{1'795'545'000'000};
};

constexpr char kRuns[] = "5|RUNNING|None|1795545000|1795545900|N/A|0|0|n1|stoker-job1.0123|x";
constexpr char kCompletes[] =
    "5|COMPLETING|None|1795545000|1795545001|N/A|0|0|n1|stoker-job1.0123|x";
constexpr char kPreempted[] =
    "5|RUNNING|None|1795545000|1795545015|1795545000|0|0|n1|stoker-job1.0123|x";
constexpr char kAway[] = "";  // what the real one ends with 1 for

class SlurmPlatformTest : public testing::Test {
 protected:
  SlurmPlatformTest()
      : dir_(sys::TempDir::Make("slurm").value()), folder_(dir_.path() + "/request") {
    const char* path = std::getenv("PATH");
    path_ = path == nullptr ? "" : path;
    LaunchRequest request;
    request.ledger_id = "ledger";
    request.job = "job1";
    request.token = "0123";
    request.launches = {1};
    request.slots = {0};
    request_ = EncodeSlurmRequest(request);
    EXPECT_TRUE(sys::MakeDirs(folder_.path(), 0700).ok());
    setenv(kSlurmRequest, request_.c_str(), 1);
    setenv(kSlurmFolder, folder_.path().c_str(), 1);
    setenv("SLURM_JOB_ID", "5", 1);
    setenv("SLURM_NODEID", "0", 1);
    setenv("PATH", (dir_.path() + ":" + path_).c_str(), 1);
  }
  ~SlurmPlatformTest() override {
    for (const char* name : {kSlurmRequest, kSlurmFolder, "SLURM_JOB_ID", "SLURM_NODEID"}) {
      unsetenv(name);
    }
    setenv("PATH", path_.c_str(), 1);
  }

  void Program(const std::string& name, const std::string& text) {
    const std::string path = dir_.path() + "/" + name;
    EXPECT_TRUE(sys::WriteFileAtomic(path, "#!/bin/sh\n" + text, 0700, false).ok());
  }
  // squeue says `first` so many `times`, then `then`.
  void Squeue(const std::string& first, int times, const std::string& then) {
    const std::string asked = dir_.path() + "/asked";
    const auto say = [](const std::string& line) {
      return line == kAway ? std::string("exit 1") : "echo '" + line + "'";
    };
    Program("squeue", "echo >>" + asked + "\nif [ $(wc -l <" + asked + ") -le " +
                          std::to_string(times) + " ]; then " + say(first) + "; else " + say(then) +
                          "; fi\n");
  }
  std::unique_ptr<SlurmPlatform> Host() { return MakeSlurmPlatform(dir_.path(), clock_).value(); }
  std::optional<SlurmEnd> Ender(bool over) {
    const auto platform = Host();
    platform->Signalled();
    return platform->AwaitEnder(over, [] { return false; });
  }

  sys::TempDir dir_;
  SlurmFolder folder_;
  std::string path_;
  std::string request_;
  FastClock clock_;
};

TEST_F(SlurmPlatformTest, ACancelThatSlurmTellsOfLateIsOne) {
  Squeue(kRuns, 2, kCompletes);
  const auto end = Ender(false);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->by, SlurmEnder::kOwner);
  ASSERT_TRUE(folder_.End()) << "who looks next must see it";
  EXPECT_EQ(folder_.End()->by, SlurmEnder::kOwner);
  EXPECT_TRUE(folder_.SignalledSince(WallTime{1})) << "what was read of the queue before is old";
}

TEST_F(SlurmPlatformTest, APreemptionIsKnownAtOnce) {
  Squeue(kPreempted, 1, kRuns);
  const auto end = Ender(false);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->by, SlurmEnder::kPlatform);
}

TEST_F(SlurmPlatformTest, WhatSlurmDoesNotTellIsNotWaitedForForEver) {
  Squeue(kRuns, 1, kRuns);
  EXPECT_FALSE(Ender(false)) << "a signal that ends nothing";
  EXPECT_FALSE(Ender(true));
  Squeue(kAway, 1, kAway);
  EXPECT_FALSE(Ender(false)) << "the notice is told in time";
  EXPECT_FALSE(folder_.End());
}

// Whoever hears that the program has ended may ask for a successor, later than Slurm's next answer.
TEST_F(SlurmPlatformTest, AnEndIsToldOnceSlurmAnswers) {
  Squeue(kAway, 6, kCompletes);
  const auto end = Ender(true);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->by, SlurmEnder::kOwner);
}

// A controller that forgot job 5 gave its number to another one, which its owner cancels.
TEST_F(SlurmPlatformTest, AnotherJobOfThatNumberSaysNothing) {
  const std::string other = "5|CANCELLED|None|1795545000|1795545001|N/A|0|0|n1|stoker-job2.4567|x";
  Squeue(other, 1, other);
  EXPECT_FALSE(Ender(false));
  EXPECT_FALSE(folder_.End());
}

TEST_F(SlurmPlatformTest, WhenItBeganIsWrittenDownOnce) {
  Squeue(kRuns, 1, kRuns);
  EXPECT_EQ(folder_.Traces().begun.ms, 0);
  EXPECT_TRUE(Host()->PollNotice().ok());
  EXPECT_EQ(folder_.Traces().begun.ms, 1'795'545'000'000);
  folder_.KeepBegun(WallTime{1'795'545'009'000});
  EXPECT_EQ(folder_.Traces().begun.ms, 1'795'545'000'000);
}

TEST_F(SlurmPlatformTest, WithoutSlurmsProgramsOthersSeeToIt) {
  setenv("PATH", dir_.path().c_str(), 1);
  EXPECT_FALSE(Ender(true));
}

TEST_F(SlurmPlatformTest, WhatStokerEndsItselfIsKnownWithoutAsking) {
  Squeue(kCompletes, 1, kCompletes);
  ASSERT_TRUE(folder_.KeepEnd({SlurmEnder::kSelf, "ended by stoker"}).ok());
  EXPECT_EQ(Ender(true)->by, SlurmEnder::kSelf);
  EXPECT_FALSE(sys::FileExists(dir_.path() + "/asked"));
}

TEST_F(SlurmPlatformTest, NobodyIsAskedBeforeThereIsASignal) {
  Squeue(kCompletes, 1, kCompletes);
  EXPECT_FALSE(Host()->AwaitEnder(true, [] { return false; }));
  const auto platform = Host();
  platform->Signalled();
  EXPECT_FALSE(platform->AwaitEnder(true, [] { return true; })) << "it is to leave";
  EXPECT_FALSE(sys::FileExists(dir_.path() + "/asked"));
}

// The script outlives its nodes by a moment: what it writes then is no word of why they ended.
TEST_F(SlurmPlatformTest, TheScriptTellsOfItsOwnEndAlone) {
  const auto request = ParseSlurmRequest(request_);
  ASSERT_TRUE(request.ok());
  const std::string script = BatchScript(*request, SlurmAsk(), {folder_.path(), "/bin/true"});
  const auto run = [&](const std::string& srun) {
    EXPECT_TRUE(sys::RemoveTree(folder_.path()).ok());
    EXPECT_TRUE(sys::MakeDirs(folder_.path(), 0700).ok());
    Program("srun", srun);
    Program("script", script);
    EXPECT_EQ(std::system((dir_.path() + "/script").c_str()), 0);
  };
  run("exit 0\n");
  ASSERT_TRUE(folder_.End());
  EXPECT_EQ(folder_.End()->by, SlurmEnder::kSelf);
  EXPECT_FALSE(folder_.Traces().left);
  run("kill -TERM $PPID\n");
  EXPECT_FALSE(folder_.End());
  EXPECT_TRUE(folder_.Traces().left);
}

// Slurm says of neither that the first was lost; of another job it would say no less.
TEST_F(SlurmPlatformTest, TheScriptTellsThatItsJobIsBegunAnew) {
  const std::string script =
      BatchScript(*ParseSlurmRequest(request_), SlurmAsk(), {folder_.path(), "/bin/true"});
  Program("srun", "exit 1\n");
  Program("script", script);
  const auto begun_by = [&](const std::string& job) {
    EXPECT_TRUE(sys::WriteFileAtomic(folder_.path() + "/started", job + "\n", 0600, false).ok());
    EXPECT_EQ(std::system((dir_.path() + "/script").c_str()), 0);
    return folder_.End();
  };
  EXPECT_FALSE(begun_by("4"));
  const auto end = begun_by("5");
  ASSERT_TRUE(end);
  EXPECT_EQ(end->by, SlurmEnder::kPlatform);
  EXPECT_EQ(end->why, "Slurm's controller lost job 5 and began it anew");
}

}  // namespace
}  // namespace stoker
