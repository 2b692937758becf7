// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"

#include <gtest/gtest.h>

#include <set>

namespace stoker {
namespace {

TEST(Job, AHostIsOfJobsWithLocalMachinesAlone) {
  const auto tied = [](const std::vector<std::string>& offers, const std::string& provider) {
    Job job;
    job.id = "abcd";
    for (const std::string& each : offers) job.offers.emplace_back().ask.place.provider = each;
    TieToHost(job, provider, "h1", "/bin");
    const std::string text = EncodeJob(job);
    EXPECT_EQ(text.find("\"host\"") == text.npos, job.host.empty());
    EXPECT_EQ(text.find("\"path\"") == text.npos, job.host.empty());
    return job.host;
  };
  EXPECT_EQ(tied({}, "local"), "h1");
  EXPECT_EQ(tied({}, "ec2"), "");
  EXPECT_EQ(tied({"ec2", "gce"}, "local"), "");
  EXPECT_EQ(tied({"ec2", "local"}, "ec2"), "h1");
}

TEST(Job, NamesAndLookups) {
  for (int i = 0; i <= static_cast<int>(EndReason::kInternal); ++i) {
    EXPECT_EQ(ParseName<EndReason>(Name(static_cast<EndReason>(i))), static_cast<EndReason>(i));
  }
  EXPECT_EQ(Name(JobState::kCancelled), "Cancelled");
  EXPECT_EQ(ParseName<NodePhase>("Ended"), NodePhase::kEnded);
  EXPECT_FALSE(ParseName<AttemptState>("ended").has_value());

  Job job;
  for (int n = 1; n <= 3; ++n) {
    job.attempts.emplace_back().number = n;
    job.attempts.back().launches = {1, n + 1};
  }
  job.attempts[2].state = AttemptState::kEnded;
  ASSERT_NE(CurrentAttempt(job, 1), nullptr);
  EXPECT_EQ(CurrentAttempt(job, 1)->number, 2);
  EXPECT_EQ(CurrentAttempt(job, 4), nullptr);
  EXPECT_EQ(FindAttempt(job, 3), &job.attempts[2]);
  EXPECT_EQ(FindLaunch(job, 1), nullptr);
}

TEST(Job, TokensTellEntriesApart) {
  Job job;
  job.id = "j";
  const Request plain = AppendRequest(job, {0});
  const std::string token = RequestToken("l", job, plain);
  EXPECT_EQ(RequestToken("l", job, plain), token);
  Job other = job;
  other.id = "lj";
  EXPECT_NE(RequestToken("", other, plain), token);
  // All that the call depends on.
  const std::vector<void (*)(Request&)> changes = {
      [](Request& r) { r.number = 2; },
      [](Request& r) { r.slots = {1}; },
      [](Request& r) {
        r.slots = {0, 1};
      },
      [](Request& r) { r.ask.place.provider = "x"; },
      [](Request& r) { r.ask.place.account = "x"; },
      [](Request& r) { r.ask.place.region = "x"; },
      [](Request& r) { r.ask.place.zone = "x"; },
      [](Request& r) { r.ask.type = "x"; },
      [](Request& r) { r.ask.image = "x"; },
      [](Request& r) { r.ask.market = "x"; },
      [](Request& r) { r.ask.ceiling = 0; },
      [](Request& r) { r.ask.options = "x"; },
      [](Request& r) { r.store_url = "x"; },
      [](Request& r) { r.opened.ms = 1; },
      [](Request& r) { r.not_after.ms = 1; },
      [](Request& r) { r.limit = Duration::Hours(1); },
  };
  std::set<std::string> tokens{token};
  for (const auto& change : changes) {
    Request changed = plain;
    change(changed);
    EXPECT_TRUE(tokens.insert(RequestToken("l", job, changed)).second) << tokens.size();
  }
  // What is learned later is no part of it.
  Request later = plain;
  later.tries = 3;
  later.next_try = WallTime{7};
  later.refusal = Refusal{};
  later.token = "t";
  EXPECT_EQ(RequestToken("l", job, later), token);
}

TEST(Job, RequestsAndLaunchesAreNumberedEachForThemselves) {
  Job job;
  AppendRequest(job, {0, 1});
  AppendRequest(job, {1});
  ASSERT_EQ(job.launches.size(), 3U);
  EXPECT_EQ(job.launches[1].request, 1);
  EXPECT_EQ(job.launches[1].index, 1);
  EXPECT_EQ(job.launches[2].number, 3);
  EXPECT_EQ(job.launches[2].request, 2);
  EXPECT_EQ(job.launches[2].index, 0);
  EXPECT_EQ(FindRequest(job, 2), &job.requests[1]);
  EXPECT_EQ(FindRequest(job, 3), nullptr);
  EXPECT_EQ(RequestOf(job, Launch{}).number, 0);
}

}  // namespace
}  // namespace stoker
