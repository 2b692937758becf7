// SPDX-License-Identifier: Apache-2.0
#include "node/poller.h"

#include "agent/heed.h"
#include "ledger/paths.h"

namespace stoker::node {
Poller::Poller(Ledger& ledger, Controller& controller, Clock& clock, std::string job, int launch,
               Post post, CompleteReport complete, Gone gone)
    : ledger_(ledger),
      controller_(controller),
      clock_(clock),
      job_(std::move(job)),
      post_(std::move(post)),
      complete_(std::move(complete)),
      gone_(std::move(gone)),
      pace_(ledger.store().traits(), launch),
      reports_(ledger, clock, [this](NodeReport& report) { Complete(report); }) {}

Poller::~Poller() {
  stop_ = true;
  bell_.Ring();
  if (thread_.joinable()) thread_.join();
}

void Poller::Start(bool act) {
  act_ = act;
  reports_.Start();
  thread_ = std::thread([this] { Run(); });
}

void Poller::Publish(const NodeReport& report) {
  reports_.Publish(report);
  bell_.Ring();
}

void Poller::Refresh(const NodeReport& report, bool publishes) {
  reports_.Refresh(report, publishes);
}

bool Poller::Settle(Duration within) { return reports_.Settle(within); }

void Poller::Complete(NodeReport& report) {
  complete_(report);
  const std::lock_guard lock(mutex_);
  if (!trouble_.empty()) report.trouble += (report.trouble.empty() ? "" : "; ") + trouble_;
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
  OnTrouble(status);
}

void Poller::OnTrouble(const Status& trouble) {
  const std::lock_guard lock(mutex_);
  trouble_ = trouble.ok() ? "" : trouble.ToString();
}

void Poller::Look(bool rung) {
  if (rung) pace_.Disturb();
  const Instant begun{clock_.Mono(), clock_.Wall()};
  if (pace_.Whole(begun.mono)) return Pass();
  const bool told = reports_.AnyWritten();
  auto seen = controller_.Glance(job_);
  if (!seen.ok()) return Failed(seen.status());
  ledger_watch_.Otherwise();
  if (!*seen) return Pass();
  OnTrouble(Status::Ok());
  post_(RecordRead{std::move(**seen), begun, {}, told});
  Heed(begun.mono);
}

// Of the peers who look while this node does not. What they say keeps it there, too, where it has
// completed and waits for the rest (agent/supervisor.h).
void Poller::Heed(MonoTime now) {
  const auto heard = HeedLookouts(ledger_, job_, now, pace_, &peers_);
  if (!heard.ok()) return Failed(heard.status());
  if (*heard) post_(ReportsRead{peers_});
}

void Poller::Pass() {
  const Instant begun{clock_.Mono(), clock_.Wall()};
  const bool told = reports_.AnyWritten();
  const auto pass = controller_.Pass(job_, act_);
  if (!pass.ok()) return Failed(pass.status());
  ledger_watch_.Otherwise();
  pace_.Looked(begun.mono, pass->job, pass->reports, pass->machines, pass->changed,
               pass->store_now);
  if (pass->trouble) pace_.Disturb();
  // What may pass is tried again, and no news; that this node may not ask for machines is.
  OnTrouble(pass->trouble && !pass->trouble->transient() ? *pass->trouble : Status::Ok());
  if (pass->changed) bell_.Ring();  // what follows from it should not wait for the next turn
  // Each time, also when nothing changed: a supervisor that was busy looks at it when it is done.
  post_(RecordRead{pass->job, begun, pass->store_now, told});
  peers_.clear();
  for (const ReportSeen& seen : pass->reports) peers_.push_back(seen.report);
  post_(ReportsRead{peers_});
}

void Poller::Run() {
  bool rung = true;
  while (!stop_) {
    if (!reports_.Tried()) pace_.Disturb();
    Look(rung);
    rung = bell_.Wait(pace_.Pause(clock_.Mono()).ms);
  }
}

}  // namespace stoker::node
