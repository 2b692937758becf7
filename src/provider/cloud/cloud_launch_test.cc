// SPDX-License-Identifier: Apache-2.0
#include "provider/cloud/cloud_launch.h"

#include <gtest/gtest.h>

#include "provider/cloud/cloud_boot.h"

namespace stoker::cloud {
namespace {

TEST(CloudLaunch, LaunchesAsATag) {
  const std::vector<std::vector<int>> all = {{3}, {3, 4, 5}, {7, 3, 4, 9}, {1, 3, 5}, {2, 1}};
  for (const auto& launches : all) {
    const std::string text = EncodeLaunches(launches, ' ', 256);
    for (size_t i = 0; i < launches.size(); ++i) {
      EXPECT_EQ(LaunchAt(text, ' ', static_cast<int>(i)), launches[i]) << text;
    }
    EXPECT_EQ(LaunchAt(text, ' ', static_cast<int>(launches.size())), 0) << text;
  }
  std::vector<int> many;
  for (int i = 0; i < 1000; ++i) many.push_back(100'000 + 2 * i);
  const std::string text = EncodeLaunches(many, ' ', 256);
  EXPECT_LE(text.size(), 256U);
  EXPECT_EQ(LaunchAt(text, ' ', 20), many[20]);
  EXPECT_EQ(LaunchAt(text, ' ', 999), 0);
  EXPECT_EQ(EncodeLaunches({1, 2, 5}, '_', 63), "1-2_5");
  EXPECT_EQ(LaunchAt("1-2_5", '_', 2), 5);
  for (const char* bad : {"", "x", "3-", "-3", "5-3", "1 x", "99999999999999999999"}) {
    EXPECT_EQ(LaunchAt(bad, ' ', 2), 0) << bad;
  }
}

TEST(CloudLaunch, ComesBack) {
  LaunchRequest entry;
  entry.token = std::string(64, 'a');
  entry.ledger_id = "ledger1";
  entry.store_url = "gs://bucket/prefix";
  entry.job = "job1";
  entry.ask.place = {"gce", "my-project", "us-central1", "us-central1-a"};
  entry.ask.type = "g2-standard-4";
  entry.launches = {7, 8, 9};
  entry.slots = {0, 1, 2};
  entry.binary_digest = std::string(64, 'b');
  entry.limit = Duration::Hours(24);
  entry.not_after = *ParseRfc3339("2026-11-24T10:05:00Z");
  const auto read = ParseLaunch(EncodeLaunch(entry), "gce");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->token, entry.token);
  EXPECT_EQ(read->store_url, entry.store_url);
  EXPECT_EQ(read->launches, entry.launches);
  EXPECT_EQ(read->slots, entry.slots);
  EXPECT_EQ(read->limit, entry.limit);
  EXPECT_EQ(read->not_after, entry.not_after);
  EXPECT_EQ(read->ask.place, entry.ask.place);
  EXPECT_EQ(read->ask.type, entry.ask.type);
  EXPECT_EQ(ParseLaunch("{}", "gce").code(), Code::kCorrupt);
  EXPECT_EQ(ParseLaunch(R"({"format":2})", "gce").code(), Code::kTooNew);
}

TEST(CloudBoot, WhatEndsInAScriptIsQuotedOrRefused) {
  EXPECT_EQ(SetVariable("X", "it's"), "X='it'\\''s'\n");
  EXPECT_TRUE(CheckLines({"gs://bucket/a b", ""}).ok());
  EXPECT_EQ(CheckLines({"a\nEND_OF_FILE"}).code(), Code::kInvalid);
}

TEST(CloudBoot, BucketsOfAStore) {
  const auto whole = BucketOf("gs://bucket/", "gs://", "machines");
  EXPECT_EQ(whole->name + " " + whole->prefix, "bucket ");
  const auto part = BucketOf("gs://bucket/a/b/", "gs://", "machines");
  EXPECT_EQ(part->name + " " + part->prefix, "bucket a/b/");
  EXPECT_EQ(BucketOf("/home/u/ledger", "gs://", "machines").code(), Code::kInvalid);
}

}  // namespace
}  // namespace stoker::cloud
