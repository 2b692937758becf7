// SPDX-License-Identifier: Apache-2.0
#include "policy/local_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/prng.h"
#include "policy/local_gpus.h"
#include "test/kit/rounds.h"

namespace stoker {
namespace {

constexpr WallTime kAtNoon{1'000'000};

LocalCapacity Box(int cpus, int gpus, int64_t memory = 0) {
  LocalCapacity box;
  box.cpus = cpus * 1000;
  box.memory = memory;
  for (int i = 0; i < gpus; ++i) box.gpus.push_back({i, i < 2 ? "NVIDIA L4" : "NVIDIA H100 PCIe"});
  return box;
}

LocalTicket Waits(const std::string& job, int64_t since, int gpus = 0, int cpus = 1) {
  LocalTicket ticket;
  ticket.job = ticket.who = job;
  ticket.wants.cpus = cpus * 1000;
  ticket.wants.gpus = gpus;
  ticket.wants.since = WallTime{since};
  return ticket;
}

LocalTicket Runs(LocalTicket ticket, std::vector<int> gpus = {}) {
  ticket.running = true;
  ticket.started = kAtNoon;
  ticket.gpus = std::move(gpus);
  return ticket;
}

LocalTicket Lasts(LocalTicket ticket, int seconds) {
  ticket.wants.span = Duration::Seconds(seconds);
  return ticket;
}

// The jobs that start, in the order of the tickets.
std::string Starts(const LocalCapacity& box, const std::vector<LocalTicket>& tickets) {
  std::string out;
  const auto turns = TakeTurns(box, tickets, kAtNoon);
  for (size_t i = 0; i < turns.size(); ++i) {
    if (turns[i].start) out += (out.empty() ? "" : " ") + tickets[i].job;
  }
  return out;
}

TEST(LocalQueue, FirstComeAndPriorityFirst) {
  const LocalCapacity box = Box(2, 0);
  EXPECT_EQ(Starts(box, {Waits("c", 3), Waits("a", 1), Waits("b", 2)}), "a b");
  LocalTicket urgent = Waits("z", 9);
  urgent.wants.priority = 1;
  EXPECT_EQ(Starts(box, {Waits("a", 1), Waits("b", 2), urgent}), "a z");
  // Nobody who runs is sent away.
  EXPECT_EQ(Starts(box, {Runs(Waits("a", 1)), Runs(Waits("b", 2)), urgent}), "");
}

TEST(LocalQueue, OneGpuIsOneJobsAtATime) {
  const LocalCapacity box = Box(8, 2);
  const std::vector<LocalTicket> tickets = {Waits("a", 1, 1), Waits("b", 2, 1), Waits("c", 3, 1)};
  const auto turns = TakeTurns(box, tickets, kAtNoon);
  EXPECT_EQ(turns[0].gpus, std::vector<int>{0});
  EXPECT_EQ(turns[1].gpus, std::vector<int>{1});
  EXPECT_FALSE(turns[2].start);
  EXPECT_EQ(turns[2].place, 1);
  EXPECT_EQ(turns[2].why, "1st in line: waits for 1 GPU; 2 of 2 are in use by a, b");
}

TEST(LocalQueue, WhoAsksForNothingHasAllGpusAndWhoAsksForNoneWaitsForNone) {
  const LocalCapacity box = Box(8, 2);
  const auto all = [](const char* job, int since) { return Waits(job, since, kAllGpus); };
  const std::vector<LocalTicket> tickets = {all("a", 1), all("b", 2), Waits("c", 3)};
  const auto turns = TakeTurns(box, tickets, kAtNoon);
  EXPECT_EQ(turns[0].gpus, (std::vector<int>{0, 1}));
  EXPECT_EQ(turns[1].why, "1st in line: waits for all GPUs; 2 of 2 are in use by a");
  EXPECT_TRUE(turns[2].start);
  EXPECT_EQ(turns[2].gpus, std::vector<int>{});
}

TEST(LocalQueue, ALaterOnePassesOnlyIfItEndsBeforeTheFirstCouldStart) {
  const LocalCapacity box = Box(4, 0);
  const LocalTicket running = Lasts(Runs(Waits("r", 1, 0, 2)), 100);
  const LocalTicket first = Waits("f", 2, 0, 4);
  EXPECT_EQ(Starts(box, {running, first, Lasts(Waits("s", 3), 100)}), "s");
  EXPECT_EQ(Starts(box, {running, first, Lasts(Waits("s", 3), 101)}), "");
  EXPECT_EQ(Starts(box, {running, first, Waits("s", 3)}), "");
  // How long r runs is not known, so nobody knows when f could start.
  EXPECT_EQ(Starts(box, {Runs(Waits("r", 1, 0, 2)), first, Lasts(Waits("s", 3), 1)}), "");
  // It needs nothing of what f waits for.
  LocalTicket small = Waits("f", 2, 0, 3);
  EXPECT_EQ(Starts(Box(6, 0), {Runs(Waits("r", 1, 0, 4)), small, Waits("s", 3)}), "");
  small.wants.memory = 900;
  LocalTicket other = Waits("r", 1, 0, 1);
  other.wants.memory = 200;
  EXPECT_EQ(Starts(Box(6, 0, 1000), {Runs(other), small, Waits("s", 3)}), "s");
}

TEST(LocalQueue, MachinesOfOneJobShareWhatItHas) {
  const LocalCapacity box = Box(1, 2);
  LocalTicket node = Waits("g", 1, 1);
  node.wants.nodes = 2;
  const std::vector<LocalTicket> both = {node, node, Waits("h", 2, 1)};
  EXPECT_EQ(Starts(box, both), "g g");
  // One of them is replaced.
  EXPECT_EQ(Starts(box, {Runs(node, {0, 1}), node, Waits("h", 0, 1)}), "g");
  EXPECT_EQ(GpusOfNode({0, 1}, node.wants, 0), std::vector<int>{0});
  EXPECT_EQ(GpusOfNode({0, 1}, node.wants, 1), std::vector<int>{1});
  node.wants.nodes = 3;
  EXPECT_EQ(GpusOfNode({4, 5}, node.wants, 2), std::vector<int>{5});
  EXPECT_EQ(WhyNever(box, node.wants), "3 GPUs; this machine has 2 GPUs (NVIDIA L4)");
}

TEST(LocalQueue, WhatNeverFitsAndWhoIsAsleepHoldsNobodyUp) {
  const LocalCapacity box = Box(2, 0, 1 << 20);
  LocalTicket big = Waits("big", 1, 0, 8);
  LocalTicket asleep = Waits("asleep", 2, 0, 2);
  asleep.awake = false;
  const std::vector<LocalTicket> tickets = {big, asleep, Waits("a", 3)};
  EXPECT_EQ(Starts(box, tickets), "a");
  EXPECT_EQ(TakeTurns(box, tickets, kAtNoon)[0].why,
            "it can never start here: it asks for 8 CPUs; this machine has 2 CPUs");
  LocalTicket fat = Waits("fat", 4);
  fat.wants.memory = 2 << 20;
  EXPECT_EQ(WhyNever(box, fat.wants), "2.1 MB of memory; this machine has 1.0 MB");
  EXPECT_EQ(WhyNever(box, Waits("g", 1, 1).wants), "1 GPU; this machine has no GPU");
}

TEST(LocalQueue, PlacesAreInTheOrderOfTheLine) {
  const auto turns = TakeTurns(
      Box(2, 0), {Runs(Waits("a", 1, 0, 2)), Waits("c", 3), Waits("b", 2, 0, 2)}, kAtNoon);
  EXPECT_EQ(turns[2].why, "1st in line: waits for 2 CPUs; 2 CPUs of 2 CPUs are in use by a");
  EXPECT_EQ(turns[1].why, "2nd in line: waits for 1 CPU; 2 CPUs of 2 CPUs are in use by a");
}

TEST(LocalQueue, GpusByName) {
  EXPECT_TRUE(IsGpuNamed("h100", "NVIDIA H100 80GB HBM3"));
  EXPECT_TRUE(IsGpuNamed("A100-80GB", "NVIDIA A100-SXM4-80GB"));
  EXPECT_TRUE(IsGpuNamed("RTX4090", "NVIDIA GeForce RTX 4090"));
  EXPECT_FALSE(IsGpuNamed("L4", "NVIDIA L40S"));
  EXPECT_FALSE(IsGpuNamed("", "NVIDIA L4"));
  LocalTicket named = Waits("a", 1, 1);
  named.wants.gpu_name = "H100";
  const std::vector<LocalTicket> tickets = {named};
  EXPECT_EQ(TakeTurns(Box(4, 4), tickets, kAtNoon)[0].gpus, std::vector<int>{2});
  named.wants.devices = {3, 1};
  EXPECT_EQ(TakeTurns(Box(4, 4), {named}, kAtNoon)[0].gpus, (std::vector<int>{3, 1}));
  EXPECT_EQ(WhyNever(Box(4, 2), named.wants), "GPUs 3, 1; this machine has 2 GPUs (NVIDIA L4)");
}

LocalWants AnyWants(Prng* prng, const LocalCapacity& box) {
  LocalWants wants;
  wants.cpus = 500 * prng->Between(0, 2 * box.cpus / 1000);
  wants.memory = prng->Chance(1, 2) ? prng->Between(0, box.memory) : 0;
  wants.gpus = static_cast<int>(prng->Between(-1, static_cast<int64_t>(box.gpus.size())));
  wants.priority = static_cast<int>(prng->Below(3));
  wants.since = WallTime{prng->Between(1, 50)};
  if (prng->Chance(1, 2)) wants.span = Duration::Ms(prng->Between(1, 2000));
  if (prng->Chance(1, 8)) wants.gpu_name = "L4";
  if (prng->Chance(1, 8) && !box.gpus.empty()) wants.devices = {0};
  return wants;
}

TEST(LocalQueue, WantsAsTextComeBack) {
  Prng prng(5);
  for (int i = 0; i < 500; ++i) {
    LocalWants wants = AnyWants(&prng, Box(8, 4, 1 << 30));
    wants.nodes = static_cast<int>(prng.Between(1, 5));
    const auto back = ParseWants(EncodeWants(wants));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, wants) << EncodeWants(wants);
  }
  EXPECT_EQ(EncodeWants(LocalWants()), "");
  EXPECT_TRUE(ParseWants("cpus=2000 from=tomorrow").ok());
  for (const char* wrong : {"cpus", "cpus=", "cpus=x", "cpus=-1", "gpus=-2", "devices=0,,1",
                            "name=a/b", "memory=99999999999999999999", "nodes=0"}) {
    EXPECT_FALSE(ParseWants(wrong).ok()) << wrong;
  }
}

// A machine's life: jobs come, start as the line says, and end. What must hold at every moment.
class Life {
 public:
  explicit Life(uint64_t seed)
      : prng_(seed),
        box_(Box(static_cast<int>(prng_.Between(1, 6)), static_cast<int>(prng_.Between(0, 4)),
                 1000)) {}

  void Step(bool more) {
    now_ = now_ + Duration::Ms(prng_.Between(1, 400));
    std::erase_if(tickets_, [&](const LocalTicket& ticket) {
      const bool over = ticket.wants.span.ms > 0 && now_ >= ticket.started + ticket.wants.span;
      return ticket.running && (over || (ticket.wants.span.ms == 0 && prng_.Chance(1, 4)));
    });
    for (int64_t n = more ? prng_.Between(0, 3) : 0; n > 0; --n) Come();
    const auto turns = TakeTurns(box_, tickets_, now_);
    for (size_t i = 0; i < tickets_.size(); ++i) {
      if (!turns[i].start) continue;
      tickets_[i].running = true;
      tickets_[i].started = now_;
      tickets_[i].gpus = turns[i].gpus;
    }
    Check(turns);
  }
  bool Done() const { return tickets_.empty(); }

 private:
  void Come() {
    LocalTicket ticket;
    ticket.job = ticket.who = "j" + std::to_string(++jobs_);
    ticket.wants = AnyWants(&prng_, box_);
    ticket.wants.nodes = 1;
    if (!WhyNever(box_, ticket.wants).empty()) return;
    for (int64_t n = prng_.Between(1, 2); n > 0; --n) tickets_.push_back(ticket);
  }

  void Check(const std::vector<LocalTurn>& turns) const {
    int64_t cpus = 0;
    int64_t memory = 0;
    std::map<int, std::string> gpus;
    std::set<std::string> counted;
    std::set<int> places;
    for (size_t i = 0; i < tickets_.size(); ++i) {
      const LocalTicket& ticket = tickets_[i];
      EXPECT_EQ(turns[i].why.empty(), ticket.running) << ticket.job;
      if (!ticket.running) continue;
      for (const int gpu : ticket.gpus) {
        EXPECT_EQ(gpus.try_emplace(gpu, ticket.job).first->second, ticket.job);
      }
      if (!counted.insert(ticket.job).second) continue;
      cpus += ticket.wants.cpus;
      memory += ticket.wants.memory;
    }
    EXPECT_LE(cpus, box_.cpus);
    EXPECT_LE(memory, box_.memory);
    // Whoever waits has somebody in front of it: one that runs.
    EXPECT_TRUE(tickets_.empty() || !counted.empty());
  }

  Prng prng_;
  const LocalCapacity box_;
  WallTime now_ = kAtNoon;
  std::vector<LocalTicket> tickets_;
  int jobs_ = 0;
};

TEST(LocalQueue, NeverOverCapacityNoGpuTwiceAndNobodyStarves) {
  for (int seed = 1; seed <= Rounds(50); ++seed) {
    Life life(static_cast<uint64_t>(seed));
    for (int step = 0; step < 60; ++step) life.Step(true);
    int steps = 0;
    while (!life.Done() && ++steps < 5000) life.Step(false);
    EXPECT_TRUE(life.Done()) << "seed " << seed << ": somebody never ran";
  }
}

// Small ones keep coming and would fit; the first in line needs the whole machine.
TEST(LocalQueue, TheFirstIsNotStarvedByThoseWhoKeepComing) {
  const LocalCapacity box = Box(2, 0);
  std::vector<LocalTicket> tickets = {Lasts(Runs(Waits("r", 1)), 10), Waits("big", 2, 0, 2)};
  WallTime now = kAtNoon;
  for (int i = 0; i < 100 && !tickets[1].running; ++i) {
    now = now + Duration::Seconds(1);
    tickets.push_back(Lasts(Waits("s" + std::to_string(i), 3 + i), 3));
    const auto turns = TakeTurns(box, tickets, now);
    for (size_t t = 0; t < tickets.size(); ++t) {
      if (!turns[t].start) continue;
      tickets[t].running = true;
      tickets[t].started = now;
    }
    std::erase_if(tickets, [&](const LocalTicket& ticket) {
      return ticket.running && ticket.wants.span.ms > 0 &&
             now + Duration::Seconds(1) >= ticket.started + ticket.wants.span;
    });
    if (tickets[0].job == "big") break;
  }
  const bool runs = tickets[0].job == "big" || tickets[1].running;
  EXPECT_TRUE(runs);
  EXPECT_LE(now, kAtNoon + Duration::Seconds(12));
}

}  // namespace
}  // namespace stoker
