// SPDX-License-Identifier: Apache-2.0
#include "ledger/index.h"

#include <gtest/gtest.h>

#include "ledger/records.h"
#include "test/contract/ledger_kit.h"
#include "test/kit/any_summary.h"

namespace stoker {
namespace {

TEST(Summary, RoundTrips) {
  Prng prng(1);
  std::vector<Summary> all;
  for (int i = 0; i < 500; ++i) {
    all.push_back(AnySummary(prng, i));
    const auto back = DecodeSummary(EncodeSummary(all.back()));
    ASSERT_TRUE(back.has_value()) << EncodeSummary(all.back());
    ASSERT_EQ(*back, all.back());
  }
  std::vector<Summary> read;
  ASSERT_TRUE(DecodeSegment("k", EncodeSegment(all), &read).ok());
  EXPECT_EQ(read, all);
  EXPECT_TRUE(DecodeSegment("k", EncodeSegment({}), &read).ok());
}

TEST(Summary, NewerEntriesAreIgnoredAndGarbageRefused) {
  Prng prng(2);
  const Summary one = AnySummary(prng, 1);
  std::string line = EncodeSummary(one);
  line.insert(line.size() - 1, ",\"new\",17");
  EXPECT_EQ(DecodeSummary(line), one);
  for (const char* bad : {"", "[", "[]", "{}", "[1]", "[\"a\"", "[\"../x\",1]"}) {
    EXPECT_FALSE(DecodeSummary(bad).has_value()) << bad;
  }
}

TEST(Summary, AnyDamageToASegmentIsSeen) {
  Prng prng(3);
  std::vector<Summary> all;
  for (int i = 0; i < 20; ++i) all.push_back(AnySummary(prng, i));
  const std::string good = EncodeSegment(all);
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    const size_t at = prng.Below(bad.size());
    if (prng.Chance(1, 3))
      bad.resize(at);
    else if (prng.Chance(1, 2))
      bad.erase(at, 1 + prng.Below(300));
    else
      bad[at] = static_cast<char>(bad[at] ^ (1 << prng.Below(8)));
    std::vector<Summary> read;
    const Status decoded = DecodeSegment("k", bad, &read);
    // A damaged format number may look newer.
    ASSERT_TRUE(decoded.Is(Code::kCorrupt) || decoded.Is(Code::kTooNew)) << bad;
    EXPECT_TRUE(read.empty());
  }
}

TEST(Summary, TellsAJobInShort) {
  Job job;
  job.id = "j1";
  job.name = "bad\x1b[31m\nname" + std::string(300, 'x');
  AppendRequest(job, {0});
  auto& first = job.attempts.emplace_back();
  first.number = 1;
  first.state = AttemptState::kEnded;
  first.running = WallTime{5};
  first.run_ms = 10;
  first.newest_checkpoint = "1-step";
  first.ending = Ending{EndReason::kInterrupted, 0, 0, false, 0, ""};
  auto& second = job.attempts.emplace_back();
  second.number = 2;
  second.running = WallTime{50};
  second.run_ms = 7;
  const Summary s = SummaryOf(job);
  EXPECT_EQ(s.attempts, 2);
  EXPECT_EQ(s.started, WallTime{5});
  EXPECT_EQ(s.run_ms, 17);
  EXPECT_EQ(s.reason, EndReason::kInterrupted);
  EXPECT_EQ(s.newest_checkpoint, "1-step");
  EXPECT_EQ(s.name.substr(0, 7), "badname");
  EXPECT_EQ(s.name.size(), 200u);
  EXPECT_EQ(s.remark, "") << "it goes on";
  EXPECT_EQ(DecodeSummary(EncodeSummary(s)), s);
}

TEST(Summary, AJobIsWhereItHasBegun) {
  Job job;
  job.id = "abcdefgh";
  AppendRequest(job, {0}).ask.place.provider = "local";
  EXPECT_EQ(SummaryOf(job).provider, "local") << "where it was asked for first";
  auto& first = job.attempts.emplace_back();
  first.number = 1;
  first.launches = {1};
  first.state = AttemptState::kRunning;
  AppendRequest(job, {0}).ask.place.provider = "slurm";
  auto& moving = job.attempts.emplace_back();
  moving.number = 2;
  moving.launches = {2};
  EXPECT_EQ(SummaryOf(job).provider, "local") << "it may still be refused there";
  job.attempts[1].state = AttemptState::kStaging;
  EXPECT_EQ(SummaryOf(job).provider, "slurm");
  job.attempts[1].not_needed = true;
  job.attempts[1].state = AttemptState::kEnded;
  job.attempts[1].ending = Ending{};
  job.attempts[1].ending->reason = EndReason::kCancelled;
  EXPECT_EQ(SummaryOf(job).provider, "local") << "the move came to nothing";
  EXPECT_EQ(SummaryOf(job).reason, EndReason::kNone) << "the job runs";
}

TEST(Summary, RemarksWhatAnEndedJobHasNotKept) {
  Job job;
  job.id = "abcdefgh";
  job.state = JobState::kSucceeded;
  auto& attempt = job.attempts.emplace_back();
  EXPECT_EQ(SummaryOf(job).remark, "");
  attempt.missing_outputs = {"model.pt", "runs/*"};
  attempt.trouble = "'out/pipe' is not kept: no file";
  const Summary s = SummaryOf(job);
  EXPECT_EQ(s.remark, "declared and never came: model.pt, runs/*; 'out/pipe' is not kept: no file");
  EXPECT_EQ(s.unkept, 0);
  EXPECT_EQ(DecodeSummary(EncodeSummary(s)), s);
}

TEST(Summary, TellsOfTheAttemptThatDidTheWork) {
  Job job;
  job.id = "abcdefgh";
  job.state = JobState::kSucceeded;
  auto& worked = job.attempts.emplace_back();
  worked.number = 1;
  worked.unkept = 2;
  worked.unkept_in = "/home/me/unsaved";
  auto& withdrawn = job.attempts.emplace_back();
  withdrawn.number = 2;
  withdrawn.not_needed = true;
  const Summary s = SummaryOf(job);
  EXPECT_EQ(s.attempts, 1);
  EXPECT_EQ(s.unkept, 2);
  EXPECT_EQ(s.remark, "what is not kept lies in /home/me/unsaved");
  EXPECT_EQ(DecodeSummary(EncodeSummary(s)), s);
  job.state = JobState::kRunning;
  EXPECT_EQ(SummaryOf(job).unkept, 0) << "it goes on";
}

TEST(Summary, NamesWhatIsNewerThanTheNewestCheckpoint) {
  Job job;
  job.id = "abcdefgh";
  job.state = JobState::kFailed;
  auto& first = job.attempts.emplace_back();
  first.number = 1;
  first.as_left = "as-left-1";
  EXPECT_EQ(SummaryOf(job).remark, "") << "it is what the next one begins from";
  first.newest_checkpoint = "1-4";
  first.left_newer_ms = 192'000;
  const std::string said =
      "its program left as-left-1, which is 3m 12s newer than checkpoint 1-4: stoker run --from "
      "abcdefgh/as-left";
  EXPECT_EQ(SummaryOf(job).remark, said);
  job.attempts.emplace_back().number = 2;
  EXPECT_EQ(SummaryOf(job).remark, said) << "the second saved nothing";
  job.attempts.back().newest_checkpoint = "2-1";
  EXPECT_EQ(SummaryOf(job).remark, "");
  job.attempts.resize(1);
  job.attempts[0].newest_checkpoint.clear();
  job.attempts[0].restore = "otherjob/1-3";
  EXPECT_NE(SummaryOf(job).remark.find("newer than checkpoint otherjob/1-3"), std::string::npos);
}

TEST(Summary, NoReasonStandsBesideWhatRuns) {
  Job job;
  job.id = "abcdefgh";
  auto& lost = job.attempts.emplace_back();
  lost.number = 1;
  lost.state = AttemptState::kEnded;
  lost.ending = Ending{EndReason::kInterrupted, 0, 9, false, -1, ""};
  job.attempts.emplace_back().number = 2;
  job.state = JobState::kRunning;
  EXPECT_EQ(SummaryOf(job).reason, EndReason::kNone);
  EXPECT_EQ(SummaryOf(job).signal, 0);
  job.state = JobState::kWaiting;
  EXPECT_EQ(SummaryOf(job).reason, EndReason::kInterrupted) << "why it waits";
}

TEST(Summary, OfAnOlderStokerHasNoHost) {
  Summary s;
  s.id = "abcdefgh";
  s.host = "machine";
  const std::string line = EncodeSummary(s);
  EXPECT_EQ(DecodeSummary(line), s);
  const std::string old = line.substr(0, line.rfind(",\"machine\"")) + "]";
  s.host = "";
  EXPECT_EQ(DecodeSummary(old), s);
}

}  // namespace
}  // namespace stoker
