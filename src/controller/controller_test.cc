// SPDX-License-Identifier: Apache-2.0
// Passes over one job, each by an observer that may have seen nothing before, as a verb or a timer.
#include <gtest/gtest.h>

#include "test/controller/controller_kit.h"

namespace stoker {
namespace {

TEST_F(ControllerTest, ARefusalIsActedOnByWhoDidNotHearIt) {
  const std::string job = Submit();
  local_.refuses = No(RefusalClass::kInvalid, "no such machine type: huge");
  EXPECT_TRUE(Once(job).trouble.has_value());
  EXPECT_EQ(Record(job).requests.front().refusal->what, RefusalClass::kInvalid);
  for (int i = 0; i < 6; ++i) Once(job, 60);
  EXPECT_EQ(Record(job).state, JobState::kFailed);
  EXPECT_EQ(Record(job).result->reason, EndReason::kLaunchRefused);
  EXPECT_NE(Record(job).result->why.find("no such machine type: huge"), std::string::npos);
  EXPECT_EQ(local_.launches, 1);
}

TEST_F(ControllerTest, DeniedToTheSubmitterIsTheEnd) {
  const std::string job = Submit();
  local_.refuses = No(RefusalClass::kDenied, "not you");
  auto submitter = Observer();
  submitter->Submitted(job);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(submitter->Pass(job).ok());
  EXPECT_EQ(Record(job).state, JobState::kFailed);
}

TEST_F(ControllerTest, DeniedToAnotherIsItsOwnTrouble) {
  const std::string job = Submit();
  local_.refuses = No(RefusalClass::kDenied, "not you");
  EXPECT_EQ(Once(job).trouble->code(), Code::kDenied);
  EXPECT_FALSE(Record(job).launches.front().closed);
  EXPECT_EQ(Record(job).requests.front().refusal->message, "not you");
  local_.refuses.reset();
  Once(job, 1);
  EXPECT_EQ(local_.launches, 1) << "asked again too soon";
  Once(job, 60);
  EXPECT_EQ(local_.launches, 2);
  EXPECT_EQ(local_.machines.size(), 1U);
}

// Whatever its code, an answer that is no refusal says nothing for the record.
TEST_F(ControllerTest, AnAnswerThatIsNoRefusalLeavesTheRequestOpen) {
  const std::string job = Submit();
  local_.unclear = Status(Code::kInvalid, "half an answer");
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Once(job, 60).trouble.has_value());
  EXPECT_FALSE(Record(job).launches.front().closed);
  EXPECT_FALSE(Record(job).requests.front().refusal.has_value());
}

TEST_F(ControllerTest, WhatATimerHearsOfWhatIsNotYetConsistentBecomesInvalid) {
  const std::string job = Submit();
  local_.refuses = No(RefusalClass::kNotYetConsistent, "Invalid IAM Instance Profile name");
  for (int i = 0; i < 5; ++i) Once(job, 60);
  EXPECT_EQ(Record(job).requests.front().refusal->what, RefusalClass::kNotYetConsistent);
  for (int i = 0; i < 5; ++i) Once(job, 60);
  EXPECT_EQ(Record(job).state, JobState::kFailed);
  EXPECT_EQ(Record(job).result->reason, EndReason::kLaunchRefused);
}

// Each pass is an observer of its own.
TEST_F(ControllerTest, WhoeverLooksActsOnAMachineThatWasBornDead) {
  const std::string job = Submit();
  Once(job);
  InstanceSeen& seen = local_.machines.at("local-1");
  seen.state = InstanceState::kGone;
  seen.freed = true;
  seen.refusal = No(RefusalClass::kCapacity, "Server.InsufficientInstanceCapacity");
  Once(job, 5);
  EXPECT_EQ(Record(job).launches.front().close_reason, CloseReason::kNeverCame);
  EXPECT_EQ(Record(job).requests.front().refusal->what, RefusalClass::kCapacity);
  Once(job, 5);
  EXPECT_EQ(Record(job).requests.size(), 2U);
  EXPECT_EQ(local_.launches, 1) << "it is asked for again after a minute";
  Once(job, 5);
  EXPECT_EQ(Record(job).state, JobState::kWaiting);
  Once(job, 60);
  EXPECT_EQ(local_.launches, 2);
}

TEST_F(ControllerTest, AProviderThatThisProcessDoesNotKnowIsItsOwnTrouble) {
  providers_.erase("local");
  const std::string job = Submit();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Once(job, 30).trouble.has_value());
  EXPECT_FALSE(Record(job).launches.front().closed);
  EXPECT_FALSE(Record(job).requests.front().refusal.has_value());
}

// As a node of a pool, which asks no other box: it would be disturbed all its life.
TEST_F(ControllerTest, WhatIsLeftToOthersIsNoTroubleOfALook) {
  providers_["local"] = nullptr;
  const std::string job = Submit();
  EXPECT_TRUE(Once(job).trouble->transient());  // of the request that it has opened
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(Once(job, 30).trouble.has_value());
  EXPECT_FALSE(Record(job).launches.front().closed);
  EXPECT_FALSE(Record(job).requests.front().refusal.has_value());
  providers_["local"] = &local_;
  Once(job, 30);
  EXPECT_EQ(local_.launches, 1);
}

// A node of a pool asks no box, and looks after its job all the same; who is away leaves it.
TEST_F(ControllerTest, ANodeThatCannotAskItsOwnPlaceLooksAfterItsJob) {
  const std::string job = Submit();
  Once(job);
  providers_["local"] = nullptr;
  NodeReport report;
  report.job = job;
  report.attempt = report.launch = 1;
  report.seq = 1;
  report.incarnation = "a";
  report.phase = NodePhase::kRunning;
  ASSERT_TRUE(WriteReport(*ledger_, report).ok());
  const auto look = [&](const std::string& provider, Controller::From from) {
    const auto observer = Observer();
    observer->AsksOnly(provider, from);
    EXPECT_TRUE(observer->Pass(job).ok());
    return Record(job).attempts.front().state == AttemptState::kRunning;
  };
  EXPECT_FALSE(look("other", Controller::From::kAway));
  EXPECT_TRUE(look("local", Controller::From::kNode));
}

// A job with a machine of each, the first of which is closed.
TEST_F(ControllerTest, EachMachineIsEndedByItsOwnProviderThoughTheOtherIsAway) {
  const std::string job = Submit();
  Once(job);
  ASSERT_TRUE(MutateJob(*ledger_, job, [&](Job& now) -> Result<bool> {
                now.cancel = CancelRequest{now.created, "ann"};
                Request& request = AppendRequest(now, {0});
                request.ask.place.provider = "other";
                request.token = std::string(64, 'b');
                Launch& far = now.launches.back();
                far.closed = true;
                far.close_reason = CloseReason::kLost;
                far.closed_at = now.created;
                return true;
              }).ok());
  InstanceSeen seen;
  seen.id = "other-2";
  seen.token = std::string(64, 'b');
  seen.state = InstanceState::kRunning;
  other_.machines["other-2"] = seen;
  local_.answers = Status(Code::kUnavailable, "local is away");
  EXPECT_TRUE(Once(job).trouble.has_value());
  EXPECT_EQ(other_.ended, std::vector<std::string>{"other-2"});
  EXPECT_TRUE(local_.ended.empty());
}

TEST_F(ControllerTest, APartThatDoesNotAnswerIsNotEmpty) {
  const std::string job = Submit();
  Once(job);
  Once(job, 5);
  local_.machines.clear();
  local_.unheard = {{Place{"local", "", "eu", ""}, Status(Code::kTimeout, "eu does not answer")}};
  const PassResult blind = Once(job, 700);  // it is late by now
  ASSERT_TRUE(blind.trouble.has_value());
  EXPECT_NE(blind.trouble->message().find("eu does not answer"), std::string::npos);
  EXPECT_FALSE(Record(job).launches.front().closed);
  local_.unheard.clear();
  Once(job, 5);
  EXPECT_TRUE(Record(job).launches.front().closed) << "a local machine that is not listed is gone";
}

TEST_F(ControllerTest, AGangIsOneRequestAndEachMachineItsLaunch) {
  local_.TakeGangs();
  spec_.num_nodes = 3;
  text_ = PrintJobSpec(spec_);
  const std::string job = Submit("", 3);
  Once(job);
  EXPECT_EQ(local_.launches, 1);
  EXPECT_EQ(Record(job).requests.size(), 1U);
  const PassResult pass = Once(job);
  ASSERT_EQ(pass.machines.size(), 3U);
  for (const MachineSeen& machine : pass.machines) {
    EXPECT_EQ(machine.instance_id, "local-" + std::to_string(machine.launch));
  }
  EXPECT_EQ(local_.launches, 1);
}

TEST_F(ControllerTest, WhoOnlyLooksChangesNothing) {
  const std::string job = Submit();
  const auto pass = Observer()->Pass(job, false);
  ASSERT_TRUE(pass.ok());
  EXPECT_FALSE(pass->changed);
  EXPECT_TRUE(Record(job).launches.empty());
  EXPECT_EQ(local_.launches, 0);
}

TEST_F(ControllerTest, AJobOfAnotherMachineIsOnlyLookedAt) {
  Once(Submit("elsewhere"));
  EXPECT_EQ(local_.launches, 0);
}

// ---- whose machines a job's are ----

class HostTest : public ControllerTest {
 protected:
  // With these ways to have its machines, submitted on the computer "home".
  std::string SubmitFor(const std::vector<std::string>& providers) {
    Job job;
    job.id = "job1";
    job.name = "train";
    job.spec_digest = Sha256Hex(text_);
    job.created = clock_.Wall();
    for (const std::string& provider : providers) {
      job.offers.emplace_back().ask.place.provider = provider;
    }
    TieToHost(job, kLocalProvider, "home", "/home/ann/bin");
    EXPECT_TRUE(CreateJob(*ledger_, job, text_).ok());
    return job.id;
  }
  PassResult OnceFrom(const std::string& host, const std::string& job, int64_t seconds = 0) {
    here_ = host;
    return Once(job, seconds);
  }
  std::string Text(const std::string& job) { return store_.Get(paths::Record(job))->data; }
};

TEST_F(HostTest, AJobWithoutLocalMachinesIsEverybodys) {
  const std::string job = SubmitFor({"other"});
  EXPECT_EQ(Text(job).find("\"host\""), std::string::npos);
  EXPECT_EQ(Text(job).find("\"path\""), std::string::npos);
  OnceFrom("far", job);
  EXPECT_EQ(other_.launches, 1);
  other_.machines.clear();
  OnceFrom("farther", job, 700);
  EXPECT_EQ(Record(job).launches.front().close_reason, CloseReason::kNeverCame);
}

TEST_F(HostTest, ALocalJobIsItsHostsAlone) {
  const std::string job = SubmitFor({});
  EXPECT_EQ(Record(job).host, "home");
  EXPECT_EQ(Record(job).path, "/home/ann/bin");
  EXPECT_FALSE(OnceFrom("far", job).trouble.has_value());
  EXPECT_TRUE(Record(job).launches.empty());
  OnceFrom("home", job);
  EXPECT_EQ(local_.launches, 1);
  EXPECT_EQ(OnceFrom("far", job).machines.size(), 0U) << "it cannot see them";
}

TEST_F(HostTest, ACancelFromElsewhereEndsWhatNobodyHasBegun) {
  const std::string job = SubmitFor({});
  ASSERT_TRUE(CancelInRecord(*ledger_, job, "eve").ok());
  OnceFrom("far", job);
  EXPECT_EQ(Record(job).state, JobState::kCancelled);
  OnceFrom("home", job);
  EXPECT_EQ(local_.launches, 0);
}

// It stands in its line there, or was ended before it had said anything, and nobody there looks.
TEST_F(HostTest, ACancelFromElsewhereDoesNotWaitForAMachineThatSaysNothing) {
  const std::string job = SubmitFor({});
  OnceFrom("home", job);
  ASSERT_EQ(local_.launches, 1);
  ASSERT_TRUE(CancelInRecord(*ledger_, job, "eve").ok());
  for (int i = 0; i < 3; ++i) OnceFrom("far", job, 5);
  EXPECT_EQ(Record(job).state, JobState::kStopping) << "it may be about to say something";
  for (int i = 0; i < 3; ++i) OnceFrom("far", job, 10);
  EXPECT_EQ(Record(job).state, JobState::kCancelled);
  EXPECT_TRUE(Record(job).launches.front().closed) << "one that comes yet ends itself";
}

// Of its local machines, others know nothing, and so do nothing; of all else, everything.
TEST_F(HostTest, OfAJobThatMayGoElsewhereTooOnlyWhatIsLocalIsItsHosts) {
  const std::string job = SubmitFor({"local", "other"});
  EXPECT_EQ(Record(job).host, "home");
  OnceFrom("far", job);
  EXPECT_EQ(Record(job).requests.front().ask.place.provider, "local");
  EXPECT_EQ(local_.launches, 0);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(OnceFrom("far", job, 60).changed);
  OnceFrom("home", job);
  EXPECT_EQ(local_.launches, 1);
  local_.machines.clear();
  local_.refuses = No(RefusalClass::kCapacity, "full");
  OnceFrom("home", job, 60);
  for (int i = 0; i < 2; ++i) OnceFrom("far", job, 5);
  EXPECT_EQ(other_.launches, 1) << "anybody goes on where there is room";
  EXPECT_EQ(local_.launches, 2);
}

// A node of one provider, of a job that may have machines of two.
TEST_F(ControllerTest, WhoMayAskOneProviderAloneDoesNotAskTheOther) {
  Job submitted;
  submitted.id = "job1";
  submitted.name = "train";
  submitted.spec_digest = Sha256Hex(text_);
  submitted.created = clock_.Wall();
  for (const char* provider : {"local", "other"}) {
    submitted.offers.emplace_back().ask.place.provider = provider;
  }
  ASSERT_TRUE(CreateJob(*ledger_, submitted, text_).ok());
  Once(submitted.id);
  ASSERT_EQ(local_.launches, 1);
  local_.refuses = No(RefusalClass::kCapacity, "full");
  local_.machines.clear();
  const auto node = Observer();
  node->AsksOnly("local");
  for (int i = 0; i < 3; ++i) {
    clock_.now += 700'000;
    const auto pass = node->Pass(submitted.id);
    ASSERT_TRUE(pass.ok());
  }
  EXPECT_EQ(other_.launches, 0);
  for (const Request& request : Record(submitted.id).requests) {
    EXPECT_EQ(request.ask.place.provider, "local");
  }
  Once(submitted.id);
  EXPECT_EQ(other_.launches, 1) << "who may ask there does";
}

// A vault that does not let go of the job's values, and then does.
TEST_F(ControllerTest, AJobWhoseSecretsAreLeftIsNotPutAway) {
  Job submitted;
  submitted.id = "job1";
  submitted.name = "train";
  submitted.spec_digest = Sha256Hex(text_);
  submitted.created = clock_.Wall();
  submitted.secrets_in = {Place{"local", "", "", ""}};
  submitted.cancel.emplace().at = clock_.Wall();
  ASSERT_TRUE(CreateJob(*ledger_, submitted, text_).ok());
  const auto observer = Observer();
  int asked = 0;
  Result<bool> answer = Status(Code::kDenied, "no right to remove");
  observer->ForgetWith([&](const Job&, const JobSpec&) { return ++asked, answer; });
  const auto pass = [&](int64_t later_ms) {
    clock_.now += later_ms;
    const auto done = observer->Pass(submitted.id);
    EXPECT_TRUE(done.ok());
    return done.ok() && done->trouble ? done->trouble->ToString() : "";
  };
  EXPECT_NE(pass(0).find("its secrets still lie in the vault"), std::string::npos);
  EXPECT_NE(pass(1'000).find("no right to remove"), std::string::npos) << "said, not asked again";
  EXPECT_EQ(asked, 1);
  const auto active = [&] { return store_.Head(paths::Active(submitted.id)).ok(); };
  (void)pass(60'000);
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(active());
  answer = false;  // the rest is another's
  EXPECT_EQ(pass(60'000), "");
  EXPECT_TRUE(active());
  answer = true;
  for (int i = 0; i < 3 && active(); ++i) (void)pass(60'000);
  EXPECT_FALSE(active());
  EXPECT_EQ(asked, 4);
}

}  // namespace
}  // namespace stoker
