// SPDX-License-Identifier: Apache-2.0
#include "node/report_writer.h"

#include <algorithm>
#include <chrono>

#include "ledger/reports.h"

namespace stoker::node {
namespace {

constexpr Duration kIdle = Duration::Minutes(1);

std::chrono::milliseconds Of(Duration duration) { return std::chrono::milliseconds(duration.ms); }

}  // namespace

ReportWriter::ReportWriter(Ledger& ledger, Clock& clock, Complete complete)
    : ledger_(ledger), clock_(clock), complete_(std::move(complete)) {}

ReportWriter::~ReportWriter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ReportWriter::Start() {
  thread_ = std::thread([this] { Run(); });
}

void ReportWriter::Publish(const NodeReport& report) {
  {
    const std::lock_guard lock(mutex_);
    report_ = report;
    have_report_ = true;
    ++published_;
  }
  changed_.notify_all();
}

void ReportWriter::Refresh(const NodeReport& report, bool publishes) {
  {
    const std::lock_guard lock(mutex_);
    report_ = report;
    if (publishes_ == publishes) return;
    publishes_ = publishes;
  }
  changed_.notify_all();
}

bool ReportWriter::Tried() {
  std::unique_lock lock(mutex_);
  const int64_t all = published_;
  changed_.wait(lock, [&] { return tried_ >= all || stop_; });
  return written_ >= all;
}

bool ReportWriter::AnyWritten() {
  const std::lock_guard lock(mutex_);
  return written_ > 0;
}

bool ReportWriter::Settle(Duration within) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, Of(within), [&] { return written_ >= published_; });
}

// With the lock held: when the next is to be written; unset: not before something changes. News are
// written at once, but for those that the store has just refused.
std::optional<MonoTime> ReportWriter::Due() const {
  const StoreTraits& traits = ledger_.store().traits();
  if (!have_report_) return std::nullopt;
  if (tried_ < published_) return MonoTime{};
  if (written_ < published_) return last_try_ + traits.poll;
  if (publishes_) return last_try_ + traits.report;
  return std::nullopt;
}

void ReportWriter::Write() {
  std::unique_lock lock(mutex_);
  NodeReport report = report_;
  const int64_t news = published_;
  const std::string trouble = trouble_;
  lock.unlock();
  complete_(report);
  if (!trouble.empty()) report.trouble += (report.trouble.empty() ? "" : "; ") + trouble;
  report.seq = ++seq_;
  const Status written = WriteReport(ledger_, report);
  lock.lock();
  last_try_ = clock_.Mono();
  trouble_ = written.ok() ? "" : written.ToString();
  tried_ = std::max(tried_, news);
  if (written.ok()) written_ = std::max(written_, news);
  lock.unlock();
  changed_.notify_all();
}

void ReportWriter::Run() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      for (;;) {
        const auto due = Due();
        if (stop_) break;
        const Duration left = due ? *due - clock_.Mono() : kIdle;
        if (left.ms <= 0) break;
        changed_.wait_for(lock, Of(left));
      }
      if (stop_ && (!have_report_ || written_ >= published_)) return;
      if (stop_ && tried_at_end_) return;
      tried_at_end_ = stop_;
    }
    Write();
  }
}

}  // namespace stoker::node
