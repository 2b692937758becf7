// SPDX-License-Identifier: Apache-2.0
#include "policy/moving.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

MoveWish To(const std::vector<std::string>& zones) {
  MoveWish wish;
  wish.move.by = "ann";
  for (const std::string& zone : zones) {
    Offer offer;
    offer.ask.place = {"gce", "project", "", zone};
    wish.move.offers.push_back(offer);
  }
  return wish;
}

// It trains in `zone` of Google's; "": on this machine.
Job Trains(const std::string& zone) {
  Job job;
  Request& request = AppendRequest(job, {0});
  if (!zone.empty()) request.ask.place = {"gce", "project", "", zone};
  job.launches.back().instance_id = "i";
  Attempt attempt;
  attempt.number = 1;
  attempt.state = AttemptState::kRunning;
  attempt.launches = {1};
  job.attempts.push_back(attempt);
  return job;
}

TEST(Moving, WaitsForItsMachinesUnlessTheyMightWaitForIt) {
  Job here = Trains("");
  EXPECT_EQ(ProposeMove(To({"a"}), here), MoveAnswer::kAsked);
  EXPECT_TRUE(here.move->waits);
  EXPECT_EQ(here.move->attempt, 2);
  EXPECT_EQ(here.move->request, 2);
  Job there = Trains("a");
  EXPECT_EQ(ProposeMove(To({"b"}), there), MoveAnswer::kAsked);
  EXPECT_FALSE(there.move->waits) << "they may be of one quota";
}

TEST(Moving, ABoxMayBeThisVeryComputer) {
  for (const bool known : {false, true}) {
    Job here = Trains("");
    MoveWish wish = To({"a"});
    wish.move.offers[0].ask.place.provider = "boxes";
    if (known) wish.beside_here = {"boxes"};
    EXPECT_EQ(ProposeMove(wish, here), MoveAnswer::kAsked);
    EXPECT_EQ(here.move->waits, !known);
  }
}

TEST(Moving, WhereItIsItStays) {
  Job job = Trains("a");
  EXPECT_EQ(ProposeMove(To({"a", "b"}), job), MoveAnswer::kThere);
  MoveWish force = To({"a"});
  force.force = true;
  EXPECT_EQ(ProposeMove(force, job), MoveAnswer::kAsked);
}

TEST(Moving, WhereItOnlyWaitsItIsNot) {
  Job job = Trains("a");
  job.launches[0].instance_id.clear();
  EXPECT_EQ(ProposeMove(To({"a", "b"}), job), MoveAnswer::kAsked);
}

TEST(Moving, TheSameWishTwiceIsOne) {
  Job job = Trains("");
  ProposeMove(To({"a"}), job);
  EXPECT_EQ(ProposeMove(To({"a"}), job), MoveAnswer::kOnItsWay);
  EXPECT_EQ(ProposeMove(To({"a", "b"}), job), MoveAnswer::kAsked) << "there may be room";
  EXPECT_EQ(job.move->offers.size(), 2U);
}

TEST(Moving, BackToWhereItStillIsGivesItUp) {
  Job job = Trains("a");
  ProposeMove(To({"b"}), job);
  EXPECT_EQ(ProposeMove(To({"a"}), job), MoveAnswer::kGivesUp);
  EXPECT_EQ(job.move->state, MoveState::kGivingUp);
}

}  // namespace
}  // namespace stoker
