// SPDX-License-Identifier: Apache-2.0
#include "ledger/places.h"

#include <gtest/gtest.h>

#include "test/contract/ledger_kit.h"

namespace stoker {
namespace {

TEST(Places, WhatWasNotedIsKnown) {
  MemoryStore store;
  EXPECT_EQ(*NotedPlaces(store, "ec2"), std::vector<std::string>());
  ASSERT_TRUE(NotePlace(store, "ec2", "us-east-1").ok());
  ASSERT_TRUE(NotePlace(store, "ec2", "eu-west-1").ok());
  ASSERT_TRUE(NotePlace(store, "ec2", "us-east-1").ok());
  ASSERT_TRUE(NotePlace(store, "gce", "us-central1").ok());
  EXPECT_EQ(*NotedPlaces(store, "ec2"), (std::vector<std::string>{"eu-west-1", "us-east-1"}));
  EXPECT_EQ(NotePlace(store, "ec2", "../x").code(), Code::kInvalid);
}

TEST(Places, ADrillIsReadByItsMachineAlone) {
  MemoryStore store;
  ASSERT_TRUE(AskDrill(store, "job1", "i-1", Duration::Seconds(120)).ok());
  EXPECT_EQ(*ReadDrill(store, "job1", "i-1"), Duration::Seconds(120));
  EXPECT_EQ(*ReadDrill(store, "job1", "i-2"), std::nullopt);
  EXPECT_EQ(*ReadDrill(store, "job2", "i-1"), std::nullopt);
  EXPECT_EQ(AskDrill(store, "job1", "i/1", {}).code(), Code::kInvalid);
  ASSERT_TRUE(store.Put("jobs/job1/drills/i-1.json", "{\"format\":1,\"lead_ms\":-5}").ok());
  EXPECT_EQ(ReadDrill(store, "job1", "i-1").code(), Code::kCorrupt);
}

}  // namespace
}  // namespace stoker
