// SPDX-License-Identifier: Apache-2.0
// A reconciler that lives for one run: what it may ask for, whose turn it is, what it costs.
#include <gtest/gtest.h>

#include "controller/away/away_look.h"
#include "controller/away/bound_for_test.h"
#include "test/controller/controller_kit.h"

namespace stoker {
namespace {

class AwayBroker : public Broker {
 public:
  explicit AwayBroker(Provider& machines) : machines_(machines) {}
  const BrokerTraits& traits() const override { return traits_; }
  Result<Provider*> Machines() override { return &machines_; }
  Result<std::vector<Offer>> Resolve(const OfferAsk&) override { return std::vector<Offer>(); }
  Result<Holdings> List(const LedgerRef&, const std::string&, bool) override {
    ++sweeps;
    return Holdings();
  }
  int sweeps = 0;

 private:
  Provider& machines_;
  const BrokerTraits traits_{"local", "Toy", "machines of Toy", {}};
};

class AwayTest : public ControllerTest {
 protected:
  AwayCall Call(const std::string& instance = "") {
    AwayCall call;
    call.id = "call" + std::to_string(++calls_);
    call.instance = instance;
    call.version = "1";
    call.bound = SmallBound();
    call.understand = [this](const Ask&) -> Result<AskedMachine> { return asked_; };
    call.left = [this] {
      left_ = left_ - each_;
      return left_;
    };
    return call;
  }
  AwayReport Look(const std::string& instance = "") {
    const auto report = LookAway(*ledger_, broker_, clock_, Call(instance));
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return report.value_or(AwayReport());
  }
  void IsCutOff(int number, Duration each);
  AwayNote Note() { return ReadAway(*ledger_, "local")->note; }
  // A machine of the ledger, which no job of it asked for.
  void Stands(const std::string& id, const std::string& job = "another") {
    InstanceSeen seen;
    seen.id = id;
    seen.token = "token-" + id;
    seen.ledger_id = ledger_->id();
    seen.job = job;
    seen.state = InstanceState::kRunning;
    seen.type = "small";
    local_.machines[id] = seen;
  }

  AwayBroker broker_{local_};
  AskedMachine asked_ = Small();
  Duration left_ = Duration::Seconds(100);
  Duration each_;  // so much of it is over each time that it is asked
  int calls_ = 0;
};

TEST_F(AwayTest, AsksForTheMachineOfAJobThatHasNone) {
  Submit();
  const AwayReport report = Look();
  EXPECT_EQ(local_.machines.size(), 1U);
  EXPECT_EQ(report.active, 1);
  EXPECT_EQ(report.passed, 1);
  EXPECT_GE(report.changed, 1);
  EXPECT_TRUE(report.troubles.empty()) << report.troubles.front();
  EXPECT_EQ(Note().turn, "");
  EXPECT_EQ(Note().asked.size(), 1U);
  EXPECT_NE(Note().did.find("1 of 1 looked at"), std::string::npos) << Note().did;
}

TEST_F(AwayTest, ARecordThatAsksBeyondTheBoundIsRefusedInWords) {
  const std::string job = Submit();
  asked_.type = "large";
  const AwayReport report = Look();
  EXPECT_EQ(local_.launches, 0);
  ASSERT_FALSE(report.troubles.empty());
  const std::optional<Refusal> refusal = Record(job).requests.front().refusal;
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->what, RefusalClass::kDenied);
  EXPECT_FALSE(refusal->final) << "others may have more rights";
  EXPECT_NE(refusal->message.find("the type large"), std::string::npos) << refusal->message;
  Once(job, 120);
  EXPECT_EQ(local_.launches, 1) << "a command asks all the same";
}

TEST_F(AwayTest, WhatTheLedgerHasAlreadyCounts) {
  Submit();
  Stands("a");
  Stands("b");
  Look();
  EXPECT_EQ(local_.launches, 0);
  local_.machines.erase("a");
  clock_.now += 120'000;
  Look();
  EXPECT_EQ(local_.launches, 1);
}

TEST_F(AwayTest, SixtyFourAtOnceAreRefused) {
  local_.TakeGangs();
  const std::string job = Submit("", 64);
  Look();
  EXPECT_EQ(local_.launches, 0);
  EXPECT_NE(Record(job).requests.front().refusal->message.find("64 more"), std::string::npos);
}

// Lists of clouds show what was made seconds ago only later.
TEST_F(AwayTest, WhatWasAskedForAMomentAgoCountsThoughNoListShowsIt) {
  Submit();
  auto read = *ReadAway(*ledger_, "local");
  read.note.asked = {{"unseen", 2, clock_.Wall()}};
  ASSERT_TRUE(WriteAway(*ledger_, "local", read).ok());
  Look();
  EXPECT_EQ(local_.launches, 0);
  clock_.now += 11 * 60'000;
  Look();
  clock_.now += 2 * 60'000;
  Look();
  EXPECT_EQ(local_.launches, 1);
}

TEST_F(AwayTest, APlaceThatDoesNotAnswerMayHoldAny) {
  Submit();
  local_.unheard = {{Place{"local", "", "there", ""}, Status(Code::kUnavailable, "silent")}};
  Look();
  EXPECT_EQ(local_.launches, 0);
}

TEST_F(AwayTest, AnotherStoreIsNotOpenedForIt) {
  const std::string job = Submit();
  Look();
  LaunchRequest request;
  request.token = "t";
  request.launches = {1};
  request.store_url = "s3://elsewhere";
  BoundUse use;
  use.bound = SmallBound();
  use.now = [this] { return clock_.Wall(); };
  use.store_url = ledger_->store().url();
  use.understand = [](const Ask&) -> Result<AskedMachine> { return Small(); };
  const auto bound = BindProvider(local_, ledger_->id(), std::move(use));
  const auto answer = bound->Launch(request);
  ASSERT_TRUE(answer.refusal().has_value());
  EXPECT_NE(answer.refusal()->message.find("s3://elsewhere"), std::string::npos);
}

// Tokens stand in records: whoever writes one may name that of machines in another place.
TEST_F(AwayTest, ATokenLeavesOutOnlyWhatTheRequestWouldBeAnsweredWith) {
  BoundUse use;
  use.bound = SmallBound();
  use.now = [this] { return clock_.Wall(); };
  use.understand = [](const Ask&) -> Result<AskedMachine> { return Small(); };
  std::vector<AwayAsked> asked;
  use.asked_before = [&] { return asked; };
  use.drop = [&](const std::string& what) {
    std::erase_if(asked, [&](const AwayAsked& one) { return one.what == what; });
  };
  use.keep = [&](const std::string& what, int machines) {
    std::erase_if(asked, [&](const AwayAsked& one) { return one.what == what; });
    asked.push_back({what, machines, {}});
    return Status::Ok();
  };
  const auto bound = BindProvider(local_, ledger_->id(), std::move(use));
  LaunchRequest request;
  request.token = "t";
  request.job = "job1";
  request.ask.place = {"local", "", "here", ""};
  request.launches = {1, 2};
  const auto refused = [&] {
    const auto before = local_.machines;  // the toy would make more of them
    const bool no = bound->Launch(request).refusal().has_value();
    local_.machines = before;
    return no;
  };
  for (const char* id : {"a", "b"}) {
    Stands(id, "job1");
    local_.machines[id].token = "t";
    local_.machines[id].index = id[0] - 'a';
    local_.machines[id].place = {"local", "", "here", "here-a"};
  }
  EXPECT_FALSE(refused()) << "sent again, it makes none more";
  request.ask.place.zone = "here-a";
  EXPECT_FALSE(refused());
  asked.clear();  // it may be cleared by whoever writes to the bucket
  request.ask.place.zone = "here-b";
  EXPECT_TRUE(refused());
  request.ask.place = {"local", "", "there", ""};
  EXPECT_TRUE(refused());
  request.ask.place.region = "here";
  request.job = "job2";
  EXPECT_TRUE(refused());
  // Nor while no list shows them.
  local_.machines.clear();
  request.job = "job1";
  EXPECT_FALSE(refused());
  request.ask.place.region = "there";
  EXPECT_TRUE(refused());
}

// Others ask, too, and lists are behind.
TEST_F(AwayTest, WhatRecordsTellCountsThoughNoListShowsIt) {
  BoundUse use;
  use.bound = SmallBound();
  use.now = [this] { return clock_.Wall(); };
  use.understand = [](const Ask&) -> Result<AskedMachine> { return Small(); };
  use.asked_before = [] { return std::vector<AwayAsked>(); };
  use.keep = [](const std::string&, int) { return Status::Ok(); };
  std::vector<AwayRecorded> recorded;
  use.recorded = [&]() -> Result<std::vector<AwayRecorded>> { return recorded; };
  LaunchRequest request;
  request.job = "job1";
  request.token = "t";
  request.launches = {1};
  const std::string other = AskedKey("job2", request.ask.place, "u");
  recorded = {{other, 0}, {other, 1}};
  const auto bound = BindProvider(local_, ledger_->id(), std::move(use));
  EXPECT_TRUE(bound->Launch(request).refusal().has_value());
  // One of them is listed, and gone.
  Stands("a", "job2");
  local_.machines["a"].token = "u";
  local_.machines["a"].place = request.ask.place;
  local_.machines["a"].state = InstanceState::kGone;
  EXPECT_TRUE(bound->Launch(request).ok());
}

// The function may not send a gang's request, which its submitter has sent a moment before: its
// machines are in no list yet, and whoever sent it has not written what it heard.
TEST_F(AwayTest, WhatWasDeniedToTheFunctionCountsWhileAnotherMayHaveGotIt) {
  Job gang;
  gang.id = "job0";
  gang.name = "train";
  gang.num_nodes = 3;
  gang.spec_digest = Sha256Hex(text_);
  gang.created = clock_.Wall();
  ASSERT_TRUE(CreateJob(*ledger_, gang, text_).ok());
  Once(gang.id);
  const int sent = local_.launches;
  local_.machines.clear();
  const auto denied = MutateJob(*ledger_, gang.id, [&](Job& now) -> Result<bool> {
    for (Launch& launch : now.launches) launch.instance_id.clear();
    for (Request& request : now.requests) {
      request.opened = clock_.Wall();
      request.not_after = clock_.Wall() + Duration::Minutes(20);
      request.tries = 2;
      request.next_try = clock_.Wall() + Duration::Minutes(10);
      request.refusal = No(RefusalClass::kDenied, "beyond the bound");
      request.refusal->at = clock_.Wall();
    }
    return true;
  });
  ASSERT_TRUE(denied.ok());
  const std::string job = Submit();
  Look();
  EXPECT_EQ(local_.launches, sent);
  for (int i = 0; i < 3; ++i) {
    clock_.now += 70'000;
    Look();
  }
  EXPECT_EQ(local_.launches, sent + 1) << "by then a list would show them";
}

// Whoever writes a record writes also what ends its machines where nobody looks.
TEST_F(AwayTest, AMachineThatNothingWouldEndIsRefused) {
  BoundUse use;
  use.bound = SmallBound();
  use.now = [this] { return clock_.Wall(); };
  use.understand = [](const Ask&) -> Result<AskedMachine> { return Small(); };
  use.asked_before = [] { return std::vector<AwayAsked>(); };
  use.keep = [](const std::string&, int) { return Status::Ok(); };
  const auto bound = BindProvider(local_, ledger_->id(), std::move(use));
  LaunchRequest request;
  request.token = "t";
  request.launches = {1};
  request.limit = Duration::Hours(24);
  request.not_after = clock_.Wall() + Duration::Minutes(10);
  EXPECT_TRUE(bound->Launch(request).ok());
  request.limit = Duration::Hours(24) + Duration::Ms(1);
  auto answer = bound->Launch(request);
  ASSERT_TRUE(answer.refusal().has_value());
  EXPECT_EQ(answer.refusal()->what, RefusalClass::kDenied);
  EXPECT_NE(answer.refusal()->message.find("nothing ends"), std::string::npos);
  request.limit = Duration::Hours(24);
  request.not_after = clock_.Wall() + Duration::Hours(2);
  EXPECT_TRUE(bound->Launch(request).refusal().has_value());
}

// Its owner has made it, of a type that the function may not ask for.
TEST_F(AwayTest, AMachineOfAnotherTypeIsNotStarted) {
  BoundUse use;
  use.bound = SmallBound();
  use.now = [this] { return clock_.Wall(); };
  std::vector<AwayAsked> asked;
  use.asked_before = [&] { return asked; };
  use.keep = [](const std::string&, int) { return Status::Ok(); };
  const auto bound = BindProvider(local_, ledger_->id(), std::move(use));
  Stands("a");
  local_.machines["a"].state = InstanceState::kStopped;
  const auto denied = [&] { return bound->Start("a").refusal().has_value(); };
  EXPECT_FALSE(denied());
  local_.machines["a"].type = "large";
  EXPECT_TRUE(denied());
  local_.machines["a"].type = "";
  EXPECT_TRUE(denied());
  local_.machines["a"].type = "small";
  Stands("b");
  EXPECT_FALSE(denied());
  Stands("c");
  EXPECT_TRUE(denied()) << "two have power";
  local_.machines.erase("c");
  asked = {{"a", 1, {}}};
  EXPECT_FALSE(denied()) << "this one, started a moment ago";
}

TEST_F(AwayTest, AnInstallMeanwhileTakesNoTurnAway) {
  Submit();
  AwayCall call = Call();
  bool noted = false;
  call.understand = [&](const Ask&) -> Result<AskedMachine> {
    auto read = *ReadAway(*ledger_, "local");
    read.note.bound = "wider";
    noted = WriteAway(*ledger_, "local", read).ok();
    return asked_;
  };
  const auto report = LookAway(*ledger_, broker_, clock_, call);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_TRUE(noted);
  EXPECT_EQ(local_.launches, 1);
  EXPECT_EQ(Note().turn, "");
  EXPECT_EQ(Note().bound, "wider");
}

TEST_F(AwayTest, WhatAnotherRunTookStaysItsOwn) {
  Submit();
  AwayCall call = Call();
  call.understand = [&](const Ask&) -> Result<AskedMachine> {
    auto read = *ReadAway(*ledger_, "local");
    read.note.turn = "another";
    EXPECT_TRUE(WriteAway(*ledger_, "local", read).ok());
    return asked_;
  };
  EXPECT_FALSE(LookAway(*ledger_, broker_, clock_, call).ok());
  EXPECT_EQ(local_.launches, 0);
  EXPECT_EQ(Note().turn, "another");
}

// Lambda may deliver one event twice.
TEST_F(AwayTest, ACallThatComesTwiceHasTwoTurns) {
  Submit();
  AwayCall call = Call();
  call.understand = [&](const Ask&) -> Result<AskedMachine> {
    auto read = *ReadAway(*ledger_, "local");
    read.note.turn_until = read.note.turn_until + Duration::Ms(1);
    EXPECT_EQ(read.note.turn, call.id);
    EXPECT_TRUE(WriteAway(*ledger_, "local", read).ok());
    return asked_;
  };
  EXPECT_FALSE(LookAway(*ledger_, broker_, clock_, call).ok());
  EXPECT_EQ(local_.launches, 0);
}

TEST_F(AwayTest, WhatWasRefusedDoesNotCount) {
  Submit();
  local_.refuses = Refusal{RefusalClass::kCapacity, RefusalScope::kZone, {}, {}, false, "full"};
  Look();
  EXPECT_GE(local_.launches, 1);
  EXPECT_TRUE(Note().asked.empty()) << Note().asked.front().what;
}

TEST_F(AwayTest, OneRunAtATime) {
  Submit();
  auto read = *ReadAway(*ledger_, "local");
  read.note.turn = "somebody";
  read.note.turn_until = clock_.Wall() + Duration::Seconds(60);
  ASSERT_TRUE(WriteAway(*ledger_, "local", read).ok());
  EXPECT_TRUE(LookAway(*ledger_, broker_, clock_, Call()).status().Is(Code::kBusy));
  EXPECT_EQ(local_.launches, 0);
  clock_.now += 61'000;  // it has died
  Look();
  EXPECT_EQ(local_.launches, 1);
}

TEST_F(AwayTest, AnEventOfItsOwnMachineIsAPassOverThatJobAlone) {
  Submit();
  Look();
  InstanceSeen& machine = local_.machines.begin()->second;
  machine.job = "job1";
  const AwayReport report = Look(machine.id);
  EXPECT_EQ(report.what, "job job1");
}

TEST_F(AwayTest, ForeignEventsCostOnePassInHalfAMinute) {
  Submit();
  Look();
  for (int i = 0; i < 20; ++i) {
    EXPECT_NE(Look("i-foreign").what.find("not of this ledger"), std::string::npos);
  }
  const auto version = ReadAway(*ledger_, "local")->version;
  clock_.now += 31'000;
  EXPECT_EQ(Look("i-foreign").what, "all jobs");
  EXPECT_NE(ReadAway(*ledger_, "local")->version, version);
}

TEST_F(AwayTest, AnEventWhileAPlaceIsSilentIsALookAtAllJobs) {
  Submit();
  local_.unheard = {{Place{"local", "", "there", ""}, Status(Code::kUnavailable, "silent")}};
  EXPECT_EQ(Look("i-whose").what, "all jobs");
  EXPECT_TRUE(LookAway(*ledger_, broker_, clock_, Call("i-whose")).status().transient())
      << "one in half a minute";
}

TEST_F(AwayTest, SweepsEachQuarterOfAnHour) {
  Look();
  EXPECT_EQ(broker_.sweeps, 1);
  clock_.now += 5 * 60'000;
  Look();
  EXPECT_EQ(broker_.sweeps, 1);
  clock_.now += 10 * 60'000;
  Look();
  EXPECT_EQ(broker_.sweeps, 2);
}

TEST_F(AwayTest, BeginsNothingWhenItsTimeNears) {
  Submit();
  left_ = Duration::Seconds(10);
  const AwayReport report = Look();
  EXPECT_EQ(report.left, 1);
  EXPECT_EQ(local_.launches, 0);
  EXPECT_EQ(broker_.sweeps, 0);
  EXPECT_NE(Told(report).find("1 left"), std::string::npos);
}

TEST_F(AwayTest, TheNextRunBeginsWhereTheTimeWasOver) {
  std::vector<std::string> waiting;
  for (int n = 1; n <= 8; ++n) waiting.push_back(Submit("", 1, "job" + std::to_string(n)));
  for (int run = 0; run < 8 && !waiting.empty(); ++run) {
    left_ = Duration::Seconds(20);
    each_ = Duration::Seconds(1);
    const AwayReport report = Look();
    EXPECT_GT(report.left, 0);
    EXPECT_EQ(Note().after, *report.after);
    const size_t before = waiting.size();
    std::erase_if(waiting, [&](const auto& job) { return !Record(job).attempts.empty(); });
    EXPECT_LT(waiting.size(), before) << "these had their turn before";
    clock_.now += 5 * 60'000;
  }
  EXPECT_TRUE(waiting.empty());
  EXPECT_GT(broker_.sweeps, 0) << "looks leave time for it";
  each_ = Duration();
  left_ = Duration::Seconds(100);
  EXPECT_EQ(Look().left, 0);
  EXPECT_EQ(Note().after, "");
}

// A run that dies before it begins its job number `number` (from 1), `each` after the one before.
void AwayTest::IsCutOff(int number, Duration each) {
  AwayCall call = Call();
  int asked = -1;  // its turn asks once
  call.left = [&asked, number, each, this] {
    if (++asked == number) throw std::runtime_error("killed");
    if (asked > 0) clock_.now += each.ms;
    return Duration::Seconds(200);
  };
  EXPECT_THROW((void)LookAway(*ledger_, broker_, clock_, call), std::runtime_error);
  clock_.now += 5 * 60'000;
}

TEST_F(AwayTest, ARunThatIsCutOffIsGoneOnWith) {
  for (int n = 1; n <= 6; ++n) Submit("", 1, "job" + std::to_string(n));
  Look();
  clock_.now += 60'000;
  IsCutOff(7, Duration::Seconds(15));
  const std::string noted = Note().after;
  EXPECT_GT(noted, "job1") << "it has noted one of those that it began";
  EXPECT_NE(Note().turn, "");
  const AwayReport report = Look();
  ASSERT_FALSE(report.troubles.empty());
  const std::string said = "cut off in its middle; this one begins behind " + noted;
  EXPECT_NE(report.troubles.front().find(said), std::string::npos) << report.troubles.front();
  EXPECT_EQ(report.passed, 6);
  EXPECT_EQ(Note().cut_off, 0);
  EXPECT_TRUE(Look().troubles.empty());
}

TEST_F(AwayTest, AJobThatEndsEachRunLeavesTheOthersTheirTurn) {
  for (int n = 1; n <= 6; ++n) Submit("", 1, "job" + std::to_string(n));
  std::set<std::string> begun;
  for (int run = 0; run < 40; ++run) {
    IsCutOff(2, Duration::Seconds(30));  // the job after the first
    begun.insert(Note().after);
    clock_.now += 1'000;
  }
  EXPECT_EQ(begun.size(), 6U);
  EXPECT_EQ(broker_.sweeps, 10) << "nor does a sweep come before them each time";
}

TEST_F(AwayTest, WhatANewerStokerWroteIsLeftAloneAndSaid) {
  const std::string job = Submit();
  const std::string key = paths::Record(job);
  std::string text = store_.Get(key)->data;
  const std::string newer = "\"format\":99";
  text.replace(text.find("\"format\":"), std::string("\"format\":2").size(), newer);
  ASSERT_TRUE(store_.Put(key, text).ok());
  const AwayReport report = Look();
  EXPECT_EQ(report.passed, 0);
  ASSERT_FALSE(report.troubles.empty());
  EXPECT_NE(report.troubles.front().find("newer stoker"), std::string::npos);
  EXPECT_EQ(store_.Get(key)->data, text);
  ASSERT_TRUE(store_.Put(paths::Away("local"), R"({"format": 7})").ok());
  EXPECT_TRUE(LookAway(*ledger_, broker_, clock_, Call()).status().Is(Code::kTooNew));
}

TEST(WhereToTake, ANamedRegionIsThatAlone) {
  AwayNote note;
  note.where = "here";
  const std::vector<std::string> noted = {"far", "there"};
  EXPECT_EQ(WhereToTake("", noted, note).regions,
            (std::vector<std::string>{"far", "here", "there"}));
  EXPECT_TRUE(WhereToTake("", noted, note).shared);
  EXPECT_EQ(WhereToTake("here", noted, note).regions, std::vector<std::string>{"here"});
  EXPECT_TRUE(WhereToTake("here", noted, note).shared);
  EXPECT_TRUE(WhereToTake("there", noted, AwayNote()).shared);
  EXPECT_FALSE(WhereToTake("there", noted, note).shared) << "the function that runs acts as it";
}

TEST(WhereToTake, ANoteOfAProjectIsFoundByItsRegion) {
  AwayNote note;
  note.where = "first.here";
  EXPECT_EQ(WhereToTake("here", {}, note).regions, std::vector<std::string>{"first.here"});
  EXPECT_TRUE(WhereToTake("here", {}, note).shared);
  EXPECT_EQ(WhereToTake("ere", {}, note).regions, std::vector<std::string>{"ere"});
  EXPECT_FALSE(WhereToTake("ere", {}, note).shared);
  EXPECT_TRUE(IsSamePlace("here", "first.here")) << "as notes of before had it";
  EXPECT_FALSE(IsSamePlace("first.here", "second.here"));
}

TEST_F(AwayTest, MembersThatItDoesNotKnowStay) {
  ASSERT_TRUE(store_.Put(paths::Away("local"), R"({"format": 1, "later": [1]})").ok());
  Look();
  EXPECT_NE(store_.Get(paths::Away("local"))->data.find("\"later\":[1]"), std::string::npos);
}

}  // namespace
}  // namespace stoker
