// SPDX-License-Identifier: Apache-2.0
// What a provider does where Slurm's controller died, forgot a job, and gave its number to the
// next: with stand-ins for Slurm's programs. What a real Slurm does is in test/slurm.
#include "provider/slurm/slurm_provider.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/text.h"
#include "provider/slurm/slurm_folder.h"
#include "provider/slurm/slurm_job.h"
#include "sys/file.h"
#include "sys/real_clock.h"

namespace stoker {
namespace {

class SlurmProviderTest : public testing::Test {
 protected:
  SlurmProviderTest() : dir_(sys::TempDir::Make("slurm").value()), state_(dir_.path()) {
    const char* path = std::getenv("PATH");
    path_ = path == nullptr ? "" : path;
    setenv("PATH", (dir_.path() + ":" + path_).c_str(), 1);
    Program("squeue", "cat " + dir_.path() + "/rows");
    Program("scancel", "echo \"$@\" >>" + dir_.path() + "/cancelled");
  }
  ~SlurmProviderTest() override { setenv("PATH", path_.c_str(), 1); }

  void Program(const std::string& name, const std::string& text) {
    Write(name, "#!/bin/sh\n" + text + "\n", 0700);
  }
  void Write(const std::string& name, const std::string& text, mode_t mode = 0600) {
    EXPECT_TRUE(sys::WriteFileAtomic(dir_.path() + "/" + name, text, mode, false).ok());
  }
  // Slurm gave the number 5 to it.
  LaunchRequest Sent(const std::string& token) {
    LaunchRequest request;
    request.ledger_id = "ledger";
    request.job = "job1";
    request.token = token;
    request.launches = {1};
    request.slots = {0};
    EXPECT_TRUE(state_.Make(request).ok());
    EXPECT_TRUE(state_.KeepJob(request, 5).ok());
    return request;
  }
  std::string Cancelled() const {
    return sys::ReadFile(dir_.path() + "/cancelled", 100).value_or("");
  }

  sys::TempDir dir_;
  SlurmState state_;
  std::string path_;
  RealClock clock_;
};

TEST_F(SlurmProviderTest, AForgottenJobIsClearedAwayAndNotTheOneThatHasItsNumber) {
  const LaunchRequest lost = Sent("0123");
  const LaunchRequest next = Sent("4567");
  Write("rows", "5|RUNNING|None|1795545000|1795545900|N/A|0|0|n1|stoker-job1.4567|x\n");
  SlurmOptions options;
  options.state_dir = dir_.path();
  const auto provider = MakeSlurmProvider(options, clock_);
  ASSERT_TRUE(provider.ok());
  for (int i = 0; i < 2; ++i) EXPECT_TRUE((*provider)->Terminate("5.0.0123").ok());
  EXPECT_TRUE(state_.IsOver(lost));
  EXPECT_FALSE(state_.Of(next).End()) << "it goes on";
  EXPECT_EQ(Cancelled(), "");
  EXPECT_FALSE(state_.Of(lost).Traces().again);
  EXPECT_TRUE(state_.Of(next).Traces().again);
  EXPECT_TRUE(state_.Of(Sent("89ab")).Traces().again) << "also by what is cleared away";
  EXPECT_TRUE(state_.Remove(Sent("89ab")).ok());
  const auto seen = (*provider)->Describe("ledger", "job1");
  ASSERT_EQ(seen->size(), 1U);
  EXPECT_EQ(seen->front().id, "5.0.4567");
  EXPECT_FALSE((*provider)->Interrupt("5.0.0123", Duration::Seconds(9)).ok());
  EXPECT_TRUE((*provider)->Interrupt("5.0.4567", Duration::Seconds(9)).ok());
  EXPECT_TRUE((*state_.Of(next).ReadNotice()).has_value());
  EXPECT_TRUE((*provider)->Terminate("5.0.4567").ok());
  EXPECT_EQ(Cancelled(), "5\n");
  EXPECT_EQ(state_.Of(next).End()->by, SlurmEnder::kSelf);
}

// The number was another user's, too, of whom the controller knew nothing when it was back.
TEST_F(SlurmProviderTest, AJobThatItsNodeRefusedIsNobodysCancel) {
  Sent("0123");
  Write("rows", "5|CANCELLED|None|1795633025|1795633025|N/A|0|0|n5|stoker-job1.0123|x\n");
  SlurmOptions options;
  options.state_dir = dir_.path();
  const auto provider = MakeSlurmProvider(options, clock_);
  ASSERT_TRUE(provider.ok());
  Program("scontrol", "exit 1");
  EXPECT_FALSE((*provider)->Describe("ledger", "job1").ok())
      << "it is not known whose doing it was";
  Program("scontrol",
          "echo 'Configuration data as of 1795633030'; "
          "echo 'BOOT_TIME               = 1795633020'; echo 'KillWait                = 30 sec'");
  const auto seen = (*provider)->Describe("ledger", "job1");
  ASSERT_TRUE(seen.ok()) << seen.status().ToString();
  ASSERT_EQ(seen->size(), 1U);
  EXPECT_EQ(seen->front().ended_by, EndedBy::kPlatform);
  EXPECT_TRUE(seen->front().refusal);
}

TEST_F(SlurmProviderTest, AJobWhoseEndSlurmForgotIsEndedAgain) {
  const LaunchRequest over = Sent("0123");
  EXPECT_TRUE(state_.Remove(over).ok());
  Write("rows", "5|SUSPENDED|None|1795633025|1795643025|N/A|0|0|n5|stoker-job1.0123|" +
                    SlurmComment(over) + "\n");
  SlurmOptions options;
  options.state_dir = dir_.path();
  const auto provider = MakeSlurmProvider(options, clock_);
  ASSERT_TRUE(provider.ok());
  EXPECT_TRUE((*provider)->Describe("ledger", "job1")->empty()) << "what Slurm said before that";
  for (const auto& mark : *sys::ListDir(dir_.path() + "/slurm/over")) {
    const timespec then[2] = {{1795633000, 0}, {1795633000, 0}};
    const std::string path = dir_.path() + "/slurm/over/" + mark.name;
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), then, 0), 0);
  }
  const auto seen = (*provider)->Describe("ledger", "job1");
  ASSERT_EQ(seen->size(), 1U);
  EXPECT_EQ(seen->front().id, "5.0.0123");
  EXPECT_TRUE((*provider)->Terminate(seen->front().id).ok());
  EXPECT_EQ(Cancelled(), "5\n");
}

// Who asks has heard of the signal, and could not ask Slurm whose it was until now.
TEST_F(SlurmProviderTest, NothingIsAskedForInThePlaceOfWhatAPersonEnded) {
  LaunchRequest first = Sent("0123");
  EXPECT_TRUE(sys::WriteFileAtomic(state_.PathOf(first) + "/started", "5\n", 0600, false).ok());
  state_.Of(first).KeepBegun(WallTime{1795633000000});
  SlurmOptions options;
  options.state_dir = dir_.path();
  options.binary = "/bin/true";
  const auto provider = MakeSlurmProvider(options, clock_);
  ASSERT_TRUE(provider.ok());
  Program("sbatch", "echo '6|PENDING|None|N/A|N/A|N/A|0|0||stoker-job1.4567|x' >>" + dir_.path() +
                        "/rows; echo 6");
  LaunchRequest next = first;
  next.token = "4567";
  const auto listed = [&](const std::string& state) {
    Write("rows", "5|" + state + "|None|1795633000|1795633025|N/A|0|0|n5|stoker-job1.0123|x\n");
  };
  listed("CANCELLED");
  const LaunchAnswer no = (*provider)->Launch(next);
  EXPECT_FALSE(no.refusal());
  EXPECT_EQ(no.status().code(), Code::kUnavailable) << no.status().ToString();
  EXPECT_EQ(state_.Of(next).Job(), 0);
  listed("PREEMPTED");
  const LaunchAnswer yes = (*provider)->Launch(next);
  EXPECT_TRUE(yes.ok()) << yes.status().ToString();
  EXPECT_EQ(state_.Of(next).Job(), 6);
}

TEST_F(SlurmProviderTest, AnIdOfAnOlderStokerIsKnown) {
  const LaunchRequest old = Sent("0123");
  Write("rows", "");
  SlurmOptions options;
  options.state_dir = dir_.path();
  const auto provider = MakeSlurmProvider(options, clock_);
  ASSERT_TRUE(provider.ok());
  EXPECT_TRUE((*provider)->Terminate("6.0").ok());
  EXPECT_FALSE(state_.IsOver(old));
  EXPECT_TRUE((*provider)->Terminate("5.0").ok());
  EXPECT_TRUE(state_.IsOver(old));
}

}  // namespace
}  // namespace stoker
