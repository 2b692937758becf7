// SPDX-License-Identifier: Apache-2.0
#include "agent/mirror/log_mirror.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ledger/log/log_codec.h"
#include "test/kit/memory_store.h"

namespace stoker {
namespace {

class HandClock : public Clock {
 public:
  MonoTime Mono() override { return MonoTime{now}; }
  WallTime Wall() override { return WallTime{now}; }
  int64_t now = 1'000'000;
};

// Takes each call as a whole; `answers`: how the next ones end.
class TakingCloud : public CloudLog {
 public:
  enum class Answer { kGood, kLost, kAway, kDenied, kGone, kWrong };
  const char* title() const override { return "the cloud"; }
  CloudLogLimits limits() const override { return {1 << 20, 26, 3, Duration::Hours(24)}; }
  Result<std::string> Prepare() override {
    ++prepared;
    return std::string(prepared == 1 ? "it is there now" : "");
  }
  Result<std::string> Append(const std::vector<CloudLine>& lines) override {
    Answer answer = Answer::kGood;
    if (!answers.empty()) {
      answer = answers.front();
      answers.pop_front();
    }
    const bool bad = std::any_of(lines.begin(), lines.end(),
                                 [](const CloudLine& line) { return line.text == "bad"; });
    if (answer == Answer::kGood && bad) answer = Answer::kWrong;
    ++calls;
    switch (answer) {
      case Answer::kAway:
        return Status(Code::kUnavailable, "it is away");
      case Answer::kDenied:
        return Status(Code::kDenied, "no right");
      case Answer::kGone:
        return Status(Code::kNotFound, "no such stream");
      case Answer::kWrong:
        return Status(Code::kInvalid, "these are wrong");
      default:
        break;
    }
    taken.insert(taken.end(), lines.begin(), lines.end());
    if (answer == Answer::kLost) return Status(Code::kTimeout, "no answer");
    return std::string();
  }
  Result<bool> Stands(const std::vector<CloudLine>& lines) override {
    ++asked;
    return taken.size() >= lines.size() &&
           std::equal(lines.begin(), lines.end(),
                      taken.end() - static_cast<std::ptrdiff_t>(lines.size()));
  }
  std::vector<std::string> Texts() const {
    std::vector<std::string> out;
    for (const CloudLine& line : taken) out.push_back(line.text);
    return out;
  }
  int prepared = 0, asked = 0, calls = 0;
  std::deque<Answer> answers;
  std::vector<CloudLine> taken;
};
using Answer = TakingCloud::Answer;

class LogMirrorTest : public testing::Test {
 protected:
  LogMirrorTest() { Begin(); }

  // As an agent that is started again.
  void Begin() {
    MirrorMemory memory;
    memory.read = [this]() -> Result<std::string> {
      if (kept_.empty()) return Status(Code::kNotFound, "none");
      return kept_;
    };
    memory.write = [this](const std::string& text) {
      kept_ = text;
      return Status::Ok();
    };
    mirror_ =
        std::make_unique<LogMirror>(store_, clock_, LogPlace{"job", 1, 0}, cloud_, memory,
                                    [this](const std::string& line) { said_ += line + "\n"; });
  }

  void Write(const std::vector<std::string>& texts) {
    LogCompressor packed;
    for (const std::string& text : texts) {
      ASSERT_TRUE(packed.Add(RecordHeader(WallTime{1000 + end_}, LogStream::kOut, false)).ok());
      ASSERT_TRUE(packed.Add(text + "\n").ok());
    }
    const auto lines = static_cast<int64_t>(texts.size());
    ASSERT_TRUE(store_.Put(SegmentKey("job", 1, 0, end_, lines), *packed.Finish()).ok());
    end_ += lines;
  }

  // Until it has nothing to do; so long as it says so, at most.
  void Run(int most = 20) {
    for (int step = 0; step < most; ++step) {
      const auto next = mirror_->Step(end_);
      if (!next) return;
      clock_.now = std::max(clock_.now, next->ms);
    }
  }

  MemoryStore store_;
  HandClock clock_;
  TakingCloud cloud_;
  std::string kept_, said_;
  int64_t end_ = 1;
  std::unique_ptr<LogMirror> mirror_;
};

TEST_F(LogMirrorTest, EachLineGoesOnceInOrder) {
  Write({"a", "", "c", "d"});
  Run();
  EXPECT_EQ(cloud_.Texts(), (std::vector<std::string>{"a", " ", "c", "d"}));
  Write({"e"});
  Run();
  EXPECT_EQ(cloud_.taken.back().number, 5);
  EXPECT_EQ(cloud_.taken.size(), 5U);
  EXPECT_EQ(said_, "stoker: it is there now\n");
  EXPECT_EQ(ParseMirrorPosition(kept_)->next, 6);
}

TEST_F(LogMirrorTest, AnAnswerThatWasLostCostsNoSecondLine) {
  Write({"a", "b", "c", "d"});
  cloud_.answers = {Answer::kLost, Answer::kAway};
  Run();
  EXPECT_EQ(cloud_.Texts(), (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(cloud_.asked, 2) << "after the lost one, and after the one that nobody got";
}

TEST_F(LogMirrorTest, AnAgentThatDiesBetweenTwoInstructionsGoesOn) {
  Write({"a", "b", "c", "d", "e"});
  cloud_.answers = {Answer::kLost};
  (void)mirror_->Step(end_);
  Begin();
  Run();
  EXPECT_EQ(cloud_.Texts(), (std::vector<std::string>{"a", "b", "c", "d", "e"}));
  // What was taken and answered, but not written down.
  kept_ = PrintMirrorPosition({4, WallTime{1001}, 2});
  Begin();
  Run();
  EXPECT_EQ(cloud_.taken.size(), 5U);
}

TEST_F(LogMirrorTest, WhatWasSentIsToldAsAWholeHoweverItIsReadAgain) {
  Write({"a"});
  Write({"b"});
  cloud_.answers = {Answer::kLost};
  (void)mirror_->Step(end_);
  const auto sent = ParseMirrorPosition(kept_)->sent;
  EXPECT_EQ(sent, 2);
  Begin();
  Run();
  EXPECT_EQ(cloud_.Texts(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(LogMirrorTest, AnOutageIsSaidOnceAndCaughtUp) {
  Write({"a"});
  cloud_.answers.assign(30, Answer::kAway);
  Run(10);
  EXPECT_NE(mirror_->trouble().find("it is away"), std::string::npos);
  Write({"b", "c"});
  Run(60);
  EXPECT_EQ(cloud_.Texts(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(mirror_->trouble(), "");
  EXPECT_EQ(std::count(said_.begin(), said_.end(), '\n'), 3) << said_;
  EXPECT_NE(said_.find("lines reach the cloud again"), std::string::npos) << said_;
}

TEST_F(LogMirrorTest, ARightThatLacksIsSaidAtOnceAndAskedForRarely) {
  Write({"a"});
  cloud_.answers = {Answer::kDenied};
  const auto next = mirror_->Step(end_);
  EXPECT_NE(said_.find("from line 1 on, lines do not reach the cloud: no right"), std::string::npos)
      << said_;
  ASSERT_TRUE(next);
  EXPECT_GE(next->ms - clock_.now, 60'000);
}

TEST_F(LogMirrorTest, WhatIsDeletedThereIsMadeAgainAndALineThatIsNeverTakenIsSaid) {
  Write({"a", "b", "bad", "d", "e"});
  cloud_.answers = {Answer::kGone};
  Run();
  EXPECT_EQ(cloud_.prepared, 2);
  EXPECT_EQ(cloud_.Texts(), (std::vector<std::string>{"a", "b", "d", "e"}));
  EXPECT_NE(said_.find("does not take lines 3-3, and they are left out there"), std::string::npos)
      << said_;
}

TEST_F(LogMirrorTest, WhereNoLineIsTakenEachIsNotTriedAlone) {
  Write(std::vector<std::string>(302, "bad"));
  Write({"good"});
  Run(200);
  EXPECT_EQ(cloud_.Texts(), std::vector<std::string>{"good"});
  EXPECT_LT(cloud_.calls, 130) << "three to a call, as many as go into one";
}

TEST(CloudLines, AreUtf8NotEmptyAndNeverGoBackInTime) {
  LogRecord record;
  record.line = 7;
  record.time = WallTime{5};
  record.text = "a\xff\xc3\xa9\xed\xa0\x80 z";
  const CloudLine line = CloudLineOf(record, WallTime{9});
  EXPECT_EQ(line.text, "a\xEF\xBF\xBD\xc3\xa9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD z");
  EXPECT_EQ(line.time.ms, 9);
  record.text.clear();
  EXPECT_EQ(CloudLineOf(record, WallTime{}).text, " ");
}

TEST(CloudLines, ACallKeepsEachLimit) {
  const CloudLogLimits limits{100, 10, 4, Duration::Seconds(5)};
  const auto lines = [](std::initializer_list<std::pair<int64_t, size_t>> all) {
    std::deque<CloudLine> out;
    for (const auto& [ms, bytes] : all) {
      out.push_back({1, WallTime{ms}, LogStream::kOut, std::string(bytes, 'x')});
    }
    return out;
  };
  EXPECT_EQ(CloudBatch({}, limits), 0U);
  EXPECT_EQ(CloudBatch(lines({{0, 90}}), limits), 1U);
  EXPECT_EQ(CloudBatch(lines({{0, 40}, {0, 40}}), limits), 2U);
  EXPECT_EQ(CloudBatch(lines({{0, 40}, {0, 41}}), limits), 1U);
  EXPECT_EQ(CloudBatch(lines({{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}}), limits), 4U);
  EXPECT_EQ(CloudBatch(lines({{0, 1}, {5000, 1}, {5001, 1}}), limits), 2U);
  EXPECT_EQ(CloudBatch(lines({{0, 1000}, {0, 1}}), limits), 1U) << "one at least";
}

TEST(CloudLines, APlaceIsReadAsItWasWritten) {
  const MirrorPosition place{42, WallTime{1763739845123}, 3};
  EXPECT_EQ(*ParseMirrorPosition(PrintMirrorPosition(place)), place);
  for (const char* wrong : {"", "1 2", "0 1 2", "a b c", "1 2 3 4", "1 2 -3"}) {
    EXPECT_FALSE(ParseMirrorPosition(wrong).ok()) << wrong;
  }
}

// At a node's end.
TEST_F(LogMirrorTest, WhoHurriesWaitsForNothingButWhatMayHaveBeenTaken) {
  Write({"a"});
  cloud_.answers = {Answer::kDenied, Answer::kLost};
  const auto later = mirror_->Step(end_);
  ASSERT_TRUE(later.has_value());
  EXPECT_GE(later->ms, clock_.now + 60'000);
  mirror_->Hurry();
  const auto listed = mirror_->Step(end_);  // and is lost
  ASSERT_TRUE(listed.has_value());
  EXPECT_EQ(cloud_.taken.size(), 1U);
  mirror_->Hurry();
  EXPECT_EQ(mirror_->Step(end_)->ms, clock_.now + 5'000);
  EXPECT_EQ(cloud_.asked, 0) << "it may not be listed yet";
  clock_.now += 5'000;
  EXPECT_FALSE(mirror_->Step(end_).has_value());
  EXPECT_EQ(cloud_.Texts(), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace stoker
