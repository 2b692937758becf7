// SPDX-License-Identifier: Apache-2.0
// Nodes of a running job at the pace of a bucket, but some thirty times as fast.
#include "node/poller.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ledger/paths.h"
#include "ledger/records.h"
#include "ledger/reports.h"
#include "store/forwarding.h"
#include "sys/real_clock.h"
#include "test/contract/training_job.h"
#include "test/kit/faulty.h"
#include "test/kit/memory_store.h"

namespace stoker::node {
namespace {

constexpr char kJob[] = "job1";
constexpr int kNodes = 3;

void Sleep(Duration time) { std::this_thread::sleep_for(std::chrono::milliseconds(time.ms)); }

class FastBucket : public ForwardingStore {
 public:
  explicit FastBucket(ObjectStore& inner) : ForwardingStore(inner), traits_(inner.traits()) {
    traits_.requests_are_free = false;
    traits_.poll = Duration::Ms(50);
    traits_.glance = Duration::Ms(200);
    traits_.look = Duration::Seconds(1);
    traits_.report = Duration::Seconds(1);
  }
  const StoreTraits& traits() const override { return traits_; }

 private:
  StoreTraits traits_;
};

// Of another computer, as far as anybody here knows. Counts what it is asked.
class ForeignProvider : public Provider {
 public:
  ForeignProvider() { traits_.name = kLocalProvider; }
  const ProviderTraits& traits() const override { return traits_; }
  LaunchAnswer Launch(const LaunchRequest&) override {
    return Status(Code::kUnavailable, "not here");
  }
  Result<InstancesSeen> Describe(const std::string&, const std::string&) override {
    ++asked;
    return InstancesSeen();
  }
  Status Terminate(const std::string&) override { return Status::Ok(); }
  Status Interrupt(const std::string&, Duration) override { return Status::Ok(); }
  std::atomic<int> asked{0};

 private:
  ProviderTraits traits_;
};

class PollerTest : public testing::Test {
 protected:
  PollerTest() {
    CreateTrainingJob(*ledger_, TrainingJob(kJob, kNodes, clock_.Wall()));
    for (int rank = 0; rank < kNodes; ++rank) Report(rank);
  }

  void Report(int rank) {
    EXPECT_TRUE(WriteReport(*writes_, TrainingReport(kJob, rank, ++seq_)).ok());
  }

  // The node of rank 2, whose peers look.
  void Start() {
    poller_ = std::make_unique<Poller>(
        *ledger_, controller_, clock_, kJob, kNodes, [this](AgentEvent event) { Take(event); },
        [](NodeReport&) {}, [](const std::string&) {});
    poller_->Start(false);
  }

  void Take(const AgentEvent& event) {
    const std::lock_guard lock(mutex_);
    if (std::holds_alternative<RecordRead>(event)) ++records_;
    const auto* reports = std::get_if<ReportsRead>(&event);
    if (reports == nullptr) return;
    for (const NodeReport& report : reports->reports) {
      if (report.rank == 0) heard_ = report.seq;
    }
    known_ = reports->reports.size();
  }

  // `ranks` report meanwhile. True once `done`, within half a minute.
  bool Until(const std::vector<int>& ranks, const std::function<bool()>& done) {
    for (int tries = 0; tries < 300; ++tries) {
      for (const int rank : ranks) Report(rank);
      if (done()) return true;
      Sleep(Duration::Ms(100));
    }
    return false;
  }

  int64_t Heard() {
    const std::lock_guard lock(mutex_);
    return heard_;
  }

  RealClock clock_;
  MemoryStore store_{[this] { return clock_.Wall(); }};
  FastBucket bucket_{store_};
  FaultyStore faulty_{bucket_, 1, {}};
  std::unique_ptr<Ledger> ledger_ = *Ledger::Open(faulty_, clock_, 1);
  std::unique_ptr<Ledger> writes_ = *Ledger::Open(store_, clock_, 2);
  ForeignProvider provider_;
  Controller controller_{
      *ledger_, [this](const std::string&) -> Result<Provider*> { return &provider_; }, clock_};
  std::mutex mutex_;
  int records_ = 0;  // guarded by mutex_, as what follows
  int64_t heard_ = 0;
  size_t known_ = 0;
  int64_t seq_ = 0;
  std::unique_ptr<Poller> poller_;
};

TEST_F(PollerTest, WhileItsPeersReportTheProviderIsAskedByThem) {
  Start();
  ASSERT_TRUE(Until({0, 1, 2}, [&] { return provider_.asked >= 1; }));
  const int begun = provider_.asked;
  const MonoTime start = clock_.Mono();
  // It has heard of so many reports without any look at all of the job.
  int news = 0;
  int64_t last = Heard();
  ASSERT_TRUE(Until({0, 1, 2}, [&] {
    news += Heard() != last ? 1 : 0;
    last = Heard();
    return news >= 5;
  }));
  EXPECT_LE(provider_.asked - begun, (clock_.Mono() - start).ms / 2'000) << "as alone at least";
  const std::lock_guard lock(mutex_);
  EXPECT_GE(records_, news);
  EXPECT_EQ(known_, 3U) << "what is known of the others still is";
}

TEST_F(PollerTest, OnceALookoutIsSilentItLooksItself) {
  Start();
  ASSERT_TRUE(Until({0, 1, 2}, [&] { return Heard() > 5; }));
  const int begun = provider_.asked;
  EXPECT_TRUE(Until({1, 2}, [&] { return provider_.asked >= begun + 2; }));
}

TEST_F(PollerTest, OnceAReportIsGoneItLooksItself) {
  Start();
  ASSERT_TRUE(Until({0, 1, 2}, [&] { return Heard() > 5; }));
  const int begun = provider_.asked;
  ASSERT_TRUE(store_.Delete(paths::Report(kJob, 1, 1)).ok());
  EXPECT_TRUE(Until({0, 2}, [&] { return provider_.asked >= begun + 2; }));
}

TEST_F(PollerTest, AReportThatTheStoreDoesNotGiveIsTroubleForSoLong) {
  Start();
  ASSERT_TRUE(Until({0, 1, 2}, [&] { return Heard() > 5; }));
  FaultPlan plan;
  plan.before = 1000;
  plan.only = [](StoreCall call, const std::string& key) {
    return call == StoreCall::kGet && key == paths::Report(kJob, 1, 0);
  };
  faulty_.SetPlan(plan);
  ASSERT_TRUE(Until({0, 1, 2}, [&] { return faulty_.injected() >= 2; }));
  NodeReport mine;
  mine.job = kJob;
  mine.attempt = 1;
  mine.rank = 2;
  mine.launch = 3;
  mine.incarnation = "x";
  mine.phase = NodePhase::kRunning;
  poller_->Publish(mine);
  ASSERT_TRUE(poller_->Settle(Duration::Seconds(30)));
  const auto told = ReadReport(*writes_, kJob, 1, 2);
  ASSERT_TRUE(told.ok());
  EXPECT_NE(told->trouble.find("injected"), std::string::npos) << told->trouble;
  // Then all is as before: a peer looks.
  faulty_.SetPlan({});
  const int64_t last = Heard();
  ASSERT_TRUE(Until({0, 1, 2}, [&] { return Heard() > last; }));
  const int begun = provider_.asked;
  const MonoTime start = clock_.Mono();
  ASSERT_TRUE(Until({0, 1, 2}, [&] { return clock_.Mono() - start > Duration::Seconds(2); }));
  EXPECT_LE(provider_.asked - begun, 2);
}

}  // namespace
}  // namespace stoker::node
