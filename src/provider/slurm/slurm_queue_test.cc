// SPDX-License-Identifier: Apache-2.0
// What squeue printed, of several versions, and what follows from it. The samples of 22.05 are as
// it printed them in the lab; those of 23.02 and later are made after its data_parser plugin.
#include "provider/slurm/slurm_queue.h"

#include <gtest/gtest.h>

#include "provider/slurm/slurm_judge.h"

namespace stoker {
namespace {

constexpr char k2205[] = R"({"meta":{"plugin":{"type":"openapi/v0.0.38"},
 "Slurm":{"version":{"major":22,"micro":8,"minor":5},"release":"22.05.8"}},"errors":[],"jobs":[
 {"account":"","job_id":1,"job_state":"RUNNING","name":"stoker-a.ff","nodes":"n[1-2]",
  "comment":"{\"stoker\":1}","end_time":1827044939,"start_time":1795508939,"state_reason":"None",
  "preempt_time":0,"restart_cnt":0,"exit_code":0,"array_task_id":null},
 {"job_id":2,"job_state":"PENDING","name":"x","nodes":"","end_time":0,"start_time":0,
  "state_reason":"PartitionNodeLimit","preempt_time":0,"restart_cnt":1,"exit_code":0}]})";

constexpr char k2311[] = R"({"meta":{"plugin":{"data_parser":"data_parser/v0.0.40"}},"errors":[],
 "warnings":[],"last_backfill":{"set":true,"infinite":false,"number":1},"jobs":[
 {"job_id":1,"job_state":["RUNNING"],"name":"stoker-a.ff","nodes":"n[1-2]",
  "comment":"{\"stoker\":1}","end_time":{"set":true,"infinite":false,"number":1827044939},
  "start_time":{"set":true,"infinite":false,"number":1795508939},"state_reason":"None",
  "preempt_time":{"set":true,"infinite":false,"number":0},"restart_cnt":0,
  "exit_code":{"status":["SUCCESS"],"return_code":{"set":true,"infinite":false,"number":0},
   "signal":{"id":{"set":false,"infinite":false,"number":0},"name":""}}},
 {"job_id":3,"job_state":["CANCELLED","COMPLETING"],"name":"stoker-a.ee","nodes":"n3",
  "end_time":{"set":true,"infinite":false,"number":1795508999},
  "start_time":{"set":true,"infinite":false,"number":1795508939},"state_reason":"None",
  "preempt_time":{"set":false,"infinite":false,"number":0},"restart_cnt":0,
  "exit_code":{"status":["SIGNALED"],"return_code":{"set":false,"infinite":false,"number":0},
   "signal":{"id":{"set":true,"infinite":false,"number":15},"name":"Terminated"}}}]})";

constexpr char kLines[] =
    "1   |RUNNING   |None |1795508939 |1827044939 |N/A |0 |0 |n[1-2] |stoker-a.ff |{\"stoker\":1}  "
    "\n"
    "7_[1-9]|PENDING|Priority|N/A|N/A|N/A|0|0||arr|(null)\n"
    "2|PENDING|PartitionNodeLimit|N/A|N/A|N/A|0|1||x|a|b\n"
    "3|COMPLETING|None|1795508939|1795508999|1795508990|0:53|0|n3|y|(null)\n";

void ExpectTheFirst(const SlurmJobSeen& seen) {
  EXPECT_EQ(seen.job, 1);
  EXPECT_EQ(seen.name, "stoker-a.ff");
  EXPECT_EQ(seen.states, std::vector<std::string>{"RUNNING"});
  EXPECT_EQ(seen.reason, "");
  EXPECT_EQ(seen.started.ms, 1795508939000);
  EXPECT_EQ(seen.ends.ms, 1827044939000);
  EXPECT_EQ(seen.nodes, "n[1-2]");
  EXPECT_EQ(seen.comment, "{\"stoker\":1}");
  EXPECT_FALSE(seen.preempted);
}

TEST(Squeue, JsonOf2205) {
  const auto seen = ParseSqueueJson(k2205);
  ASSERT_TRUE(seen.ok());
  ASSERT_EQ(seen->size(), 2U);
  ExpectTheFirst((*seen)[0]);
  EXPECT_EQ((*seen)[1].reason, "PartitionNodeLimit");
  EXPECT_EQ((*seen)[1].restarts, 1);
}

TEST(Squeue, JsonOfLaterVersions) {
  const auto seen = ParseSqueueJson(k2311);
  ASSERT_TRUE(seen.ok());
  ASSERT_EQ(seen->size(), 2U);
  ExpectTheFirst((*seen)[0]);
  EXPECT_TRUE((*seen)[1].Has("CANCELLED"));
  EXPECT_FALSE((*seen)[1].Ended());
  EXPECT_EQ((*seen)[1].exit_code, 15);
}

TEST(Squeue, Lines) {
  const auto seen = ParseSqueueLines(kLines);
  ASSERT_TRUE(seen.ok());
  ASSERT_EQ(seen->size(), 3U);
  ExpectTheFirst((*seen)[0]);
  EXPECT_EQ((*seen)[1].comment, "a|b");
  EXPECT_EQ((*seen)[1].started.ms, 0);
  EXPECT_EQ((*seen)[1].restarts, 1);
  EXPECT_TRUE((*seen)[2].preempted);
  EXPECT_EQ((*seen)[2].exit_code, 53);
  EXPECT_EQ((*seen)[2].comment, "");
}

TEST(Squeue, NothingElseIsTaken) {
  for (const char* wrong : {"", "[]", "{}", "{\"jobs\":1}", "{\"errors\":[{}],\"jobs\":[]}"}) {
    EXPECT_EQ(ParseSqueueJson(wrong).code(), Code::kCorrupt) << wrong;
  }
  EXPECT_EQ(ParseSqueueLines("slurm_load_jobs error: x\n").code(), Code::kCorrupt);
  EXPECT_EQ(ParseSqueueLines("x|a|b|c|d|e|f|g|h|i|j\n").code(), Code::kCorrupt);
}

TEST(Squeue, NodesOfAList) {
  const auto all = [](const char* list) { return SlurmNodes(list, 10); };
  EXPECT_EQ(all("n1"), std::vector<std::string>{"n1"});
  EXPECT_EQ(all("n[1-2],m07"), (std::vector<std::string>{"n1", "n2", "m07"}));
  EXPECT_EQ(all("g[08-10,12]-x"), (std::vector<std::string>{"g08-x", "g09-x", "g10-x", "g12-x"}));
  EXPECT_EQ(all(""), std::vector<std::string>());
  EXPECT_EQ(SlurmNodes("n[1-1000000]", 3).size(), 3U);
}

SlurmJobSeen Row(int64_t job, std::vector<std::string> states) {
  SlurmJobSeen row;
  row.job = job;
  row.states = std::move(states);
  return row;
}

SlurmVerdict Judged(const SlurmJobSeen& row, int64_t started,
                    std::optional<SlurmEnd> end = std::nullopt) {
  SlurmFound found = FindSlurmJob({row}, started, row.job);
  found.end = std::move(end);
  return JudgeSlurmJob(found);
}

TEST(SlurmJudge, StatesOfAJob) {
  const auto state = [](const char* word, int64_t started) {
    return Judged(Row(5, {word}), started).state;
  };
  EXPECT_EQ(state("PENDING", 0), InstanceState::kQueued);
  EXPECT_EQ(state("CONFIGURING", 0), InstanceState::kBooting);
  EXPECT_EQ(state("RUNNING", 5), InstanceState::kRunning);
  EXPECT_EQ(state("SUSPENDED", 5), InstanceState::kStopped);
  for (const char* end : {"COMPLETED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "CANCELLED",
                          "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY"}) {
    EXPECT_EQ(state(end, 5), InstanceState::kGone) << end;
  }
}

TEST(SlurmJudge, WhoEndedIt) {
  const auto by = [](const SlurmJobSeen& row) { return Judged(row, 5).ended_by; };
  EXPECT_EQ(by(Row(5, {"CANCELLED"})), EndedBy::kOwner);
  EXPECT_EQ(by(Row(5, {"CANCELLED", "COMPLETING"})), EndedBy::kOwner);
  EXPECT_EQ(by(Row(5, {"COMPLETING"})), EndedBy::kOwner);
  EXPECT_EQ(Judged(Row(5, {"CANCELLED", "COMPLETING"}), 5).state, InstanceState::kStopping);
  EXPECT_EQ(by(Row(5, {"PREEMPTED"})), EndedBy::kPlatform);
  EXPECT_EQ(by(Row(5, {"TIMEOUT"})), EndedBy::kPlatform);
  EXPECT_EQ(by(Row(5, {"NODE_FAIL"})), EndedBy::kUnknown);
  SlurmJobSeen late = Row(5, {"COMPLETING"});
  late.reason = "TimeLimit";
  EXPECT_EQ(Judged(late, 5).state, InstanceState::kStopping);
  SlurmJobSeen preempted = Row(5, {"COMPLETING"});
  preempted.preempted = true;
  EXPECT_EQ(Judged(preempted, 5).state, InstanceState::kStopping);
  SlurmJobSeen crashed = Row(5, {"COMPLETING"});
  crashed.exit_code = 9;
  EXPECT_EQ(Judged(crashed, 5).state, InstanceState::kStopping);
  // As a job that is requeued looks while its first run is being ended.
  SlurmJobSeen requeued = Row(5, {"COMPLETING"});
  requeued.restarts = 1;
  EXPECT_EQ(WhoEndedSlurmJob(requeued, {})->by, SlurmEnder::kPlatform);
  // Its script has left by itself, and all ends look like this one for a moment.
  EXPECT_EQ(WhoEndedSlurmJob(Row(5, {"COMPLETING"}), {})->by, SlurmEnder::kOwner);
  EXPECT_FALSE(WhoEndedSlurmJob(Row(5, {"COMPLETING"}), {{}, true}));
  EXPECT_EQ(WhoEndedSlurmJob(Row(5, {"CANCELLED"}), {{}, true})->by, SlurmEnder::kOwner);
  // What stoker ended itself is nobody's cancel.
  const SlurmEnd own{SlurmEnder::kSelf, "ended by stoker"};
  EXPECT_EQ(Judged(Row(5, {"CANCELLED"}), 5, own).ended_by, EndedBy::kUnknown);
  EXPECT_EQ(Judged(Row(5, {"COMPLETING"}), 5, own).state, InstanceState::kStopping);
}

TEST(SlurmJudge, WhatNeverBeganWasRefused) {
  SlurmJobSeen unseen = Row(5, {"FAILED"});
  EXPECT_EQ(Judged(unseen, 0).refusal->what, RefusalClass::kCapacity);
  unseen.exit_code = 4021;  // as 22.05 has it, of an output that cannot be opened
  EXPECT_EQ(Judged(unseen, 0).refusal->what, RefusalClass::kInvalid);
  unseen.exit_code = 65 << 8;
  EXPECT_EQ(Judged(unseen, 0).refusal->what, RefusalClass::kInvalid);
  // sbatch has said no, and Slurm lists a job all the same: asked for again, it would say no again.
  SlurmJobSeen never = Row(5, {"FAILED"});
  never.reason = "BadConstraints";
  EXPECT_EQ(Judged(never, 0).refusal->what, RefusalClass::kInvalid);
  EXPECT_EQ(Judged(Row(5, {"BOOT_FAIL"}), 0).refusal->what, RefusalClass::kCapacity);
  EXPECT_FALSE(Judged(Row(5, {"CANCELLED"}), 0).refusal);
  EXPECT_EQ(Judged(Row(5, {"CANCELLED"}), 0).ended_by, EndedBy::kOwner);
}

TEST(SlurmJudge, ARequeuedJobIsGone) {
  SlurmJobSeen row = Row(5, {"PENDING"});
  row.restarts = 1;
  EXPECT_EQ(Judged(row, 5).state, InstanceState::kGone);
  EXPECT_EQ(Judged(Row(5, {"PENDING"}), 5).state, InstanceState::kGone);
  row.states = {"RUNNING"};
  EXPECT_EQ(Judged(row, 5).state, InstanceState::kGone);
}

// What 22.05 printed of a job that its controller, killed four seconds after it had begun it, knew
// as a waiting one: its nodes were not ready for it a second time, and slurmd cancelled it.
constexpr char kBegan[] =
    "1|RUNNING|None|1795631582|1827167582|N/A|0|0|n[1-2]|stoker-a.ff|(null)\n";
constexpr char kBegunAnew[] =
    "1|RUNNING|None|1795631591|1827167591|N/A|0|0|n[1-2]|stoker-a.ff|(null)\n";
constexpr char kEndsAgain[] =
    "1|COMPLETING|None|1795631591|1795631591|N/A|0|0|n1|stoker-a.ff|(null)\n";
constexpr char kEndedAgain[] =
    "1|CANCELLED|None|1795631591|1795631591|N/A|0|0|n[1-2]|stoker-a.ff|(null)\n";

SlurmVerdict JudgedLine(const char* line, WallTime begun,
                        std::optional<SlurmEnd> end = std::nullopt) {
  SlurmFound found = FindSlurmJob(ParseSqueueLines(line).value(), 1, 1);
  found.traces.begun = begun;
  found.end = std::move(end);
  return JudgeSlurmJob(found);
}

TEST(SlurmJudge, WhatTheControllerLostAndBeganAnewIsNobodysCancel) {
  const WallTime begun{1795631582000};
  for (const char* line : {kBegunAnew, kEndsAgain, kEndedAgain}) {
    EXPECT_EQ(JudgedLine(line, begun).state, InstanceState::kGone) << line;
    EXPECT_EQ(JudgedLine(line, begun).ended_by, EndedBy::kPlatform) << line;
    const SlurmJobSeen row = ParseSqueueLines(line).value().front();
    EXPECT_EQ(WhoEndedSlurmJob(row, {begun})->by, SlurmEnder::kPlatform) << line;
  }
  EXPECT_EQ(JudgedLine(kBegan, begun).state, InstanceState::kRunning);
  // That it was cancelled before is known, or nobody knows when it began.
  const SlurmEnd cancelled{SlurmEnder::kOwner, "it was cancelled"};
  EXPECT_EQ(JudgedLine(kEndedAgain, begun, cancelled).ended_by, EndedBy::kOwner);
  EXPECT_EQ(JudgedLine(kEndedAgain, {}).ended_by, EndedBy::kOwner);
  // A scancel by hand shows when the job began, once.
  EXPECT_EQ(JudgedLine(kEndedAgain, WallTime{1795631591000}).ended_by, EndedBy::kOwner);
}

// What 22.05 printed of a job that has the number of one that its controller had forgotten: that
// one left its node, and slurmctld logged "cancelled by interactive user"; or it was there still,
// and slurmd "Could not launch job 2 and not able to requeue it, cancelling job".
constexpr char kOtherLeft[] =
    "2|CANCELLED|None|1795633024|1795633024|N/A|0|0||stoker-a.ff|(null)\n";
constexpr char kOtherThere[] =
    "2|CANCELLED|None|1795633025|1795633025|N/A|0|0|n5|stoker-a.ff|(null)\n";

TEST(SlurmJudge, WhatWasTakenForAForgottenJobOfItsNumberIsNobodysCancel) {
  for (const char* line : {kOtherLeft, kOtherThere}) {
    SlurmFound found = FindSlurmJob(ParseSqueueLines(line).value(), 0, 2);
    EXPECT_EQ(JudgeSlurmJob(found).ended_by, EndedBy::kOwner) << line;
    found.traces.again = true;
    EXPECT_EQ(JudgeSlurmJob(found).ended_by, EndedBy::kPlatform) << line;
    EXPECT_EQ(JudgeSlurmJob(found).refusal->what, RefusalClass::kCapacity) << line;
  }
  // Another user's may have had the number: the controller began moments before. Nobody's scancel
  // comes that soon.
  SlurmFound found = FindSlurmJob(ParseSqueueLines(kOtherThere).value(), 0, 2);
  EXPECT_TRUE(MayBeRefusedByNodes(found));
  found.controller = found.row->started - Duration::Seconds(5);
  EXPECT_EQ(JudgeSlurmJob(found).ended_by, EndedBy::kPlatform);
  EXPECT_TRUE(JudgeSlurmJob(found).refusal);
  found.controller = found.row->started - Duration::Hours(2);
  EXPECT_EQ(JudgeSlurmJob(found).ended_by, EndedBy::kOwner);
  found.controller = found.row->started - Duration::Seconds(5);
  found.row->ends = found.row->started + Duration::Seconds(3);
  EXPECT_EQ(JudgeSlurmJob(found).ended_by, EndedBy::kOwner);
  EXPECT_FALSE(MayBeRefusedByNodes(FindSlurmJob(ParseSqueueLines(kOtherLeft).value(), 0, 2)));
  // It began the job twice, and nobody has asked it in the first time.
  found = FindSlurmJob(ParseSqueueLines(kEndedAgain).value(), 1, 1);
  found.controller = found.row->started - Duration::Seconds(5);
  EXPECT_EQ(JudgeSlurmJob(found).ended_by, EndedBy::kPlatform);
  // Nor is what the other one's end looks like while it runs; a scancel says so in the end.
  const SlurmTraces again{{}, false, true};
  EXPECT_FALSE(WhoEndedSlurmJob(Row(5, {"COMPLETING"}), again));
  EXPECT_EQ(WhoEndedSlurmJob(Row(5, {"CANCELLED"}), again)->by, SlurmEnder::kOwner);
}

TEST(SlurmJudge, OfTwoJobsOfOneRequestTheFirstCounts) {
  const SlurmJobSeen first = Row(5, {"RUNNING"});
  const SlurmJobSeen second = Row(6, {"PENDING"});
  EXPECT_EQ(FindSlurmJob({second, first}, 0, 6).job, 5);
  EXPECT_EQ(FindSlurmJob({second, first}, 5, 6).live, 5);
  // The first has begun and ended: the second, which waited for it, begins nothing.
  EXPECT_EQ(FindSlurmJob({Row(5, {"COMPLETED"}), second}, 5, 5).live, 0);
  EXPECT_TRUE(FindSlurmJob({Row(5, {"COMPLETED"}), second}, 5, 5).IsOver());
}

TEST(SlurmJudge, WhatSlurmHasForgotten) {
  EXPECT_FALSE(JudgeSlurmJob(FindSlurmJob({}, 0, 0)).there);
  SlurmFound sent = FindSlurmJob({}, 0, 0);
  sent.sending = true;
  EXPECT_EQ(JudgeSlurmJob(sent).state, InstanceState::kRequested);
  EXPECT_EQ(JudgeSlurmJob(FindSlurmJob({}, 0, 7)).ended_by, EndedBy::kOwner);
  SlurmFound young = FindSlurmJob({}, 0, 7);
  young.young = true;
  EXPECT_EQ(JudgeSlurmJob(young).ended_by, EndedBy::kPlatform);
  EXPECT_TRUE(JudgeSlurmJob(young).refusal);
  EXPECT_EQ(JudgeSlurmJob(FindSlurmJob({}, 7, 7)).ended_by, EndedBy::kUnknown);
  SlurmFound told = FindSlurmJob({}, 7, 7);
  told.end = SlurmEnd{SlurmEnder::kOwner, "it was cancelled"};
  EXPECT_EQ(JudgeSlurmJob(told).ended_by, EndedBy::kOwner);
}

// Slurm was asked a moment before the folder learnt of its job: neither a requeue nor a scancel.
TEST(SlurmJudge, AnAnswerThatIsBehindSaysNothing) {
  SlurmFound waits = FindSlurmJob({Row(5, {"PENDING"})}, 5, 5);
  waits.behind = true;
  EXPECT_EQ(JudgeSlurmJob(waits).state, InstanceState::kBooting);
  SlurmFound none = FindSlurmJob({}, 0, 5);
  none.behind = true;
  EXPECT_EQ(JudgeSlurmJob(none).state, InstanceState::kRequested);
  SlurmFound begun = FindSlurmJob({}, 5, 5);
  begun.behind = true;
  EXPECT_EQ(JudgeSlurmJob(begun).state, InstanceState::kRequested);
  // Also that it was requeued is told by a later look.
  SlurmFound restarted = waits;
  restarted.row->restarts = 1;
  EXPECT_EQ(JudgeSlurmJob(restarted).state, InstanceState::kBooting);
  restarted.behind = false;
  EXPECT_EQ(JudgeSlurmJob(restarted).state, InstanceState::kGone);
}

}  // namespace
}  // namespace stoker
