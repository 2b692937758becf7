// SPDX-License-Identifier: Apache-2.0
#include "ledger/segments/labels.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "store/forwarding.h"
#include "test/kit/memory_store.h"

namespace stoker {
namespace {

// Something happens right before one's own write; what is deleted stays.
class Busy : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition) override {
    if (const auto now = std::exchange(meanwhile, nullptr)) now();
    return ForwardingStore::Put(key, data, condition);
  }
  Status Delete(const std::string& key) override {
    return dies ? Status(Code::kUnavailable, "killed") : ForwardingStore::Delete(key);
  }
  std::function<void()> meanwhile;
  bool dies = false;
};

class LabelsTest : public testing::Test {
 protected:
  void Change(const std::string& job, const std::vector<LabelChange>& changes) {
    const auto said = ChangeLabels({store_}, job, changes, Random());
    ASSERT_TRUE(said.ok()) << said.status().ToString();
  }
  std::string Random() { return "r" + std::to_string(++drawn_); }
  // "name|tag tag|note".
  std::string Said(const std::string& job) {
    const auto all = ReadLabels({store_});
    if (!all.ok()) return all.status().ToString();
    const auto found = all->of.find(job);
    if (found == all->of.end()) return "";
    std::string tags;
    for (const std::string& tag : found->second.tags) tags += (tags.empty() ? "" : " ") + tag;
    return found->second.name + "|" + tags + "|" + found->second.note;
  }
  size_t Segments() { return memory_.List("labels/")->objects.size(); }

  // One second for all: what comes later must count all the same.
  MemoryStore memory_{[] { return WallTime{1'767'225'600'000}; }};
  Busy store_{memory_};
  int drawn_ = 0;
};

TEST_F(LabelsTest, WhatIsSaidLastCounts) {
  Change("a", {Renamed("first"), Tagged("x", true)});
  Change("a", {Tagged("best", true), Noted("two\nlines, \"quoted\"")});
  Change("b", {Tagged("other", true)});
  EXPECT_EQ(Said("a"), "first|best x|two lines, \"quoted\"");
  Change("a", {Renamed("second"), Tagged("x", false), Noted("")});
  EXPECT_EQ(Said("a"), "second|best|");
  Change("a", {Tagged("x", true)});
  EXPECT_EQ(Said("a"), "second|best x|");
  EXPECT_EQ(Said("b"), "|other|");
}

TEST_F(LabelsTest, TwoAtOnceBothHaveTheirWay) {
  store_.meanwhile = [this] { Change("a", {Tagged("hers", true), Renamed("hers")}); };
  Change("a", {Tagged("his", true), Renamed("his")});
  EXPECT_EQ(Said("a"), "his|hers his|") << "of two names at once all see the same one";
}

TEST_F(LabelsTest, AMergeThatDiesLosesNothingAndBringsNothingBack) {
  for (int i = 0; i < 4; ++i) Change("a", {Tagged("x", i % 2 == 0), Noted(std::to_string(i))});
  Change("b", {Tagged("y", true)});
  store_.dies = true;
  EXPECT_FALSE(MergeLabels({store_}, Random(), 2).ok());
  EXPECT_EQ(Segments(), 6u);
  EXPECT_EQ(Said("a"), "||3");
  store_.dies = false;
  EXPECT_TRUE(MergeLabels({store_}, Random(), 2).ok());
  EXPECT_EQ(Segments(), 1u);
  EXPECT_EQ(Said("a"), "||3");
  EXPECT_EQ(Said("b"), "|y|");
}

TEST_F(LabelsTest, WhatIsSaidOfAJobThatIsGoneGoes) {
  Change("a", {Tagged("x", true)});
  Change("b", {Noted("stays")});
  ASSERT_TRUE(DropLabels({store_}, {"a"}, Random()).ok());
  EXPECT_EQ(Said("a"), "");
  EXPECT_EQ(Said("b"), "||stays");
  EXPECT_EQ(Segments(), 1u);
  ASSERT_TRUE(DropLabels({store_}, {"b"}, Random()).ok());
  EXPECT_EQ(Segments(), 0u);
}

TEST_F(LabelsTest, ADamagedSegmentIsNamedLeftOutAndLeftAlone) {
  Change("a", {Tagged("x", true)});
  const std::string key = memory_.List("labels/")->objects[0].key;
  const std::string whole = memory_.Get(key)->data;
  Change("b", {Tagged("y", true)});
  ASSERT_TRUE(memory_.Put(key, whole.substr(0, whole.size() / 2)).ok());
  const auto all = ReadLabels({store_});
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->warnings.size(), 1u);
  EXPECT_NE(all->warnings[0].find(key), std::string::npos) << all->warnings[0];
  EXPECT_EQ(Said("b"), "|y|");
  ASSERT_TRUE(MergeLabels({store_}, Random(), 2).ok());
  ASSERT_TRUE(DropLabels({store_}, {"b"}, Random()).ok());
  ASSERT_TRUE(memory_.Put(key, whole).ok()) << "somebody has put it back";
  EXPECT_EQ(Said("a"), "|x|");
  EXPECT_EQ(Said("b"), "");
}

TEST_F(LabelsTest, LinesOfANewerStokerStay) {
  ASSERT_TRUE(ChangeLabels({store_}, "a", {{"colour", "red"}}, Random()).ok());
  Change("a", {Tagged("x", true)});
  EXPECT_EQ(Said("a"), "|x|");
  ASSERT_TRUE(MergeLabels({store_}, Random(), 2).ok());
  EXPECT_NE(memory_.Get(memory_.List("labels/")->objects[0].key)->data.find("red"),
            std::string::npos);
}

}  // namespace
}  // namespace stoker
