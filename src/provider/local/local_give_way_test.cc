// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_give_way.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

LocalTicketSeen Node(const std::string& job, int64_t since, bool held, std::vector<int> gpus = {}) {
  LocalTicketSeen seen;
  seen.id = job;
  seen.own = true;
  seen.granted = seen.held = held;
  seen.text.job = "ledger/" + job + "/0";
  seen.text.who = job;
  seen.text.wants.gpus = 1;
  seen.text.wants.since = WallTime{since};
  seen.ticket.job = "0.host/" + seen.text.job;
  seen.ticket.who = job;
  seen.ticket.wants = seen.text.wants;
  seen.ticket.running = held;
  seen.ticket.gpus = std::move(gpus);
  return seen;
}

LocalCapacity Gpus(int count) {
  LocalCapacity capacity{8000, 0, {}};
  for (int i = 0; i < count; ++i) capacity.gpus.push_back({i, "L4"});
  return capacity;
}

std::string GivesWay(int gpus, const std::vector<LocalTicketSeen>& seen) {
  return GivesWayTo(Gpus(gpus), seen, "b", WallTime{1000});
}

TEST(GiveWay, ToWhoeverCameFirstAndWaitsForWhatItHas) {
  EXPECT_EQ(GivesWay(1, {Node("b", 20, true, {0}), Node("a", 10, false)}), "a");
}

TEST(GiveWay, NotToWhoeverCameLater) {
  EXPECT_EQ(GivesWay(1, {Node("b", 20, true, {0}), Node("c", 30, false)}), "");
  LocalTicketSeen urgent = Node("c", 30, false);
  urgent.text.wants.priority = urgent.ticket.wants.priority = 1;
  EXPECT_EQ(GivesWay(1, {Node("b", 20, true, {0}), urgent}), "c");
}

TEST(GiveWay, NotToItsOwnJob) {
  LocalTicketSeen other = Node("b", 10, false);
  other.id = "b1";
  other.text.job = "ledger/b/1";
  EXPECT_EQ(GivesWay(1, {Node("b", 20, true, {0}), other}), "");
}

TEST(GiveWay, NotWhereNobodyIsThereWhoWouldStartIt) {
  LocalTicketSeen asleep = Node("a", 10, false);
  asleep.ticket.awake = false;
  EXPECT_EQ(GivesWay(1, {Node("b", 20, true, {0}), asleep}), "");
}

// Two who gather hold one GPU each, and the first needs both: neither waits for the other to go.
TEST(GiveWay, AllWhoHoldAPartOfIt) {
  LocalTicketSeen first = Node("a", 10, false);
  first.text.wants.gpus = first.ticket.wants.gpus = 2;
  EXPECT_EQ(GivesWay(2, {Node("b", 20, true, {0}), Node("c", 30, true, {1}), first}), "a");
}

// What it has would not help: it would stand in line again, and be granted the same at once.
TEST(GiveWay, NotForWhatItDoesNotHave) {
  LocalTicketSeen none = Node("b", 20, true);
  none.text.wants.gpus = none.ticket.wants.gpus = 0;
  EXPECT_EQ(GivesWay(1, {none, Node("c", 30, true, {0}), Node("a", 10, false)}), "");
  // One that came before the first holds the other GPU, and will for long.
  LocalTicketSeen both = Node("a", 10, false);
  both.text.wants.gpus = both.ticket.wants.gpus = 2;
  EXPECT_EQ(GivesWay(2, {Node("b", 20, true, {0}), Node("z", 5, true, {1}), both}), "");
}

TEST(GiveWay, NotToOneThatCouldNeverStart) {
  LocalTicketSeen large = Node("a", 10, false);
  large.text.wants.gpus = large.ticket.wants.gpus = 4;
  EXPECT_EQ(GivesWay(1, {Node("b", 20, true, {0}), large}), "");
}

}  // namespace
}  // namespace stoker
