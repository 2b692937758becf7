// SPDX-License-Identifier: Apache-2.0
#include "provider/cloud/cloud_notes.h"

#include <gtest/gtest.h>

#include "ledger/places.h"
#include "sys/real_clock.h"
#include "test/kit/memory_store.h"

namespace stoker::cloud {
namespace {

TEST(CloudNotes, PlacesThatAreKnownAreThereThoughTheirNoteIsGone) {
  MemoryStore store;
  RealClock clock;
  const Notes notes = NotesIn([&]() -> Result<ObjectStore*> { return &store; }, "ec2", clock,
                              {"us-east-1", "eu-west-1"});
  EXPECT_EQ(*notes.places(), (std::vector<std::string>{"eu-west-1", "us-east-1"}));
  ASSERT_TRUE(NotePlace(store, "ec2", "us-east-1").ok());
  ASSERT_TRUE(NotePlace(store, "ec2", "us-west-2").ok());
  EXPECT_EQ(*notes.places(), (std::vector<std::string>{"eu-west-1", "us-east-1", "us-west-2"}));
}

}  // namespace
}  // namespace stoker::cloud
