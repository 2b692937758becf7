// SPDX-License-Identifier: Apache-2.0
#include "node/poller.h"

#include <algorithm>
#include <chrono>

#include "ledger/reports.h"

namespace stoker::node {
namespace {

// A job in which nothing has happened for so long is looked at half as often.
constexpr Duration kQuiet = Duration::Seconds(3);

}  // namespace

Poller::Poller(Ledger& ledger, Controller& controller, Clock& clock, std::string job, Post post,
               Complete complete)
    : ledger_(ledger),
      controller_(controller),
      clock_(clock),
      job_(std::move(job)),
      post_(std::move(post)),
      complete_(std::move(complete)) {}

Poller::~Poller() {
  stop_ = true;
  bell_.Ring();
  if (thread_.joinable()) thread_.join();
}

void Poller::Start(bool act) {
  act_ = act;
  thread_ = std::thread([this] { Run(); });
}

void Poller::Publish(const NodeReport& report) {
  {
    const std::lock_guard lock(mutex_);
    report_ = report;
    have_report_ = true;
    dirty_ = true;
  }
  bell_.Ring();
}

void Poller::Refresh(const NodeReport& report, bool publishes) {
  const std::lock_guard lock(mutex_);
  report_ = report;
  publishes_ = publishes;
}

bool Poller::Settle(Duration within) {
  const MonoTime end = clock_.Mono() + within;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (!dirty_) return true;
    }
    if (clock_.Mono() >= end) return false;
    bell_.Ring();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

std::string Poller::trouble() {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

bool Poller::WriteReport() {
  NodeReport report;
  {
    const std::lock_guard lock(mutex_);
    if (!have_report_ || (!dirty_ && !publishes_)) return false;
    const bool due = clock_.Mono() - last_write_ >= ledger_.store().traits().report;
    if (!dirty_ && !due) return false;
    report = report_;
    dirty_ = false;
  }
  complete_(report);
  report.seq = ++seq_;
  const Status written = stoker::WriteReport(ledger_, report);
  last_write_ = clock_.Mono();
  const std::lock_guard lock(mutex_);
  trouble_ = written.ok() ? "" : written.ToString();
  if (!written.ok()) dirty_ = true;  // again at the next turn
  return written.ok();
}

void Poller::Pass() {
  const Instant begun{clock_.Mono(), clock_.Wall()};
  const auto pass = controller_.Pass(job_, act_);
  if (!pass.ok()) {
    const std::lock_guard lock(mutex_);
    trouble_ = pass.status().ToString();
    return;
  }
  // What other nodes may be waiting for; the counters in reports are nobody's news.
  std::string state = std::to_string(pass->job.rev);
  for (const ReportSeen& seen : pass->reports) {
    const NodeReport& report = seen.report;
    state += " " + std::to_string(report.attempt) + "-" + std::to_string(report.rank) +
             std::string(Name(report.phase));
  }
  if (state != state_) changed_at_ = clock_.Mono();
  state_ = std::move(state);
  if (pass->changed) bell_.Ring();  // what follows from it should not wait for the next turn
  // Each time, also when nothing changed: a supervisor that was busy looks at it when it is done.
  post_(RecordRead{pass->job, begun});
  ReportsRead reports;
  for (const ReportSeen& seen : pass->reports) reports.reports.push_back(seen.report);
  post_(std::move(reports));
}

void Poller::Run() {
  const Duration poll = ledger_.store().traits().poll;
  while (!stop_) {
    WriteReport();
    Pass();
    const bool quiet = clock_.Mono() - changed_at_ >= std::max(kQuiet, poll * 20);
    bell_.Wait(quiet ? 2 * poll.ms : poll.ms);
  }
  WriteReport();
}

}  // namespace stoker::node
