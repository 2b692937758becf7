// SPDX-License-Identifier: Apache-2.0
// What keeps a node in touch: its report, its passes over the job, the platform's notice.
#include "ledger/reports.h"
#include "sim/node_agent.h"

namespace stoker::sim {

bool NodeAgent::MayAct() const {
  switch (host_.world.plan().tier) {
    case Tier::kAll:
    case Tier::kAgents:
      return true;
    case Tier::kDeparting:
      return noticed_;
    case Tier::kVerbs:
    case Tier::kTimer:
      return false;
  }
  return true;
}

bool NodeAgent::WriteReport() {
  if (!have_report_ || (!dirty_ && !publishes_)) return false;
  const bool due = !last_write_ || host_.clock.Mono() - *last_write_ >= store_.traits().report;
  if (!dirty_ && !due) return false;
  NodeReport report = report_;
  dirty_ = false;
  if (run_ && run_->attempt() == report.attempt) run_->Complete(report);
  report.seq = ++seq_;
  const Status written = stoker::WriteReport(*ledger_, report);
  last_write_ = host_.clock.Mono();
  trouble_ = written.ok() ? "" : written.ToString();
  if (!written.ok()) {
    dirty_ = true;
    pace_->Disturb();
  }
  return written.ok();
}

void NodeAgent::Look(bool rung) {
  if (rung) pace_->Disturb();
  const Instant begun{host_.clock.Mono(), host_.clock.Wall()};
  if (pace_->Whole(begun.mono)) return Pass();
  auto seen = controller_->Glance(host_.request.job);
  if (!seen.ok()) {
    pace_->Disturb();
    trouble_ = seen.status().ToString();
  } else if (*seen) {
    Post(RecordRead{std::move(**seen), begun});
  } else {
    Pass();
  }
}

void NodeAgent::Pass() {
  const Instant begun{host_.clock.Mono(), host_.clock.Wall()};
  const auto pass = controller_->Pass(host_.request.job, MayAct());
  if (!pass.ok()) {
    pace_->Disturb();
    trouble_ = pass.status().ToString();
    return;
  }
  pace_->Looked(begun.mono, pass->job, pass->reports, pass->machines, pass->changed);
  if (pass->trouble) pace_->Disturb();
  if (pass->changed) bell_.Notify();
  Post(RecordRead{pass->job, begun});
  ReportsRead reports;
  for (const ReportSeen& seen : pass->reports) reports.reports.push_back(seen.report);
  Post(std::move(reports));
}

void NodeAgent::Poll() {
  pace_.emplace(store_.traits());
  bool rung = true;
  while (!off_) {
    WriteReport();
    Look(rung);
    rung = bell_.Wait(pace_->Pause(host_.clock.Mono()).ms);
  }
  WriteReport();
  while (dirty_) {
    Sleep(200);
    WriteReport();
  }
}

std::optional<Notice> NodeAgent::NoticeNow() const {
  const CloudMachine* machine = host_.world.cloud().Find(host_.id);
  if (machine == nullptr) return std::nullopt;
  return machine->notice;
}

void NodeAgent::WatchNotices() {
  // Whoever has just started does not know yet what its platform says.
  const int64_t first = host_.world.rng().Between(0, 500);
  Sleep(first);
  for (;;) {
    const auto notice = NoticeNow();
    if (notice != told_notice_) {
      told_notice_ = notice;
      noticed_ = noticed_ || notice.has_value();
      Post(NoticeRead{notice});
    }
    Sleep(host_.world.plan().notice_poll.ms);
  }
}

}  // namespace stoker::sim
