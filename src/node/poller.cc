// SPDX-License-Identifier: Apache-2.0
#include "node/poller.h"

#include <chrono>

#include "ledger/paths.h"
#include "ledger/reports.h"

namespace stoker::node {
Poller::Poller(Ledger& ledger, Controller& controller, Clock& clock, std::string job, Post post,
               Complete complete, Gone gone)
    : ledger_(ledger),
      controller_(controller),
      clock_(clock),
      job_(std::move(job)),
      post_(std::move(post)),
      complete_(std::move(complete)),
      gone_(std::move(gone)),
      pace_(ledger.store().traits()) {}

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
      if (!dirty_ && !writing_) return true;
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
    writing_ = true;
  }
  complete_(report);
  report.seq = ++seq_;
  const Status written = stoker::WriteReport(ledger_, report);
  last_write_ = clock_.Mono();
  if (!written.ok()) pace_.Disturb();
  const std::lock_guard lock(mutex_);
  writing_ = false;
  trouble_ = written.ok() ? "" : written.ToString();
  if (!written.ok()) dirty_ = true;  // again at the next turn
  return written.ok();
}

// A failure of the store to answer says nothing about what is in it.
void Poller::LookForRecord(const Status& failure) {
  const auto there = [this](const std::string& key) { return ledger_.store().Head(key).code(); };
  if (failure.transient() || there(paths::Record(job_)) != Code::kNotFound) {
    return ledger_watch_.Otherwise();
  }
  ledger_watch_.Missing(clock_.Mono());
  if (!ledger_watch_.Gone(clock_.Mono())) return;
  const bool all = there(paths::LedgerId()) == Code::kNotFound;
  gone_((all ? "the ledger " + ledger_.store().url() + " has been deleted"
             : "the record of job " + job_ + " has been deleted from " + ledger_.store().url()) +
        ": its store has answered for " + HumanDuration(LedgerWatch::kGone) +
        ", and has it no more");
}

void Poller::Failed(const Status& status) {
  LookForRecord(status);
  pace_.Disturb();
  const std::lock_guard lock(mutex_);
  trouble_ = status.ToString();
}

void Poller::Look(bool rung) {
  if (rung) pace_.Disturb();
  const Instant begun{clock_.Mono(), clock_.Wall()};
  if (pace_.Whole(begun.mono)) return Pass();
  auto seen = controller_.Glance(job_);
  if (!seen.ok()) return Failed(seen.status());
  ledger_watch_.Otherwise();
  if (!*seen) return Pass();
  post_(RecordRead{std::move(**seen), begun});
}

void Poller::Pass() {
  const Instant begun{clock_.Mono(), clock_.Wall()};
  const auto pass = controller_.Pass(job_, act_);
  if (!pass.ok()) return Failed(pass.status());
  ledger_watch_.Otherwise();
  pace_.Looked(begun.mono, pass->job, pass->reports, pass->machines, pass->changed);
  if (pass->trouble) pace_.Disturb();
  if (pass->changed) bell_.Ring();  // what follows from it should not wait for the next turn
  // Each time, also when nothing changed: a supervisor that was busy looks at it when it is done.
  post_(RecordRead{pass->job, begun});
  ReportsRead reports;
  for (const ReportSeen& seen : pass->reports) reports.reports.push_back(seen.report);
  post_(std::move(reports));
}

void Poller::Run() {
  bool rung = true;
  while (!stop_) {
    WriteReport();
    Look(rung);
    rung = bell_.Wait(pace_.Pause(clock_.Mono()).ms);
  }
  WriteReport();
}

}  // namespace stoker::node
