// SPDX-License-Identifier: Apache-2.0
#include "client/tiers.h"

#include <gtest/gtest.h>

namespace stoker::client {
namespace {

Job LocalJob(const std::string& options) {
  Job job;
  Offer offer;
  offer.ask.place.provider = "local";
  offer.ask.options = options;
  job.offers.push_back(offer);
  return job;
}

TEST(NoticeTier, ANodeStartsItsReplacement) {
  EXPECT_EQ(NoticeTier(LocalJob("cpus=1"), nullptr),
            "a node with an interruption notice starts its own replacement");
  EXPECT_EQ(NoticeTier(Job(), nullptr),
            "a node with an interruption notice starts its own replacement");
}

TEST(NoticeTier, NoneWhereTheAllocationEnds) {
  EXPECT_EQ(NoticeTier(LocalJob("cpus=1 slurm=12 outlive=yes"), nullptr),
            "a node with an interruption notice starts its own replacement; none does when Slurm's "
            "job 12 ends, which it runs inside of: it goes on where somebody next looks "
            "(--outlive)");
  EXPECT_EQ(NoticeTier(LocalJob("slurm=12"), nullptr),
            "a node with an interruption notice starts its own replacement; none does when Slurm's "
            "job 12 ends, which it runs inside of: the job is cancelled with it");
}

// A job that moves is tied as it asks for machines now.
TEST(NoticeTier, OfWhereItMovesTo) {
  Job job = LocalJob("cpus=1");
  job.move = Move();
  job.move->offers = LocalJob("slurm=12").offers;
  EXPECT_NE(NoticeTier(job, nullptr).find("Slurm's job 12"), std::string::npos);
  job.move->state = MoveState::kGivenUp;
  EXPECT_EQ(NoticeTier(job, nullptr).find("Slurm"), std::string::npos);
}

}  // namespace
}  // namespace stoker::client
