// SPDX-License-Identifier: Apache-2.0
#include "node/report_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "base/digest.h"
#include "ledger/records.h"
#include "ledger/reports.h"
#include "node/poller.h"
#include "spec/print.h"
#include "sys/real_clock.h"
#include "test/kit/faulty.h"
#include "test/kit/memory_store.h"

namespace stoker::node {
namespace {

NodeReport Of(const std::string& job, NodePhase phase) {
  NodeReport report;
  report.job = job;
  report.attempt = 1;
  report.launch = 1;
  report.incarnation = "x";
  report.phase = phase;
  return report;
}

// Of one answer. STOKER_SLOW_CALL_MS=5000 measures what docs/measurements.md says.
int64_t SlowCallMs() {
  const char* ms = std::getenv("STOKER_SLOW_CALL_MS");
  return ms != nullptr ? std::atoll(ms) : 100;
}

// Forty machines are asked for, and each answer takes its time.
class SlowProvider : public Provider {
 public:
  SlowProvider() { traits_.name = "local"; }
  const ProviderTraits& traits() const override { return traits_; }
  LaunchAnswer Launch(const LaunchRequest&) override {
    ++launches;
    std::this_thread::sleep_for(std::chrono::milliseconds(SlowCallMs()));
    return Refusal{RefusalClass::kThrottled, RefusalScope::kAccount, {}, {}, false,
                   "RequestLimitExceeded"};
  }
  Result<InstancesSeen> Describe(const std::string&, const std::string&) override {
    return InstancesSeen();
  }
  Status Terminate(const std::string&) override { return Status::Ok(); }
  Status Interrupt(const std::string&, Duration) override { return Status::Ok(); }
  std::atomic<int> launches{0};

 private:
  ProviderTraits traits_;
};

class ReportWriterTest : public testing::Test {
 protected:
  int64_t SeqOf(const std::string& job) {
    ReportReader reader(*ledger_);
    const auto read = reader.Read(job);
    return read.ok() && !read->empty() ? read->front().report.seq : 0;
  }

  RealClock clock_;
  MemoryStore store_{[this] { return clock_.Wall(); }};
  FaultyStore faulty_{store_, 1, {}};
  std::unique_ptr<Ledger> ledger_ = *Ledger::Open(faulty_, clock_, 1);
};

TEST_F(ReportWriterTest, KeepsItsPaceWhileAPassWaitsForTheProvider) {
  JobSpec spec;
  spec.name = "train";
  spec.run = "true";
  spec.num_nodes = 40;
  const std::string text = PrintJobSpec(spec);
  Job job;
  job.id = "job1";
  job.name = "train";
  job.num_nodes = 40;
  job.spec_digest = Sha256Hex(text);
  job.created = clock_.Wall();
  ASSERT_TRUE(CreateJob(*ledger_, job, text).ok());
  SlowProvider provider;
  Controller controller(
      *ledger_, [&](const std::string&) -> Result<Provider*> { return &provider; }, clock_);
  int written = 0;
  int64_t slowest = 0;
  {
    Poller poller(
        *ledger_, controller, clock_, "job1", 1, [](AgentEvent) {}, [](NodeReport&) {},
        [](const std::string&) {});
    poller.Start(true);
    while (provider.launches < 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    // One pass asks for all of them. Before it is over, each piece of news is in the store.
    while (provider.launches < 35) {
      const MonoTime begin = clock_.Mono();
      poller.Publish(Of("job1", NodePhase::kRunning));
      ASSERT_TRUE(poller.Settle(Duration::Seconds(30)));
      slowest = std::max(slowest, (clock_.Mono() - begin).ms);
      ++written;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  std::printf("40 calls of %lld ms: %d reports meanwhile, the slowest in the store after %lld ms\n",
              static_cast<long long>(SlowCallMs()), written, static_cast<long long>(slowest));
  EXPECT_GT(written, 34) << "less than one in the time of an answer";
  EXPECT_GE(SeqOf("job1"), written);
}

TEST_F(ReportWriterTest, WhatTheStoreRefusesIsWrittenLater) {
  std::atomic<bool> away{true};
  FaultPlan plan;
  plan.before = 1000;
  plan.only = [&](StoreCall call, const std::string&) { return away && call == StoreCall::kPut; };
  FaultyStore faulty(store_, 2, plan);
  const auto ledger = *Ledger::Open(faulty, clock_, 2);
  ReportWriter writer(*ledger, clock_, [](NodeReport&) {});
  writer.Start();
  writer.Publish(Of("job1", NodePhase::kRunning));
  EXPECT_FALSE(writer.Tried()) << "the store has not taken it";
  away = false;
  EXPECT_TRUE(writer.Settle(Duration::Seconds(30)));
  EXPECT_TRUE(writer.Tried());
  EXPECT_GE(SeqOf("job1"), 1);
}

TEST_F(ReportWriterTest, TheLastWordIsWrittenAtItsEnd) {
  {
    ReportWriter writer(*ledger_, clock_, [](NodeReport&) {});
    writer.Start();
    writer.Publish(Of("job1", NodePhase::kEnded));
  }
  EXPECT_EQ(SeqOf("job1"), 1);
}

TEST_F(ReportWriterTest, WhoMayNotPublishWritesNothing) {
  {
    ReportWriter writer(*ledger_, clock_, [](NodeReport&) {});
    writer.Start();
    writer.Refresh(Of("job1", NodePhase::kRunning), false);
    EXPECT_TRUE(writer.Settle(Duration::Seconds(1)));
  }
  EXPECT_EQ(SeqOf("job1"), 0);
}

}  // namespace
}  // namespace stoker::node
