// SPDX-License-Identifier: Apache-2.0
#include "controller/teller.h"

#include <algorithm>

#include "base/text.h"
#include "ledger/index.h"

namespace stoker {
namespace {

constexpr size_t kMostLines = 10;
constexpr Duration kAskWarnings = Duration::Seconds(30);
constexpr Duration kFirstPause = Duration::Seconds(5);
constexpr Duration kLongestPause = Duration::Minutes(1);

// What the node that failed said last. Secrets were taken out of it on the node.
std::string LinesOf(const Attempt* attempt, const std::vector<ReportSeen>& reports) {
  if (attempt == nullptr || !attempt->ending) return "";
  const int rank = std::max(0, attempt->ending->rank);
  for (const ReportSeen& seen : reports) {
    const NodeReport& report = seen.report;
    if (report.attempt != attempt->number || report.rank != rank) continue;
    std::vector<std::string> lines = Split(report.stderr_tail, '\n');
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    if (lines.size() > kMostLines) lines.erase(lines.begin(), lines.end() - kMostLines);
    for (std::string& line : lines) line = Printable(line);
    return Join(lines, "\n");
  }
  return "";
}

Notification NotificationOf(const Job& job, const JobEvent& event,
                            const std::vector<ReportSeen>& reports) {
  Notification what;
  what.job = job.id;
  what.name = job.name;
  what.event = event.is[0];
  what.key = job.id + "-" + event.key;
  what.state = std::string(Name(job.state));
  what.text = event.text;
  what.next = event.next;
  what.at = event.at;
  const bool failed = std::find(event.is.begin(), event.is.end(), "failure") != event.is.end();
  if (failed) what.lines = LinesOf(FindAttempt(job, event.attempt), reports);
  return what;
}

Duration PauseAfter(int tries) {
  Duration pause = kFirstPause;
  for (int n = 1; n < tries && pause < kLongestPause; ++n) pause = pause * 2;
  return std::min(pause, kLongestPause);
}

// What became of a try.
void Judge(const Status& sent, WallTime now, Notified* told) {
  told->at = now;
  if (sent.ok()) {
    told->state = "sent";
    told->why.clear();
    return;
  }
  told->why = sent.ToString();
  // An answer that was cut off says no more than none.
  const bool passes = sent.transient() || sent.Is(Code::kCorrupt);
  const bool again = passes && now - told->first < kKeepTelling;
  told->state = again ? "failed" : "given_up";
  told->next = now + PauseAfter(told->tries);
}

}  // namespace

std::vector<Teller::Due> Teller::DueOf(const Job& job, const JobSpec& spec, WallTime now) const {
  std::vector<Due> due;
  const auto over = over_.find(job.id);
  const auto warned = warned_.find(job.id);
  static const Warned kNone;
  const Warned& warnings = warned == warned_.end() ? kNone : warned->second;
  for (size_t entry = 0; entry < spec.notify.size(); ++entry) {
    const NotifySpec& to = spec.notify[entry];
    for (JobEvent& event : EventsOf(job, to.no_machine, warnings.texts, now)) {
      const int number = static_cast<int>(entry);
      if (!Wants(to, event)) continue;
      for (size_t n = 0; n < warnings.since.size(); ++n) {
        if (event.key == "rule-" + std::to_string(n + 1)) {
          event.at = std::min(event.at, warnings.since[n]);
        }
      }
      if (over != over_.end() && over->second.contains({event.key, number})) continue;
      due.push_back({std::move(event), number});
    }
  }
  return due;
}

// What rules that only warn have said is not in the record, but in what is told of the metrics.
Status Teller::LearnWarnings(const Job& job, const JobSpec& spec, WallTime now_wall) {
  const bool warns = std::any_of(spec.stop_when.begin(), spec.stop_when.end(),
                                 [](const StopRuleSpec& rule) { return rule.warn; });
  const bool wanted = std::any_of(spec.notify.begin(), spec.notify.end(), [](const NotifySpec& to) {
    return std::find(to.on.begin(), to.on.end(), "rule") != to.on.end();
  });
  if (!warns || !wanted) return Status::Ok();
  Warned& warned = warned_[job.id];
  const MonoTime now = clock_.Mono();
  const bool soon = warned.asked.ms > 0 && now - warned.asked < kAskWarnings;
  if (warned.last || (soon && !IsFinal(job.state))) return Status::Ok();
  warned.asked = now;
  const auto totals = ReadMetricTotals(ledger_.store(), job.id);
  if (!totals.ok()) return totals.status();  // the next look asks again
  warned.texts = totals->warnings;
  while (warned.since.size() < warned.texts.size()) warned.since.push_back(now_wall);
  warned.last = IsFinal(job.state);
  return Status::Ok();
}

bool Teller::Pending(const Job& job, const JobSpec& spec, WallTime now) {
  (void)LearnWarnings(job, spec, now);
  if (spec.notify.empty() || DueOf(job, spec, now).empty()) return false;
  return !Learn(job).ok() || !DueOf(job, spec, now).empty();
}

// Once for each job: what others have told before this process began.
Status Teller::Learn(const Job& job) {
  if (over_.contains(job.id)) return Status::Ok();
  STOKER_ASSIGN(const std::vector<Notified> all, ListNotified(ledger_, job.id));
  auto& over = over_[job.id];
  for (const Notified& one : all) {
    if (one.over()) over.insert({one.key, one.entry});
  }
  return Status::Ok();
}

// False: it is still to be told.
Result<bool> Teller::TellOne(const Job& job, const JobSpec& spec, const Due& due, WallTime now,
                             const std::vector<ReportSeen>& reports, Told* told) {
  const NotifySpec& to = spec.notify[static_cast<size_t>(due.entry)];
  const Key key{due.event.key, due.entry};
  if (const auto found = unwritten_[job.id].find(key); found != unwritten_[job.id].end()) {
    STOKER_TRY(WriteNotified(ledger_, job.id, found->second));
    const bool over = found->second.over();
    unwritten_[job.id].erase(found);
    return over;
  }
  const auto before = ReadNotified(ledger_, job.id, due.event.key, due.entry);
  if (!before.ok() && !before.status().Is(Code::kNotFound)) return before.status();
  Notified mark;
  mark.key = due.event.key;
  mark.entry = due.entry;
  mark.first = now;
  mark.text = due.event.text;
  if (before.ok()) {
    if (before->over()) return true;
    const Duration since = now - before->at;
    if (before->state == "sending" && since < kSendingFor) {
      told->busy = told->busy || since < kSendTakes;
      return false;
    }
    if (before->state == "failed" && now < before->next) return false;
    mark = *before;
  }
  const bool knows = notifier_.Knows(job, spec, to);
  if (!knows && now - std::min(mark.first, due.event.at) < kKeepTelling) return false;
  mark.state = "sending";
  mark.at = now;
  ++mark.tries;
  const Status begun = BeginNotified(ledger_, job.id, mark);
  if (begun.Is(Code::kExists)) {
    told->busy = true;
    return false;
  }
  STOKER_TRY(begun);
  const MonoTime sends = clock_.Mono();
  const Status sent = knows
                          ? notifier_.Send(job, spec, to, NotificationOf(job, due.event, reports))
                          : Status(Code::kInvalid, "nobody who looked after the job had " + to.to);
  Judge(sent, now + (clock_.Mono() - sends), &mark);
  told->notes.push_back("notify: " + due.event.key + " to " + Whom(to) + ": " + mark.state +
                        (mark.why.empty() ? "" : ": " + mark.why));
  if (const Status written = WriteNotified(ledger_, job.id, mark); !written.ok()) {
    unwritten_[job.id][key] = mark;
    return written;
  }
  return mark.over();
}

Result<Teller::Told> Teller::Tell(const Job& job, const JobSpec& spec, WallTime now,
                                  const std::vector<ReportSeen>& reports) {
  Told told;
  const Status learned = LearnWarnings(job, spec, now);
  if (IsFinal(job.state) && learned.transient()) return learned;  // it stays pending
  if (spec.notify.empty() || DueOf(job, spec, now).empty()) return told;
  STOKER_TRY(Learn(job));
  const MonoTime begun = clock_.Mono();
  for (const Due& due : DueOf(job, spec, now)) {
    const Duration since = clock_.Mono() - begun;
    // A pass of a job that goes on has more to do than to wait for a server.
    const bool over = since >= kTellFor || (enough_ && enough_());
    if (over || (!told.notes.empty() && !IsFinal(job.state))) {
      told.pending = true;
      break;
    }
    STOKER_ASSIGN(const bool done, TellOne(job, spec, due, now + since, reports, &told));
    if (done) {
      over_[job.id].insert({due.event.key, due.entry});
    } else {
      told.pending = true;
    }
  }
  return told;
}

void Teller::KeepOnly(const std::set<std::string>& jobs) {
  std::erase_if(over_, [&](const auto& entry) { return !jobs.contains(entry.first); });
  std::erase_if(warned_, [&](const auto& entry) { return !jobs.contains(entry.first); });
  std::erase_if(unwritten_, [&](const auto& entry) { return !jobs.contains(entry.first); });
}

}  // namespace stoker
