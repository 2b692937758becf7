// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_share.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

LocalTicket Ticket(const std::string& job, bool running, int64_t cpus, std::vector<int> gpus) {
  LocalTicket ticket;
  ticket.job = job;
  ticket.running = running;
  ticket.wants.cpus = cpus;
  ticket.wants.memory = 1000;
  ticket.gpus = std::move(gpus);
  return ticket;
}

TEST(LocalShare, AJobHoldsOnceWhatItAsksFor) {
  LocalCapacity capacity;
  capacity.cpus = 4000;
  capacity.memory = 10'000;
  capacity.gpus = {{0, "L4"}, {1, "L4"}, {2, "H100"}};
  const PlaceInfo info =
      ShareOf(capacity, {Ticket("a", true, 2000, {0}), Ticket("a", true, 2000, {0, 2}),
                         Ticket("b", false, 4000, {}), Ticket("c", false, 1000, {})});
  EXPECT_EQ(info.infra, "local");
  EXPECT_EQ(info.free_cpus, 2000);
  EXPECT_EQ(info.free_memory, 9000);
  ASSERT_EQ(info.gpus.size(), 2U);
  EXPECT_EQ(info.gpus[0].name, "L4");
  EXPECT_EQ(info.gpus[0].total, 2);
  EXPECT_EQ(info.gpus[0].free, 1);
  EXPECT_EQ(info.gpus[1].free, 0);
  EXPECT_EQ(info.running, 1);
  EXPECT_EQ(info.waiting, 2);
}

TEST(LocalShare, WhatIsNotKnownIsNotTold) {
  LocalCapacity capacity;
  capacity.cpus = 1000;
  const PlaceInfo info = ShareOf(capacity, {Ticket("a", true, 3000, {})});
  EXPECT_EQ(info.free_cpus, 0);
  EXPECT_FALSE(info.memory || info.free_memory);
  EXPECT_TRUE(info.gpus.empty());
}

}  // namespace
}  // namespace stoker
