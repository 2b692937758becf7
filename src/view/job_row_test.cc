// SPDX-License-Identifier: Apache-2.0
#include "view/job_row.h"

#include <gtest/gtest.h>

#include "test/kit/places.h"

namespace stoker {
namespace {

using Pairs = Hyperparameters;

TEST(JobRow, HyperparametersOfAScript) {
  JobSpec spec;
  spec.run = "python prepare.py --n 3\nA=1 python train.py --lr 0.1 --out $OUT > log\n";
  spec.hyperparameters = {{"width", "3"}};
  const Pairs expected = {{"width", "3"}, {"depth", "2"}, {"lr", "0.1"}};
  EXPECT_EQ(HyperparametersOf(&spec, {{"depth", "2"}}), expected);
}

TEST(JobRow, WhatTheProgramSaidCountsMoreThanItsCommand) {
  JobSpec spec;
  spec.argv = {"python", "train.py", "--lr", "0.1", "--api-key", "hunter2"};
  const Pairs expected = {{"lr", "0.2"}, {"api_key", "***"}};
  EXPECT_EQ(HyperparametersOf(&spec, {{"lr", "0.2"}}), expected);
}

TEST(JobRow, ThePlaceAsPeopleWriteIt) {
  Summary job;
  job.provider = "local";
  EXPECT_EQ(WhereText(job), "local");
  job.provider = "ec2";
  EXPECT_EQ(WhereText(job), "aws");
  job.place = "ec2/us-east-1a";
  EXPECT_EQ(WhereText(job), "aws/us-east-1a");
  EXPECT_EQ(SummaryJson(job)["place"], "aws/us-east-1a");
  job.provider = "gce";
  job.place = "gce/us-central1-a";
  EXPECT_EQ(WhereText(job), "gcp/us-central1-a");
}

// An id that a place has beside the name that it was given is what it is known by there.
TEST(JobRow, TheOwnIdOfAMachine) {
  Job job;
  Request& request = AppendRequest(job, {0});
  request.ask.place = {"gce", "p", "us-central1", "us-central1-a"};
  job.launches[0].instance_id = "stoker-x-0";
  EXPECT_EQ(SummaryOf(job).instance, "stoker-x-0");
  job.launches[0].own_id = "4711";
  EXPECT_EQ(SummaryOf(job).instance, "4711");
}

}  // namespace
}  // namespace stoker
