// SPDX-License-Identifier: Apache-2.0
// Nodes of a job in a bucket, and what they make of it when some of them hang: the pace of their
// looks and the controller's account of silence, together. Threads and sockets apart, as
// node/poller.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/heed.h"
#include "agent/look_pace.h"
#include "controller/controller.h"
#include "ledger/records.h"
#include "ledger/reports.h"
#include "store/forwarding.h"
#include "test/contract/ledger_kit.h"
#include "test/contract/training_job.h"

namespace stoker {
namespace {

constexpr char kJob[] = "job1";
constexpr Duration kStep = Duration::Ms(500);

class Bucket : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  const StoreTraits& traits() const override { return traits_; }

 private:
  StoreTraits traits_;
};

// Machines that run whatever becomes of their agents, or until they are gone.
class Machines : public Provider {
 public:
  Machines() {
    traits_.name = kLocalProvider;
    traits_.describe_is_immediate = true;
  }
  const ProviderTraits& traits() const override { return traits_; }
  LaunchAnswer Launch(const LaunchRequest&) override { return Status(Code::kUnavailable, "full"); }
  Result<InstancesSeen> Describe(const std::string&, const std::string&) override {
    ++asked;
    return seen;
  }
  Status Terminate(const std::string&) override { return Status::Ok(); }
  Status Interrupt(const std::string&, Duration) override { return Status::Ok(); }

  InstancesSeen seen;
  int asked = 0;

 private:
  ProviderTraits traits_;
};

class Gang {
 public:
  Gang(int nodes, Duration phase) {
    Job job = TrainingJob(kJob, nodes, clock_.Wall());
    Request& request = job.requests.front();
    request.token = "token";
    request.opened = clock_.Wall();
    request.not_after = clock_.Wall() + kSendWithin;
    for (Launch& launch : job.launches) {
      launch.instance_id = "i-" + std::to_string(launch.slot);
      InstanceSeen seen;
      seen.id = launch.instance_id;
      seen.token = request.token;
      seen.index = launch.index;
      seen.launch = launch.number;
      seen.job = kJob;
      seen.state = InstanceState::kRunning;
      machines_.seen.push_back(seen);
    }
    CreateTrainingJob(*ledger_, job);
    for (int rank = 0; rank < nodes; ++rank) Add(rank, phase);
  }

  void Run(Duration span) {
    for (const int64_t end = clock_.now + span.ms; clock_.now < end; clock_.now += kStep.ms) Step();
  }
  void Hang(int rank) { nodes_[static_cast<size_t>(rank)].hangs = true; }
  void TakeMachine(int rank) {
    Hang(rank);
    machines_.seen[static_cast<size_t>(rank)].state = InstanceState::kGone;
  }
  // How long after the last report of `rank` its launch is closed in the record.
  Duration GivenUp(int rank) {
    const Node& node = nodes_[static_cast<size_t>(rank)];
    for (int steps = 0; steps < 1000; ++steps) {
      const auto read = ReadJob(*ledger_, kJob);
      if (read.ok() && FindLaunch(read->job, rank + 1)->closed) {
        return clock_.Mono() - *node.reported;
      }
      Run(kStep);
    }
    return Duration::Hours(1);
  }
  int asked() const { return machines_.asked; }

 private:
  struct Node {
    std::unique_ptr<Controller> controller;
    LookPace pace;
    MonoTime report_due;
    MonoTime wakes;
    std::optional<MonoTime> reported;
    int64_t seq = 0;
    bool hangs = false;
  };

  void Add(int rank, Duration phase) {
    Node node{std::make_unique<Controller>(
                  *ledger_, [this](const std::string&) -> Result<Provider*> { return &machines_; },
                  clock_),
              LookPace(bucket_.traits(), rank + 1),
              {},
              {},
              {},
              0,
              false};
    node.report_due = clock_.Mono() + Duration::Ms((phase * (1 + rank * 7)).ms % 30'000);
    node.wakes = node.report_due + Duration::Seconds(1);
    nodes_.push_back(std::move(node));
  }

  void Step() {
    for (size_t rank = 0; rank < nodes_.size(); ++rank) {
      Node& node = nodes_[rank];
      if (!node.hangs && clock_.Mono() >= node.report_due) Report(static_cast<int>(rank));
    }
    for (Node& node : nodes_) {
      if (!node.hangs && clock_.Mono() >= node.wakes) Look(node);
    }
  }

  void Report(int rank) {
    Node& node = nodes_[static_cast<size_t>(rank)];
    NodeReport report = TrainingReport(kJob, rank, ++node.seq);
    report.instance_id = "i-" + std::to_string(rank);
    EXPECT_TRUE(WriteReport(*ledger_, report).ok());
    node.reported = clock_.Mono();
    node.report_due = clock_.Mono() + bucket_.traits().report;
  }

  void Look(Node& node) {
    const MonoTime now = clock_.Mono();
    const bool whole = node.pace.Whole(now) || !*node.controller->Glance(kJob);
    if (whole) {
      const auto pass = node.controller->Pass(kJob);
      ASSERT_TRUE(pass.ok()) << pass.status().ToString();
      node.pace.Looked(now, pass->job, pass->reports, pass->machines, pass->changed,
                       pass->store_now);
    } else {
      std::vector<NodeReport> peers;
      EXPECT_TRUE(HeedLookouts(*ledger_, kJob, now, node.pace, &peers).ok());
    }
    node.wakes = now + node.pace.Pause(now);
  }

  StillClock clock_;
  MemoryStore store_{[this] { return clock_.Wall(); }};
  Bucket bucket_{store_};
  std::unique_ptr<Ledger> ledger_ = *Ledger::Open(bucket_, clock_, 1);
  Machines machines_;
  std::vector<Node> nodes_;
};

// The soonest and the latest that a node of `ranks`, hanging, is given up, whenever it hangs.
struct Span {
  Duration soonest = Duration::Hours(1);
  Duration latest;
};

template <typename Harm>
Span Over(int nodes, const std::vector<int>& ranks, Harm harm) {
  Span span;
  for (int64_t at = 0; at < 60; at += 4) {
    Gang gang(nodes, Duration::Ms(500 * at));
    gang.Run(Duration::Minutes(3) + Duration::Seconds(at * 7 % 30));
    for (const int rank : ranks) harm(gang, rank);
    for (const int rank : ranks) {
      const Duration after = gang.GivenUp(rank);
      span.soonest = std::min(span.soonest, after);
      span.latest = std::max(span.latest, after);
    }
  }
  return span;
}

void Hangs(Gang& gang, int rank) { gang.Hang(rank); }
void IsTaken(Gang& gang, int rank) { gang.TakeMachine(rank); }

TEST(Lookouts, GiveUpANodeThatHangs) {
  const auto told = [](const char* what, const Span& span) {
    std::printf("%s: given up %.0f to %.0f s after the last report\n", what, span.soonest.seconds(),
                span.latest.seconds());
    EXPECT_GE(span.soonest, kSilentAfter) << what;
    return span.latest;
  };
  EXPECT_LE(told("a node", Over(5, {3}, Hangs)), Duration::Seconds(130));
  EXPECT_LE(told("a lookout", Over(5, {0}, Hangs)), Duration::Seconds(135));
  EXPECT_LE(told("one of two nodes", Over(2, {0}, Hangs)), Duration::Seconds(135));
  EXPECT_LE(told("both lookouts", Over(5, {0, 1}, Hangs)), Duration::Seconds(180));
}

TEST(Lookouts, FindAMachineThatIsGone) {
  const auto told = [](const char* what, const Span& span) {
    std::printf("%s: given up at most %.0f s after the last report\n", what, span.latest.seconds());
    return span.latest;
  };
  // Of these, half a minute may be until it was taken.
  EXPECT_LE(told("a node's", Over(5, {3}, IsTaken)), Duration::Seconds(50));
  EXPECT_LE(told("a lookout's", Over(5, {0}, IsTaken)), Duration::Seconds(65));
  EXPECT_LE(told("both lookouts'", Over(5, {0, 1}, IsTaken)), Duration::Seconds(110));
}

TEST(Lookouts, AskTheProviderForAll) {
  Gang gang(16, Duration::Ms(300));
  gang.Run(Duration::Minutes(5));
  const int before = gang.asked();
  gang.Run(Duration::Minutes(30));
  EXPECT_EQ(gang.asked() - before, 120);
}

}  // namespace
}  // namespace stoker
