// SPDX-License-Identifier: Apache-2.0
// What keeps a node in touch: its report, its passes over the job, the platform's notice.
#include <algorithm>

#include "agent/heed.h"
#include "ledger/reports.h"
#include "sim/node/node_agent.h"

namespace stoker::sim {
namespace {

constexpr Duration kIdle = Duration::Minutes(1);

}  // namespace

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

std::optional<MonoTime> NodeAgent::ReportDue() const {
  if (!have_report_) return std::nullopt;
  if (tried_ < published_) return MonoTime{};
  if (written_ < published_) return last_try_ + store_.traits().poll;
  if (publishes_) return last_try_ + store_.traits().report;
  return std::nullopt;
}

void NodeAgent::WriteReport() {
  NodeReport report = report_;
  const int64_t news = published_;
  if (run_ && run_->attempt() == report.attempt) run_->Complete(report);
  report.seq = ++seq_;
  const Status written = stoker::WriteReport(*ledger_, report);
  last_try_ = host_.clock.Mono();
  tried_ = std::max(tried_, news);
  if (written.ok()) written_ = std::max(written_, news);
  trouble_ = written.ok() ? "" : written.ToString();
  tried_now_.Notify();
}

void NodeAgent::WriteReports() {
  while (!off_ || written_ < published_) {
    const auto due = ReportDue();
    const Duration left = due ? *due - host_.clock.Mono() : kIdle;
    if (left.ms <= 0) {
      WriteReport();
    } else {
      (void)news_.Wait(left.ms);
    }
  }
}

// News are in the store before the pass that goes by them.
void NodeAgent::NewsFirst() {
  const int64_t all = published_;
  while (tried_ < all) (void)tried_now_.Wait(kIdle.ms);
  if (written_ < all) pace_->Disturb();
}

void NodeAgent::Look(bool rung) {
  if (rung) pace_->Disturb();
  const Instant begun{host_.clock.Mono(), host_.clock.Wall()};
  if (pace_->Whole(begun.mono)) return Pass();
  const bool told = written_ > 0;
  auto seen = controller_->Glance(host_.request.job);
  if (!seen.ok()) {
    pace_->Disturb();
    trouble_ = seen.status().ToString();
  } else if (*seen) {
    Post(RecordRead{std::move(**seen), begun, {}, told});
    Heed(begun.mono);
  } else {
    Pass();
  }
}

void NodeAgent::Heed(MonoTime now) {
  const auto heard = HeedLookouts(*ledger_, host_.request.job, now, *pace_, &peers_);
  if (!heard.ok()) {
    pace_->Disturb();
    trouble_ = heard.status().ToString();
  } else if (*heard) {
    Post(ReportsRead{peers_});
  }
}

void NodeAgent::Pass() {
  const Instant begun{host_.clock.Mono(), host_.clock.Wall()};
  const bool told = written_ > 0;
  const auto pass = controller_->Pass(host_.request.job, MayAct());
  if (!pass.ok()) {
    pace_->Disturb();
    trouble_ = pass.status().ToString();
    return;
  }
  pace_->Looked(begun.mono, pass->job, pass->reports, pass->machines, pass->changed,
                pass->store_now);
  if (pass->trouble) pace_->Disturb();
  if (pass->changed) bell_.Notify();
  Post(RecordRead{pass->job, begun, pass->store_now, told});
  peers_.clear();
  for (const ReportSeen& seen : pass->reports) peers_.push_back(seen.report);
  Post(ReportsRead{peers_});
}

void NodeAgent::Poll() {
  pace_.emplace(store_.traits(), host_.launch);
  bool rung = true;
  while (!off_) {
    NewsFirst();
    Look(rung);
    rung = bell_.Wait(pace_->Pause(host_.clock.Mono()).ms);
  }
}

std::optional<Notice> NodeAgent::NoticeNow() const {
  const CloudMachine* machine = host_.world.cloud().Find(host_.id);
  if (machine == nullptr || host_.kept) return std::nullopt;
  return machine->notice;
}

// How the program saves, as the supervisor is told it.
void NodeAgent::SeeSaving() {
  Saving saving;
  if (run_) saving = run_->SavingNow(supervisor_->ended_unsaved());
  told_.saving = saving;
  Post(SavingSeen{saving});
}

// The platform's notice, with the times that the checks go by.
ToldToEnd NodeAgent::WhyToEnd() const {
  ToldToEnd told = told_;
  told.stood_still = heard_at_ >= 0 && host_.stood_still_until() >= heard_at_;
  return told;
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
      told_.until.reset();
      heard_at_ = host_.world.now();
      if (notice) {
        told_.lead_ms = std::max<int64_t>(0, (notice->until - host_.clock.Wall()).ms);
        told_.until = heard_at_ + told_.lead_ms;
        const int64_t from = *told_.until - told_.lead_ms / 6;
        told_.kill_from = std::min(told_.kill_from.value_or(from), from);
        const int64_t looks = host_.world.rng().Between(0, 300);
        Sleep(looks);
      }
      SeeSaving();
    }
    Sleep(host_.world.plan().notice_poll.ms);
  }
}

}  // namespace stoker::sim
