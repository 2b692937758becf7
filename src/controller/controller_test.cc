// SPDX-License-Identifier: Apache-2.0
// Passes over one job, each by an observer that may have seen nothing before, as a verb or a timer.
#include "controller/controller.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "base/digest.h"
#include "base/text.h"
#include "ledger/looks.h"
#include "ledger/paths.h"
#include "ledger/reports.h"
#include "spec/print.h"
#include "store/forwarding.h"
#include "test/contract/ledger_kit.h"

namespace stoker {
namespace {

// Machines that are there as soon as they are asked for, or refused; counts what it is asked.
class TestProvider : public Provider {
 public:
  explicit TestProvider(std::string name) {
    traits_.name = std::move(name);
    traits_.describe_is_immediate = true;
  }
  const ProviderTraits& traits() const override { return traits_; }
  LaunchAnswer Launch(const LaunchRequest& request) override {
    ++launches;
    asked += "L";
    if (refuses) return *refuses;
    if (!unclear.ok()) return unclear;
    std::vector<std::string> ids;
    for (size_t index = 0; index < request.launches.size(); ++index) {
      InstanceSeen seen;
      seen.launch = request.launches[index];
      seen.id = traits_.name + "-" + std::to_string(seen.launch);
      seen.token = request.token;
      seen.index = static_cast<int>(index);
      seen.state = InstanceState::kRunning;
      machines[seen.id] = seen;
      ids.push_back(seen.id);
    }
    return ids;
  }
  void TakeGangs() { traits_.takes_gangs = true; }
  void ListAtOnce() { traits_.describe_is_immediate = true; }
  Result<InstancesSeen> Describe(const std::string&, const std::string&) override {
    asked += "D";
    if (!answers.ok()) return answers;
    InstancesSeen all;
    for (const auto& [id, seen] : machines) all.push_back(seen);
    all.unheard = unheard;
    return all;
  }
  Status Terminate(const std::string& id) override {
    ended.push_back(id);
    machines.erase(id);
    return Status::Ok();
  }
  Status Interrupt(const std::string&, Duration) override { return Status::Ok(); }

  std::optional<Refusal> refuses;  // unset: it gives
  Status unclear;                  // else: nobody knows whether it has given
  Status answers;                  // of Describe
  std::vector<Unheard> unheard;    // the same
  int launches = 0;
  std::string asked;  // L = Launch, D = Describe
  std::map<std::string, InstanceSeen> machines;
  std::vector<std::string> ended;

 private:
  ProviderTraits traits_;
};

Refusal No(RefusalClass what, const std::string& words) {
  return {what, RefusalScope::kAccount, {}, {}, false, words};
}

class ControllerTest : public testing::Test {
 protected:
  ControllerTest() {
    spec_.name = "train";
    spec_.run = "true";
    text_ = PrintJobSpec(spec_);
  }

  std::string Submit(const std::string& host = "", int nodes = 1) {
    Job job;
    job.num_nodes = nodes;
    job.id = "job1";
    job.name = "train";
    job.user = "ann";
    job.host = host;
    job.spec_digest = Sha256Hex(text_);
    job.created = clock_.Wall();
    EXPECT_TRUE(CreateJob(*ledger_, job, text_).ok());
    return job.id;
  }

  std::unique_ptr<Controller> Observer() {
    auto observer = std::make_unique<Controller>(
        *ledger_,
        [this](const std::string& name) -> Result<Provider*> {
          const auto found = providers_.find(name);
          if (found == providers_.end()) return Status(Code::kInvalid, "no provider " + name);
          return found->second;
        },
        clock_, [this] { return here_; });
    observer->KeepLooks(keeps_looks_);
    return observer;
  }

  // One that lives for a single pass, `seconds` after what was before.
  PassResult Once(const std::string& job, int64_t seconds = 0) {
    clock_.now += seconds * 1000;
    const auto pass = Observer()->Pass(job);
    EXPECT_TRUE(pass.ok()) << pass.status().ToString();
    return pass.ok() ? *pass : PassResult{};
  }

  Job Record(const std::string& job) { return ReadJob(*ledger_, job)->job; }

  StillClock clock_;
  MemoryStore store_{[this] { return clock_.Wall(); }};
  std::unique_ptr<Ledger> ledger_ = std::move(*Ledger::Open(store_, clock_, 1));
  bool keeps_looks_ = false;
  std::string here_;  // the computer that looks
  TestProvider local_{"local"};
  TestProvider other_{"other"};
  std::map<std::string, Provider*> providers_{{"local", &local_}, {"other", &other_}};
  JobSpec spec_;
  std::string text_;
};

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
  local_.ListAtOnce();
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

// ---- a node that says nothing, looked at by observers that look once ----

class QuietNodeTest : public ControllerTest {
 protected:
  QuietNodeTest() {
    job_ = Submit();
    Once(job_);
    Report();
    Once(job_);
    EXPECT_EQ(Record(job_).attempts.front().state, AttemptState::kRunning);
  }

  void Report(std::optional<Notice> notice = {}) {
    NodeReport report;
    report.job = job_;
    report.attempt = 1;
    report.launch = 1;
    report.seq = ++seq_;
    report.incarnation = "a";
    report.phase = NodePhase::kRunning;
    report.notice = notice;
    EXPECT_TRUE(WriteReport(*ledger_, report).ok());
  }
  bool IsKept() { return store_.Head(paths::Looks(job_)).ok(); }
  bool IsLost() { return Record(job_).launches.front().closed; }

  std::string job_;
  int64_t seq_ = 0;
};

TEST_F(QuietNodeTest, IsFoundByATimerAlone) {
  keeps_looks_ = true;
  for (int i = 0; i < 3; ++i) {
    Once(job_, 60);
    EXPECT_TRUE(IsKept());
    EXPECT_FALSE(IsLost()) << i;
  }
  Once(job_, 60);
  EXPECT_TRUE(IsLost());
  Once(job_, 60);
  EXPECT_EQ(local_.ended, std::vector<std::string>{"local-1"});
  Once(job_, 60);
  EXPECT_EQ(Record(job_).attempts.size(), 2U);
}

TEST_F(QuietNodeTest, IsNotSilentForWhoKeepsNothing) {
  for (int i = 0; i < 30; ++i) Once(job_, 60);
  EXPECT_FALSE(IsLost());
  EXPECT_FALSE(IsKept()) << "and who goes on looking writes nothing";
}

TEST_F(QuietNodeTest, NothingIsWrittenWhileItReports) {
  keeps_looks_ = true;
  for (int i = 0; i < 5; ++i) {
    clock_.now += 40'000;
    Report();
    Once(job_, 20);
  }
  EXPECT_FALSE(IsKept());
}

TEST_F(QuietNodeTest, AnHourWithoutLooksIsNoSilence) {
  keeps_looks_ = true;
  Once(job_, 60);
  Once(job_, 60);
  Once(job_, 3600);
  Once(job_, 60);
  EXPECT_FALSE(IsLost());
}

TEST_F(QuietNodeTest, WhatCannotBeReadIsSeenAnew) {
  keeps_looks_ = true;
  ASSERT_TRUE(store_.Put(paths::Looks(job_), "no JSON").ok());
  Once(job_, 60);
  EXPECT_FALSE(IsLost());
  const auto looks = ReadLooks(*ledger_, job_);
  ASSERT_TRUE(looks.ok());
  EXPECT_EQ(looks->nodes.size(), 1U);
}

TEST_F(QuietNodeTest, ANewerStokersMemoryIsNotTouched) {
  keeps_looks_ = true;
  const std::string newer = R"({"format":2,"at":"soon"})";
  ASSERT_TRUE(store_.Put(paths::Looks(job_), newer).ok());
  EXPECT_EQ(Once(job_, 60).trouble->code(), Code::kTooNew);
  EXPECT_EQ(store_.Get(paths::Looks(job_))->data, newer);
}

TEST_F(QuietNodeTest, WhoGoesOnLookingAsksOnce) {
  keeps_looks_ = true;
  auto observer = Observer();
  clock_.now += 50'000;
  ASSERT_TRUE(observer->Pass(job_).ok());
  ASSERT_TRUE(IsKept());
  ASSERT_TRUE(store_.Delete(paths::Looks(job_)).ok());
  for (int i = 0; i < 3; ++i) {
    clock_.now += 10'000;
    ASSERT_TRUE(observer->Pass(job_).ok());
  }
  EXPECT_FALSE(IsKept());
}

TEST_F(QuietNodeTest, IsNotSilentWhileTheStoreWasAwayTwice) {
  auto observer = Observer();
  const auto look = [&](int64_t ms) {
    clock_.now += ms;
    ASSERT_TRUE(observer->Pass(job_).ok());
  };
  look(5'000);
  look(40'000);
  look(4'000);
  look(44'000);
  look(5'000);
  EXPECT_FALSE(IsLost())
      << "nobody heard anything for most of that time, nor could it say anything";
  for (int i = 0; i < 8; ++i) look(10'000);
  EXPECT_TRUE(IsLost());
}

TEST_F(QuietNodeTest, ANoticeIsActedOnBeforeMachinesAreListed) {
  Report(Notice{"terminate", clock_.Wall() + Duration::Minutes(2)});
  local_.asked.clear();
  const PassResult pass = Once(job_);
  EXPECT_EQ(local_.asked, "LD");
  EXPECT_TRUE(pass.changed);
  EXPECT_EQ(pass.job.attempts.size(), 2U);
  EXPECT_EQ(pass.job.attempts[0].state, AttemptState::kDraining);
  EXPECT_EQ(pass.machines.size(), 2U) << "the rest of the pass sees both";
  local_.asked.clear();
  Once(job_);
  EXPECT_EQ(local_.asked, "D") << "it is no news any more";
}

TEST_F(QuietNodeTest, ANoticeWhileTheProviderIsAwayAsksForTheNextAllTheSame) {
  local_.answers = Status(Code::kUnavailable, "away");
  Report(Notice{"terminate", clock_.Wall() + Duration::Minutes(2)});
  EXPECT_TRUE(Once(job_).trouble.has_value());
  EXPECT_EQ(local_.launches, 2);
  EXPECT_EQ(Record(job_).attempts[0].state, AttemptState::kDraining);
}

// Answers lists late, as after a few tries.
class SlowToList : public ForwardingStore {
 public:
  SlowToList(ObjectStore& inner, StillClock& clock) : ForwardingStore(inner), clock_(clock) {}
  Result<Listing> List(const std::string& prefix, const std::string& after = "",
                       int limit = 1000) override {
    clock_.now += 5'000;
    return inner_.List(prefix, after, limit);
  }

 private:
  StillClock& clock_;
};

// Seed 16000116655: what a node had written after it was given up seemed to be of before.
TEST_F(QuietNodeTest, WhenAReportWasWrittenDoesNotDependOnWhenItWasListed) {
  const WallTime written = clock_.Wall();
  Report();
  clock_.now += 10'000;
  SlowToList store(store_, clock_);
  const auto ledger = std::move(*Ledger::Open(store, clock_, 2));
  Controller observer(
      *ledger, [this](const std::string&) -> Result<Provider*> { return &local_; }, clock_);
  const auto pass = observer.Pass(job_);
  ASSERT_TRUE(pass.ok());
  ASSERT_EQ(pass->reports.size(), 1U);
  EXPECT_EQ(pass->store_now - pass->reports[0].age, written);
}

// Takes nothing any more, from nobody.
class FullStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition = {}) override {
    if (full) return Status(Code::kNoSpace, "full");
    return inner_.Put(key, data, condition);
  }
  bool full = true;
};

TEST_F(QuietNodeTest, IsNotSilentWhileNobodyCouldWrite) {
  FullStore store(store_);
  const auto ledger = std::move(*Ledger::Open(store, clock_, 2));
  Controller observer(
      *ledger, [this](const std::string&) -> Result<Provider*> { return &local_; }, clock_);
  const auto look = [&](int times) {
    for (int i = 0; i < times; ++i) {
      clock_.now += 10'000;
      ASSERT_TRUE(observer.Pass(job_).ok());
    }
  };
  look(40);
  store.full = false;
  look(1);
  EXPECT_FALSE(IsLost()) << "it must first have the time to say what it could not";
  look(20);
  EXPECT_TRUE(IsLost()) << "though it had room";
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

}  // namespace
}  // namespace stoker
