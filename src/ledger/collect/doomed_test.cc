// SPDX-License-Identifier: Apache-2.0
// Two people: one dooms and removes, the other goes on from what is doomed.
#include "ledger/collect/doomed.h"

#include <gtest/gtest.h>

#include "ledger/collect/collect.h"
#include "ledger/index.h"
#include "ledger/paths.h"
#include "ledger/records.h"
#include "store/forwarding.h"
#include "test/contract/ledger_kit.h"

namespace stoker {
namespace {

// Each request may be where somebody else acts, or where the process dies.
class SteppedStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<Object> Get(const std::string& key) override {
    STOKER_TRY(Step());
    return ForwardingStore::Get(key);
  }
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition = {}) override {
    STOKER_TRY(Step());
    return ForwardingStore::Put(key, data, condition);
  }
  Status Delete(const std::string& key) override {
    STOKER_TRY(Step());
    return ForwardingStore::Delete(key);
  }
  Result<Listing> List(const std::string& prefix, const std::string& after, int limit) override {
    STOKER_TRY(Step());
    return ForwardingStore::List(prefix, after, limit);
  }
  int steps = 0;
  int at = -1;  // before this step
  std::function<void()> meanwhile;
  bool dies = false;

 private:
  Status Step() {
    const bool now = steps++ == at;
    if (now && meanwhile) meanwhile();
    if (dies && at >= 0 && steps > at) return Status(Code::kUnavailable, "it was killed");
    return Status::Ok();
  }
};

// A world anew for each step at which something happens.
struct World {
  World() {
    for (const char* id : {"old", "other"}) {
      Job job;
      job.id = id;
      EXPECT_TRUE(CreateJob(*ledger, job, "run: x\n").ok());
      EXPECT_TRUE(MutateJob(*ledger, id, [&](Job& record) -> Result<bool> {
                    record.state = JobState::kFailed;
                    record.ended = now;
                    return true;
                  }).ok());
      EXPECT_TRUE(AppendSummary(*ledger, ReadJob(*ledger, id)->job).ok());
      EXPECT_TRUE(RemoveActive(*ledger, id).ok());
      EXPECT_TRUE(memory.Put(paths::Checkpoints(id) + "manifests/1-1.json", "{}").ok());
      EXPECT_TRUE(memory.Put(paths::Checkpoints(id) + "data/1-1/model", "x").ok());
    }
    now = now + Duration::Hours(48);
  }
  Result<Collected> Collect(Ledger& by) {
    CollectRequest request;
    request.jobs_older_than = Duration::Hours(1);
    return CollectGarbage(by, request);
  }
  // As `retry` does. False: it is told that it is too late.
  bool Retry() {
    const auto spared = Spare(*ledger, {"old"});
    EXPECT_TRUE(spared.ok());
    if (spared->late.contains("old")) return false;
    if (!ReadJob(*ledger, "old").ok()) return false;
    Job next;
    next.id = "next";
    next.retry_of = "old";
    next.promised = "old/1-1";
    return CreateJob(*ledger, next, "run: x\n").ok();
  }
  bool Whole(const std::string& id) {
    return memory.Head(paths::Record(id)).ok() &&
           memory.List(paths::Checkpoints(id))->objects.size() == 2;
  }

  WallTime now{1'767'225'600'000};
  MemoryStore memory{[this] { return now; }};
  StillClock clock;
  std::unique_ptr<Ledger> ledger = *Ledger::Open(memory, clock, 1);
  SteppedStore stepped{memory};
  std::unique_ptr<Ledger> other = *Ledger::Open(stepped, clock, 2);
};

using Ids = std::vector<std::string>;

TEST(DoomedTest, InTwoStepsAnHourApart) {
  World world;
  EXPECT_EQ(world.Collect(*world.ledger)->doomed.jobs, (Ids{"old", "other"}));
  const auto goes = GoesAt(*ReadDoomed(*world.ledger));
  EXPECT_EQ(goes.at("old"), world.now + kDoomedFor);
  world.now = world.now + kDoomedFor + Duration::Ms(-1);
  const auto early = world.Collect(*world.ledger);
  EXPECT_TRUE(early->removed.jobs.empty() && early->doomed.jobs.empty());
  EXPECT_EQ(early->waiting.size(), 2u);
  EXPECT_TRUE(world.Whole("old"));
  world.now = world.now + Duration::Ms(1);
  EXPECT_EQ(world.Collect(*world.ledger)->removed.jobs, (Ids{"old", "other"}));
  EXPECT_TRUE(world.memory.List("jobs/")->objects.empty());
  EXPECT_TRUE(world.memory.List("doomed/")->objects.empty());
  EXPECT_TRUE(ReadIndex(*world.ledger)->jobs.empty());
}

// The other order of the race: `retry` came between looking and dooming, and finds no list.
TEST(DoomedTest, ARecordThatIsWrittenMeanwhileKeepsWhatItGoesOnFrom) {
  World world;
  EXPECT_TRUE(world.Collect(*world.ledger).ok());
  Job next;
  next.id = "next";
  next.retry_of = "old";
  ASSERT_TRUE(CreateJob(*world.ledger, next, "run: x\n").ok());
  world.now = world.now + kDoomedFor;
  const auto collected = world.Collect(*world.ledger);
  EXPECT_EQ(collected->removed.jobs, Ids{"other"});
  EXPECT_EQ(collected->removed.needed, (std::map<std::string, std::string>{{"old", "next"}}));
  EXPECT_TRUE(world.Whole("old"));
}

// Two hours after the list a `gc` and a `retry` meet, at each step of the `gc`.
TEST(DoomedTest, ARetryAtAnyStepOfARemovalIsHeardOrTold) {
  int heard = 0, told = 0;
  for (int at = 0;; ++at) {
    World world;
    ASSERT_TRUE(world.Collect(*world.ledger).ok());
    world.now = world.now + Duration::Hours(2);
    bool retried = false;
    world.stepped.at = world.stepped.steps + at;
    world.stepped.meanwhile = [&] { retried = world.Retry(); };
    const int before = world.stepped.steps;
    ASSERT_TRUE(world.Collect(*world.other).ok());
    if (world.stepped.steps - before <= at) break;
    EXPECT_EQ(retried, world.Whole("old")) << at;
    EXPECT_FALSE(world.Whole("other")) << at;
    (retried ? heard : told)++;
  }
  EXPECT_GT(heard, 3);
  EXPECT_GT(told, 3);
}

TEST(DoomedTest, KilledAtAnyStepTheNextFinishes) {
  for (int at = 0;; ++at) {
    World world;
    world.stepped.at = world.stepped.steps + at;
    world.stepped.dies = true;
    const auto first = world.Collect(*world.other);
    world.stepped.at = -1;
    if (first.ok()) break;
    ASSERT_TRUE(world.Collect(*world.ledger).ok()) << at;
    EXPECT_TRUE(world.Whole("old")) << at;
    EXPECT_TRUE(world.Whole("other")) << at;
  }
  for (int at = 0;; ++at) {
    World world;
    ASSERT_TRUE(world.Collect(*world.ledger).ok());
    world.now = world.now + kDoomedFor;
    world.stepped.at = world.stepped.steps + at;
    world.stepped.dies = true;
    const auto first = world.Collect(*world.other);
    world.stepped.at = -1;
    if (first.ok() && first->removed.index.ok()) break;
    // What it began to remove cannot be gone on from by halves.
    const bool retried = world.Retry();
    ASSERT_TRUE(world.Collect(*world.ledger).ok()) << at;
    EXPECT_EQ(retried, world.Whole("old")) << at;
    EXPECT_TRUE(world.memory.List("doomed/")->objects.empty()) << at;
    EXPECT_TRUE(world.memory.List("jobs/other")->objects.empty()) << at;
    EXPECT_EQ(ReadIndex(*world.ledger)->jobs.size(), retried ? 1u : 0u) << at;
  }
}

TEST(DoomedTest, SparedFromEveryListAndTheRestStays) {
  World world;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(Doom(*world.ledger, world.now, {"old", "other"}, {}, "ann", false).ok());
  }
  ASSERT_TRUE(Doom(*world.ledger, world.now, {"old"}, {}, "bob", false).ok());
  world.now = world.now + Duration::Minutes(59);
  const auto spared = Spare(*world.ledger, {"old", "nobody"});
  EXPECT_EQ(spared->spared, (std::set<std::string>{"old"}));
  EXPECT_TRUE(spared->late.empty());
  EXPECT_EQ(ReadDoomed(*world.ledger)->lists.size(), 2u);
  // Who takes one off does not put off the others.
  world.now = world.now + Duration::Minutes(1);
  EXPECT_EQ(world.Collect(*world.ledger)->removed.jobs, Ids{"other"});
  EXPECT_TRUE(world.Whole("old"));
}

TEST(DoomedTest, AListThatCannotBeReadDoomsNothing) {
  for (const std::string text :
       {"", "x", "{\"format\":1,\"jobs\":[\"../old\"]}", "{\"format\":2,\"jobs\":[\"old\"]}",
        "{\"format\":1,\"jobs\":{\"old\":1}}", "[\"old\"]"}) {
    World world;
    ASSERT_TRUE(world.memory.Put("doomed/x.json", text).ok());
    world.now = world.now + Duration::Hours(24 * 10);
    Survey survey;
    const auto removed = RemoveDue(*world.ledger, {}, &survey);
    ASSERT_TRUE(removed.ok());
    EXPECT_TRUE(removed->jobs.empty()) << text;
    ASSERT_EQ(removed->unread.size(), 1u) << text;
    EXPECT_EQ(Spare(*world.ledger, {"old"})->unread.size(), 1u) << text;
    EXPECT_TRUE(world.memory.Head("doomed/x.json").ok());
    EXPECT_TRUE(world.Whole("old"));
  }
}

TEST(DoomedTest, WhatRunsDoesNotGoWhateverAListSays) {
  World world;
  Job job;
  job.id = "runs";
  ASSERT_TRUE(CreateJob(*world.ledger, job, "run: x\n").ok());
  ASSERT_TRUE(
      Doom(*world.ledger, world.now, {"runs", "old"}, {"records/other.json"}, "", false).ok());
  world.now = world.now + kDoomedFor;
  Survey survey;
  EXPECT_EQ(RemoveDue(*world.ledger, {}, &survey)->jobs, Ids{"old"});
  EXPECT_TRUE(ReadJob(*world.ledger, "runs").ok());
  EXPECT_TRUE(world.Whole("other"));
}

// Somebody who did not look at the lists: an older stoker.
TEST(DoomedTest, AtOnceAndARecordAtTheSameMoment) {
  World world;
  Survey survey;
  ASSERT_TRUE(Recheck(*world.other, {}, &survey).ok());
  world.stepped.at = world.stepped.steps + 1;  // the mark is written
  world.stepped.meanwhile = [&] {
    EXPECT_TRUE(Spare(*world.ledger, {"old"})->late.contains("old"));
    Job next;
    next.id = "next";
    next.retry_of = "old";
    ASSERT_TRUE(CreateJob(*world.ledger, next, "run: x\n").ok());
  };
  const auto removed = RemoveNow(*world.other, {"old", "other"}, {}, &survey);
  EXPECT_EQ(removed->jobs, Ids{"other"});
  EXPECT_EQ(removed->needed, (std::map<std::string, std::string>{{"old", "next"}}));
  EXPECT_TRUE(world.Whole("old"));
}

}  // namespace
}  // namespace stoker
