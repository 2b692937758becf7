// SPDX-License-Identifier: Apache-2.0
#include "controller/teller.h"

#include <gtest/gtest.h>

#include "ledger/index.h"
#include "test/controller/controller_kit.h"

namespace stoker {
namespace {

class TestNotifier : public Notifier {
 public:
  bool Knows(const Job&, const JobSpec&, const NotifySpec& to) override {
    return knows || to.to[0] != '$';
  }
  Status Send(const Job&, const JobSpec&, const NotifySpec& to, const Notification& what) override {
    sent.push_back(what.key + " to " + to.to);
    return answer;
  }
  bool knows = true;
  Status answer;
  std::vector<std::string> sent;
};

class TellerTest : public ControllerTest {
 protected:
  TellerTest() {
    spec_.notify = {{"webhook", "http://a/", {"end", "failure", "interruption", "no_machine"}}};
    text_ = PrintJobSpec(spec_);
    job_ = Submit();
    Pass();
  }
  PassResult Pass(int64_t seconds = 0) {
    clock_.now += seconds * 1000;
    auto observer = Observer();
    if (tells_) observer->TellThrough(notifier_);
    const auto pass = observer->Pass(job_);
    EXPECT_TRUE(pass.ok()) << pass.status().ToString();
    return pass.ok() ? *pass : PassResult{};
  }
  // Its program has ended.
  void End(EndReason reason, int code = 0) {
    NodeReport report;
    report.job = job_;
    report.attempt = 1;
    report.launch = 1;
    report.seq = 1;
    report.incarnation = "a";
    report.phase = NodePhase::kEnded;
    report.end = Ending{reason, code};
    report.end_checked = true;
    report.stderr_tail = "one\ntwo\n";
    EXPECT_TRUE(WriteReport(*ledger_, report).ok());
  }
  bool IsActive() { return store_.Head(paths::Active(job_)).ok(); }
  std::string StateOf(const std::string& key) {
    const auto read = ReadNotified(*ledger_, job_, key, 0);
    return read.ok() ? read->state : "";
  }

  TestNotifier notifier_;
  bool tells_ = true;
  std::string job_;
};

TEST_F(TellerTest, TheEndIsToldOnceAndThenItIsOver) {
  End(EndReason::kCompleted);
  for (int i = 0; i < 5; ++i) Pass(30);
  EXPECT_EQ(notifier_.sent, std::vector<std::string>{"job1-end to http://a/"});
  EXPECT_EQ(StateOf("end"), "sent");
  EXPECT_FALSE(IsActive());
}

TEST_F(TellerTest, WhatMayPassIsTriedAgainForAWhile) {
  End(EndReason::kUserError, 3);
  notifier_.answer = Status(Code::kUnavailable, "a answered 503");
  for (int i = 0; i < 4; ++i) Pass(1);
  EXPECT_EQ(StateOf("end"), "failed");
  EXPECT_TRUE(IsActive()) << "who looks later tells it";
  EXPECT_EQ(notifier_.sent.size(), 1U) << "and waits before";
  Pass(10);
  EXPECT_EQ(notifier_.sent.size(), 2U);
  notifier_.answer = Status::Ok();
  Pass(60);
  EXPECT_EQ(StateOf("end"), "sent");
  Pass(1);
  EXPECT_FALSE(IsActive());
}

TEST_F(TellerTest, WhatWillNotPassIsGivenUp) {
  End(EndReason::kUserError, 3);
  notifier_.answer = Status(Code::kUnavailable, "a answered 503");
  for (int i = 0; i < 12; ++i) Pass(61);
  EXPECT_EQ(StateOf("end"), "given_up");
  EXPECT_FALSE(IsActive());
  notifier_.sent.clear();
  Pass(61);
  EXPECT_TRUE(notifier_.sent.empty());
}

// It may have been taken, and nobody knows: as where there was none.
TEST_F(TellerTest, AnAnswerThatWasCutOffIsNoRefusal) {
  End(EndReason::kCompleted);
  notifier_.answer = Status(Code::kCorrupt, "HTTP: the answer's header is cut off");
  Pass(1);
  EXPECT_EQ(StateOf("end"), "failed");
  notifier_.answer = Status::Ok();
  Pass(10);
  EXPECT_EQ(notifier_.sent, std::vector<std::string>(2, "job1-end to http://a/"));
  EXPECT_EQ(StateOf("end"), "sent");
}

TEST_F(TellerTest, ARefusalIsGivenUpAtOnce) {
  End(EndReason::kCompleted);
  notifier_.answer = Status(Code::kInvalid, "a answered 404");
  for (int i = 0; i < 5; ++i) Pass(30);
  EXPECT_EQ(StateOf("end"), "given_up");
  EXPECT_EQ(ReadNotified(*ledger_, job_, "end", 0)->why, "a answered 404");
  EXPECT_EQ(notifier_.sent.size(), 1U);
  EXPECT_FALSE(IsActive());
}

// Who died between its mark and the answer.
TEST_F(TellerTest, OneThatWasBegunIsTakenOver) {
  End(EndReason::kCompleted);
  tells_ = false;
  Notified mark;
  mark.key = "end";
  mark.state = "sending";
  mark.first = mark.at = clock_.Wall();
  mark.tries = 1;
  ASSERT_TRUE(BeginNotified(*ledger_, job_, mark).ok());
  tells_ = true;
  for (int i = 0; i < 3; ++i) Pass(1);
  EXPECT_TRUE(notifier_.sent.empty());
  EXPECT_TRUE(IsActive());
  Pass(kSendingFor.ms / 1000);
  EXPECT_EQ(notifier_.sent.size(), 1U);
  EXPECT_EQ(ReadNotified(*ledger_, job_, "end", 0)->tries, 2);
}

// What rules that only warn have said is told of the job that goes on.
TEST_F(TellerTest, ARuleThatWarnsIsToldOnce) {
  spec_.stop_when = {{"loss is above 1", true}};
  spec_.notify[0].on = {"end", "rule"};
  text_ = PrintJobSpec(spec_);
  Job job = Record(job_);
  (void)RemoveActive(*ledger_, job_);
  job.id = job_ = "job2";
  job.spec_digest = Sha256Hex(text_);
  job.attempts.clear(), job.launches.clear(), job.requests.clear();
  ASSERT_TRUE(CreateJob(*ledger_, job, text_).ok());
  Pass();
  EXPECT_TRUE(notifier_.sent.empty());
  MetricTotals totals;
  totals.warnings = {"loss is 1.5"};
  ASSERT_TRUE(store_.Put(paths::MetricTotals(job_), EncodeMetricTotals(totals)).ok());
  for (int i = 0; i < 3; ++i) Pass(31);
  EXPECT_EQ(notifier_.sent, (std::vector<std::string>{"job2-rule-1 to http://a/"}));
  totals.warnings.emplace_back("loss is 2.5");
  ASSERT_TRUE(store_.Put(paths::MetricTotals(job_), EncodeMetricTotals(totals)).ok());
  End(EndReason::kCompleted);
  for (int i = 0; i < 5; ++i) Pass(30);
  EXPECT_EQ(notifier_.sent,
            (std::vector<std::string>{"job2-rule-1 to http://a/", "job2-rule-2 to http://a/",
                                      "job2-end to http://a/"}));
  EXPECT_FALSE(IsActive());
}

TEST_F(TellerTest, WhoLacksTheSecretLeavesItToOthersAndItIsGivenUpInTheEnd) {
  spec_.secrets = {{"HOOK", ""}};
  spec_.notify[0].to = "$HOOK";
  text_ = PrintJobSpec(spec_);
  Job job = Record(job_);
  (void)RemoveActive(*ledger_, job_);
  job.id = job_ = "job2";
  job.spec_digest = Sha256Hex(text_);
  job.attempts.clear(), job.launches.clear(), job.requests.clear();
  ASSERT_TRUE(CreateJob(*ledger_, job, text_).ok());
  Pass();
  End(EndReason::kCompleted);
  notifier_.knows = false;
  for (int i = 0; i < 3; ++i) Pass(1);
  EXPECT_EQ(StateOf("end"), "");
  EXPECT_TRUE(IsActive());
  Pass(kKeepTelling.ms / 1000);
  EXPECT_EQ(StateOf("end"), "given_up");
  EXPECT_TRUE(notifier_.sent.empty());
  Pass(1);
  EXPECT_FALSE(IsActive());
}

}  // namespace
}  // namespace stoker
