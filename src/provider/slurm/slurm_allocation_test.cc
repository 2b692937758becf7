// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/slurm_allocation.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

SlurmJobSeen RowOf(std::vector<std::string> states) {
  SlurmJobSeen row;
  row.job = 12;
  row.states = std::move(states);
  row.started = WallTime{1'000'000};
  row.ends = WallTime{1'000'000 + 3'600'000};
  return row;
}

AllocationState StateOf(const SlurmJobSeen& row, int64_t now = 2'000'000) {
  return JudgeAllocation(12, row, WallTime{now}).state;
}

TEST(SlurmAllocation, IsKnownByItsCgroup) {
  EXPECT_EQ(SlurmJobOfCgroup("0::/system.slice/slurmstepd.scope/job_12/step_batch/user/task_0\n"),
            12);
  EXPECT_EQ(SlurmJobOfCgroup("9:devices:/slurm_n1/uid_1000/job_7/step_0\n1:name=systemd:/\n"), 7);
  EXPECT_EQ(SlurmJobOfCgroup("0::/user.slice/user-1000.slice/session-3.scope\n"), std::nullopt);
  EXPECT_EQ(SlurmJobOfCgroup("0::/pbs/job_12\n"), std::nullopt) << "another system's";
  EXPECT_EQ(SlurmJobOfCgroup("0::/slurm/uid_1/job_x/step_0\n"), std::nullopt);
}

TEST(SlurmAllocation, ATieIsAmongTheOptionsOfAJob) {
  const AllocationTie tie{12, true};
  EXPECT_EQ(ParseTie(EncodeTie(tie)), tie);
  EXPECT_EQ(ParseTie("cpus=2 " + EncodeTie({7, false}) + " wait=no"), (AllocationTie{7, false}));
  EXPECT_EQ(ParseTie("cpus=2"), std::nullopt);
  EXPECT_EQ(ParseTie("slurm=0 outlive=yes"), std::nullopt);
}

TEST(SlurmAllocation, EndsWithSlurmsJob) {
  EXPECT_EQ(StateOf(RowOf({"RUNNING"})), AllocationState::kRuns);
  EXPECT_EQ(StateOf(RowOf({"SUSPENDED"})), AllocationState::kRuns);
  EXPECT_EQ(StateOf(RowOf({"CANCELLED", "COMPLETING"})), AllocationState::kEnds);
  EXPECT_EQ(StateOf(RowOf({"COMPLETED"})), AllocationState::kOver);
  EXPECT_EQ(StateOf(RowOf({"PREEMPTED"})), AllocationState::kOver);
  EXPECT_EQ(JudgeAllocation(12, std::nullopt, {}).state, AllocationState::kOver);
  EXPECT_EQ(JudgeAllocation(12, RowOf({"TIMEOUT"}), {}).why,
            "Slurm's job 12: its time limit was over");
  EXPECT_EQ(JudgeAllocation(12, RowOf({"COMPLETED"}), {}).why, "Slurm's job 12: its script ended");
}

TEST(SlurmAllocation, PreemptedMayGoOnInItsGrace) {
  SlurmJobSeen row = RowOf({"RUNNING"});
  row.preempted = true;
  const AllocationSeen seen = JudgeAllocation(12, row, WallTime{2'000'000});
  EXPECT_EQ(seen.state, AllocationState::kEnds);
  EXPECT_EQ(seen.until, row.ends);
}

TEST(SlurmAllocation, EndsAMinuteBeforeItsTimeLimit) {
  const SlurmJobSeen row = RowOf({"RUNNING"});
  EXPECT_EQ(StateOf(row, row.ends.ms - 61'000), AllocationState::kRuns);
  EXPECT_EQ(StateOf(row, row.ends.ms - 60'000), AllocationState::kEnds);
  EXPECT_EQ(JudgeAllocation(12, row, WallTime{2'000'000}).near, row.ends - Duration::Minutes(1));
  SlurmJobSeen brief = row;
  brief.ends = brief.started + Duration::Seconds(60);
  EXPECT_EQ(JudgeAllocation(12, brief, brief.started).near, brief.ends - Duration::Seconds(15));
  SlurmJobSeen endless = row;
  endless.ends = WallTime{};
  EXPECT_EQ(JudgeAllocation(12, endless, WallTime{2'000'000}).near, WallTime{});
}

TEST(SlurmAllocation, WhoIsInsideLaunchesWhileItRuns) {
  const AllocationSeen runs;
  const AllocationSeen over = JudgeAllocation(12, std::nullopt, {});
  for (const bool outlive : {false, true}) {
    const AllocationTie tie{12, outlive};
    EXPECT_TRUE(MayLaunchTied(tie, true, runs).ok());
    EXPECT_EQ(MayLaunchTied(tie, false, runs).code(), Code::kUnavailable) << "it is its computer's";
    EXPECT_EQ(MayLaunchTied(tie, true, over).code(), Code::kUnavailable) << "it is to leave";
    EXPECT_EQ(MayLaunchTied(tie, false, Status(Code::kTimeout, "no answer")).code(),
              Code::kUnavailable);
  }
  EXPECT_EQ(MayLaunchTied({12, false}, false, over).code(), Code::kInvalid) << "it went with it";
  EXPECT_TRUE(MayLaunchTied({12, true}, false, over).ok()) << "it goes on where somebody looks";
  const Status none(Code::kDenied, "there is no squeue");
  EXPECT_TRUE(MayLaunchTied({12, true}, false, none).ok());
  EXPECT_EQ(MayLaunchTied({12, false}, false, none).code(), Code::kInvalid);
}

}  // namespace
}  // namespace stoker
