// SPDX-License-Identifier: Apache-2.0
#include "transfer/sync_plan.h"

#include <gtest/gtest.h>

#include <set>

#include "base/prng.h"
#include "transfer/pace.h"
#include "transfer/transfer.h"

namespace stoker {
namespace {

constexpr int64_t kDay = 86'400'000;

ObjectInfo File(const std::string& key, int64_t size, int64_t ms, const std::string& version) {
  return {key, size, version, {kDay + ms}};
}

std::set<std::string> Copied(const SyncPlan& plan) {
  std::set<std::string> keys;
  for (const ObjectInfo& file : plan.copy) keys.insert(file.key);
  return keys;
}

std::set<std::string> Unsure(const SyncPlan& plan) {
  std::set<std::string> keys;
  for (const UnsurePair& pair : plan.unsure) keys.insert(pair.source.key);
  return keys;
}

TEST(SyncPlan, ComparesSizeThenTime) {
  SideListing source;
  SideListing target;
  source.objects = {File("new", 1, 0, "a"), File("size", 2, 0, "a"), File("older", 3, 10'000, "a"),
                    File("newer", 3, 0, "a")};
  target.objects = {File("size", 3, 99'000, "x"), File("older", 3, 9'000, "x"),
                    File("newer", 3, 9'000, "x")};
  const SyncPlan plan = PlanSync(source, target, {}, {});
  EXPECT_EQ(Copied(plan), (std::set<std::string>{"new", "size"}));
  // Where times are not kept they tell nothing: an older file may have taken its place.
  EXPECT_EQ(Unsure(plan), (std::set<std::string>{"older", "newer"}));
  EXPECT_EQ(plan.same, 0);
  PlanRules times;
  times.target_keeps_times = true;
  EXPECT_EQ(Copied(PlanSync(source, target, {}, times)).count("newer"), 1u);
  target.objects[2].last_modified = source.objects[3].last_modified;
  EXPECT_EQ(Copied(PlanSync(source, target, {}, times)).count("newer"), 0u);
}

TEST(SyncPlan, UpdateLeavesWhatIsNewer) {
  SideListing source;
  SideListing target;
  source.objects = {File("older", 2, 0, "a"), File("newer", 2, 9, "a"), File("same", 2, 5, "a"),
                    File("unsure", 3, 0, "a")};
  target.objects = {File("older", 3, 5, "x"), File("newer", 3, 5, "x"), File("same", 2, 5, "x"),
                    File("unsure", 3, 5, "x")};
  PlanRules rules;
  EXPECT_EQ(Copied(PlanSync(source, target, {}, rules)), (std::set<std::string>{"older", "newer"}));
  rules.update = true;
  SyncPlan plan = PlanSync(source, target, {}, rules);
  EXPECT_EQ(Copied(plan), (std::set<std::string>{"newer"}));
  EXPECT_EQ(Unsure(plan), (std::set<std::string>{"same"})) << "of the same time: not newer";
  EXPECT_EQ(plan.newer, 2);
  rules.doubt_up_to = 3;
  plan = PlanSync(source, target, {}, rules);
  EXPECT_EQ(plan.newer, 0) << "what may be torn is not left for its time";
}

TEST(SyncPlan, OfWhatIsInDoubtTimesTellNothing) {
  SideListing source;
  source.objects = {File("empty", 0, 0, "s"), File("small", 9, 0, "s"), File("known", 9, 0, "s"),
                    File("large", 10, 0, "s")};
  const SideListing target = source;
  PlanRules rules;
  rules.target_keeps_times = true;
  EXPECT_TRUE(PlanSync(source, target, {}, rules).copy.empty());
  rules.doubt_up_to = 9;
  EXPECT_EQ(Copied(PlanSync(source, target, {{"known", {"s", "s"}}}, rules)),
            (std::set<std::string>{"empty", "small"}));
}

TEST(SyncPlan, BelievesWhatWasSeenToBeEqual) {
  SideListing source;
  SideListing target;
  source.objects = {File("f", 3, 10'000, "s1")};
  target.objects = {File("f", 3, 0, "t1")};
  const std::map<std::string, KnownPair> known = {{"f", {"s1", "t1"}}};
  EXPECT_TRUE(PlanSync(source, target, known, {}).copy.empty());
  target.objects[0].version = "t2";
  EXPECT_EQ(PlanSync(source, target, known, {}).unsure.size(), 1u);
  target.objects[0].version = "t1";
  source.objects[0].version = "s2";
  // Written anew with an old date: the memory knows better than the times.
  source.objects[0].last_modified = {0};
  EXPECT_EQ(PlanSync(source, target, known, {}).copy.size(), 1u);
}

TEST(SyncPlan, RemovesNothingThatItDidNotSee) {
  SideListing source;
  SideListing target;
  source.odd = {{"pipe", Status(Code::kInvalid, "a pipe")}};
  target.objects = {File("gone", 1, 0, "x"), File("pipe", 1, 0, "x"), File("mine", 1, 0, "x"),
                    File("../out", 1, 0, "x")};
  PlanRules rules;
  rules.remove = true;
  rules.taken = [](const std::string& key) { return key != "mine"; };
  const SyncPlan some = PlanSync(source, target, {}, rules);
  EXPECT_EQ(some.remove, std::vector<std::string>{"gone"});
  ASSERT_EQ(some.skipped.size(), 2u);
  EXPECT_EQ(some.skipped[1].key, "../out") << "what is not removed is named";
  source.odd.push_back({"locked", Status(Code::kDenied, "no right to read it")});
  const SyncPlan plan = PlanSync(source, target, {}, rules);
  EXPECT_TRUE(plan.incomplete);
  EXPECT_TRUE(plan.remove.empty());
}

TEST(SyncPlan, RefusesNamesThatLeadElsewhere) {
  SideListing source;
  for (const char* key : {"../a", "/a", "a/../b", "a//b", "", "a\nb", "a\x1b[2J", "fine"}) {
    source.objects.push_back(File(key, 1, 0, "x"));
  }
  const SyncPlan plan = PlanSync(source, {}, {}, {});
  EXPECT_EQ(Copied(plan), std::set<std::string>{"fine"});
  EXPECT_EQ(plan.refused.size(), 7u);
}

TEST(SyncPlan, NamesWhatTheOtherSideCannotHold) {
  SideListing source;
  for (const std::string& key : {std::string("a\nb"), std::string("caf\xe9"), std::string(300, 'n'),
                                 "d/" + std::string(256, 'n'), std::string("fine")}) {
    source.objects.push_back(File(key, 1, 0, "x"));
  }
  PlanRules bucket;
  bucket.most_key = 299;
  EXPECT_EQ(Copied(PlanSync(source, {}, {}, bucket)),
            (std::set<std::string>{"fine", "d/" + std::string(256, 'n')}));
  PlanRules folder;
  folder.any_bytes = true;
  folder.most_part = 255;
  const SyncPlan plan = PlanSync(source, {}, {}, folder);
  EXPECT_EQ(Copied(plan), (std::set<std::string>{"fine", "a\nb", "caf\xe9"}));
  for (const OddKey& odd : plan.refused) EXPECT_EQ(odd.why.code(), Code::kInvalid);
}

TEST(SyncPlan, AFileWhereAFolderIsIsNamed) {
  SideListing source;
  for (const char* key : {"a", "a-b", "a/b", "a/b/c", "a0", "b", "c/x"}) {
    source.objects.push_back(File(key, 1, 0, "x"));
  }
  PlanRules rules;
  rules.folders = true;
  rules.target_keeps_times = true;
  const SyncPlan plan = PlanSync(source, {}, {}, rules);
  EXPECT_EQ(Copied(plan), (std::set<std::string>{"a-b", "a/b/c", "a0", "b", "c/x"}));
  EXPECT_EQ(plan.refused.size(), 2u);
  EXPECT_EQ(plan.copy_bytes, 5);
  rules.taken = [](const std::string& key) { return key != "a/b" && key != "a/b/c"; };
  EXPECT_EQ(Copied(PlanSync(source, {}, {}, rules)).count("a"), 1u) << "the others are left out";
}

// Whatever both sides hold: once the plan is carried out, the next one is empty, everything of the
// source is there, and nothing is both copied and removed.
TEST(SyncPlan, ConvergesFromAnyState) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Prng prng(seed);
    std::map<std::string, ObjectInfo> from;
    std::map<std::string, ObjectInfo> to;
    for (auto* side : {&from, &to}) {
      for (int i = 0; i < 30; ++i) {
        const std::string key = "k" + std::to_string(prng.Below(40));
        (*side)[key] = File(key, prng.Between(0, 2), prng.Between(0, 9) * 1000,
                            "v" + std::to_string(prng.Below(3)));
      }
    }
    SideListing source;
    SideListing target;
    for (const auto& [key, file] : from) source.objects.push_back(file);
    for (const auto& [key, file] : to) target.objects.push_back(file);
    PlanRules rules;
    rules.remove = true;
    rules.target_keeps_times = seed % 2 == 0;
    SyncPlan plan = PlanSync(source, target, {}, rules);
    std::map<std::string, KnownPair> known;
    for (const UnsurePair& pair : plan.unsure) {
      if (pair.source.version == pair.target.version) {
        ++plan.same;
        known[pair.source.key] = {pair.source.version, pair.target.version};
      } else {
        plan.copy.push_back(pair.source);
      }
    }
    SortLargeFirst(&plan.copy);
    int64_t last = INT64_MAX;
    for (const ObjectInfo& file : plan.copy) {
      EXPECT_LE(file.size, last);
      last = file.size;
      to[file.key] = file;
      to[file.key].version = "copied";
      known[file.key] = {file.version, "copied"};
    }
    for (const std::string& key : plan.remove) EXPECT_EQ(to.erase(key), 1u);
    EXPECT_EQ(to.size(), from.size());
    EXPECT_EQ(plan.copy.size() + static_cast<size_t>(plan.same), from.size());
    target.objects.clear();
    for (const auto& [key, file] : to) target.objects.push_back(file);
    const SyncPlan next = PlanSync(source, target, known, rules);
    EXPECT_TRUE(next.copy.empty() && next.remove.empty() && next.unsure.empty()) << seed;
  }
}

// A wire that `workers` fill up to `full`.
int Settles(double per_hand, double full, int most) {
  Pace pace(8, most);
  for (int i = 0; i < 200; ++i) {
    const double rate = std::min(per_hand * pace.workers(), full);
    pace.Note(static_cast<int64_t>(rate), 0, 0, Duration::Seconds(1));
    EXPECT_GE(pace.workers(), 1);
    EXPECT_LE(pace.workers(), most);
  }
  return pace.workers();
}

TEST(Pace, TakesAsManyAsTheWireNeeds) {
  EXPECT_GE(Settles(1e6, 1e9, 64), 48);  // far away: all
  EXPECT_LE(Settles(1e8, 2e8, 64), 6);   // two fill it
  EXPECT_GE(Settles(1e7, 3e8, 64), 24);  // thirty fill it
  EXPECT_LE(Settles(1e7, 3e8, 64), 60);
}

TEST(Pace, GivesWayWhenAskedTo) {
  Pace pace(32, 64);
  pace.Note(1'000'000, 0, 5, Duration::Seconds(1));
  EXPECT_EQ(pace.workers(), 16);
  pace.Note(1'000'000, 0, 5, Duration::Seconds(1));  // those that were under way already
  EXPECT_EQ(pace.workers(), 16);
}

TEST(SyncPlan, TheExecutableBitIsADifferenceOfItsOwn) {
  SideListing source;
  source.objects = {File("a", 1, 0, "a"), File("b", 1, 0, "b"), File("c", 1, 0, "c")};
  SideListing target = source;
  source.objects[0].executable = true;
  target.objects[1].executable = true;
  PlanRules rules;
  rules.target_keeps_times = rules.modes = true;
  const SyncPlan plan = PlanSync(source, target, {}, rules);
  EXPECT_TRUE(plan.copy.empty());
  ASSERT_EQ(plan.modes.size(), 2u);
  EXPECT_TRUE(plan.modes[0].key == "a" && plan.modes[0].executable);
  EXPECT_TRUE(plan.modes[1].key == "b" && !plan.modes[1].executable);
  rules.modes = false;
  EXPECT_TRUE(PlanSync(source, target, {}, rules).modes.empty()) << "nor of an object";
}

TEST(SyncPlan, OnlyWhatWouldBeRemovedMakesWay) {
  SideListing source;
  SideListing target;
  source.objects = {File("x/y", 1, 0, "a"), File("d", 1, 0, "a"), File("k", 1, 0, "a")};
  target.objects = {File("x", 1, 0, "x"), File("d/e", 1, 0, "x"), File("k/mine", 1, 0, "x"),
                    File("k/old", 1, 0, "x"), File("mine", 1, 0, "x")};
  target.odd = {{"d/link", Status(Code::kInvalid, "a link")},
                {"closed/x", Status(Code::kDenied, "no")}};
  PlanRules rules;
  EXPECT_FALSE(MayReplace(PlanSync(source, target, {}, rules), "x")) << "nothing is removed";
  rules.remove = true;
  rules.taken = [](const std::string& key) { return key.find("mine") == std::string::npos; };
  const SyncPlan plan = PlanSync(source, target, {}, rules);
  EXPECT_TRUE(MayReplace(plan, "x") && MayReplace(plan, "d") && MayReplace(plan, "empty"));
  EXPECT_FALSE(MayReplace(plan, "k") || MayReplace(plan, "mine") || MayReplace(plan, "closed"));
  source.odd = {{"z", Status(Code::kDenied, "no")}};
  EXPECT_FALSE(MayReplace(PlanSync(source, target, {}, rules), "x")) << "nothing is removed";
}

}  // namespace
}  // namespace stoker
