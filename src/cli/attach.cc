// SPDX-License-Identifier: Apache-2.0
#include "cli/attach.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "agent/flush_policy.h"
#include "base/text.h"
#include "cli/terminal/interrupts.h"
#include "cli/terminal/log_printer.h"
#include "cli/words/story.h"
#include "client/job_watch.h"
#include "client/open/full_store.h"
#include "ledger/log/log_reader.h"
#include "ledger/paths.h"
#include "node/attempt/own_variables.h"
#include "policy/placement.h"
#include "view/lineage.h"
#include "view/troubles_told.h"

namespace stoker::cli {
namespace {

constexpr Duration kAsUsual = Duration::Seconds(2);
// Between looks at a job that has just begun; once a node has, its lines are looked for in between.
constexpr Duration kYoungPause = Duration::Ms(5);
constexpr Duration kClaimedPause = Duration::Ms(8);
constexpr Duration kBetweenLines = Duration::Ms(2);

// What changed from one look to the next, in sentences.
class EventTeller {
 public:
  EventTeller(Context& context, bool enabled) : context_(context), enabled_(enabled) {}

  void Tell(const PassResult& pass) {
    if (!enabled_) return;
    for (const Attempt& attempt : pass.job.attempts) {
      TellAttempt(attempt, pass.job, SavingFor(attempt, pass.reports, pass.store_now).has_value(),
                  Doing(attempt, pass.reports));
    }
    for (const NodeReport* report : troubles_.News(pass.reports)) TellTrouble(*report);
    TellQueued(Queued(pass.job, pass.machines));
    for (const Request& request : pass.job.requests) TellRefusal(request);
    TellUnanswered(pass);
  }

  // A first attempt that begins as usual is told of only if that takes a while. Call it often.
  void Remind() {
    if (!later_ || context_.clock().Mono() - later_->since < kAsUsual) return;
    const Later now = *std::exchange(later_, std::nullopt);
    Say(now.attempt, now.text);
  }

  // Was the reason for the job's end told, as that of its last attempt?
  bool HasTold(const Job& job) const {
    for (auto attempt = job.attempts.rbegin(); attempt != job.attempts.rend(); ++attempt) {
      const auto why = whys_.find(attempt->number);
      if (why != whys_.end()) return job.result && job.result->why == why->second;
      if (!attempt->not_needed) return false;
    }
    return false;
  }

 private:
  struct Later {
    int attempt;
    std::string text;
    MonoTime since;
  };

  void TellAttempt(const Attempt& attempt, const Job& job, bool saving, const std::string& doing) {
    std::string now(Name(attempt.state));
    if (attempt.state == AttemptState::kEnded && attempt.ending) {
      if (attempt.not_needed) return;
      // The summary that comes next says it.
      if (IsFinal(job.state) && job.result && job.result->why == attempt.ending->why) return;
      now = std::string(Name(attempt.ending->reason)) + ": " + Printable(attempt.ending->why);
      if (const std::string why = SteppedOver(job, attempt); !why.empty()) now += "; " + why;
    } else if (saving) {
      now = "saving what its program left";
    } else if (attempt.state == AttemptState::kDraining) {
      now = "draining: its machine will be taken";
    } else if (attempt.state == AttemptState::kStaging) {
      now = (attempt.restore.empty() ? "starting at " : "starting from ") +
            SayCheckpoint(attempt.restore) + (doing.empty() ? "" : ": " + Printable(doing));
    } else if (attempt.state == AttemptState::kProvisioning) {
      now = "asking for machines";
    } else if (attempt.state == AttemptState::kRunning) {
      now = "running";
    }
    if (told_[attempt.number] == now) return;
    if (IsAsUsual(attempt) && !saving) {
      if (attempt.state == AttemptState::kRunning) {
        later_.reset();
      } else if (!later_) {
        later_ = Later{attempt.number, now, context_.clock().Mono()};
      } else {
        later_->text = now;
      }
      return;
    }
    Say(attempt.number, now);
    const bool ended = attempt.state == AttemptState::kEnded && attempt.ending;
    if (ended) whys_[attempt.number] = attempt.ending->why;
  }

  // Nothing was told of it, and nothing need be: it begins, or runs, for the first time.
  bool IsAsUsual(const Attempt& attempt) {
    return attempt.number == 1 && attempt.restore.empty() && told_[attempt.number].empty() &&
           (attempt.state == AttemptState::kProvisioning ||
            attempt.state == AttemptState::kStaging || attempt.state == AttemptState::kRunning);
  }

  void Say(int attempt, const std::string& what) {
    if (later_ && later_->attempt == attempt) later_.reset();
    told_[attempt] = what;
    context_.Say("attempt " + std::to_string(attempt) + " " + what);
  }

  // Its place changes as others end; those of one job stand together.
  void TellQueued(const std::vector<std::string>& lines) {
    const std::string now = lines.empty() ? "" : lines[0];
    if (now != queued_ && !now.empty()) {
      const std::string more = std::to_string(lines.size() - 1);
      context_.Say(now + (lines.size() > 1 ? "; and " + more + " more like it" : ""));
    }
    queued_ = now;
  }

  // Why it waits, each thing once: the same places may be asked again for hours.
  void TellRefusal(const Request& request) {
    if (!request.refusal || request.refusal->final) return;
    const RefusalClass what = request.refusal->what;
    if (what != RefusalClass::kCapacity && what != RefusalClass::kQuota &&
        what != RefusalClass::kDenied && what != RefusalClass::kUnanswered) {
      return;  // it passes in seconds; what is final ends the attempt, which is told
    }
    const std::string text = Printable(PlaceText(request.ask)) + " refuses (" +
                             std::string(Name(what)) + "): " + Printable(request.refusal->message);
    if (refused_.insert(text).second) context_.Say(text);
  }

  // Who looks cannot ask where its machines are to come from, each thing once; what may pass, at
  // the second look that says so. Once it runs this is no concern of who follows it; a full store
  // is told elsewhere.
  void TellUnanswered(const PassResult& pass) {
    const Attempt* newest = NewestNeeded(pass.job);
    const bool waits = newest != nullptr && (newest->state == AttemptState::kProvisioning ||
                                             newest->state == AttemptState::kStaging);
    if (!pass.trouble || !waits || pass.trouble->Is(Code::kNoSpace)) return in_a_row_.clear();
    for (const Request& request : pass.job.requests) {
      if (!request.refusal || request.refusal->message.empty()) continue;
      // Told as such, or it passes.
      if (pass.trouble->message().find(request.refusal->message) != std::string::npos) return;
    }
    const std::string reason = WithoutWhatVaries(pass.trouble->ToString());
    const bool again = in_a_row_ == reason;
    in_a_row_ = reason;
    if (pass.trouble->transient() && !again) return;
    if (unanswered_.insert(reason).second) context_.Say(pass.trouble->ToString());
  }

  // Another count of tries is no other reason, nor is what EC2 says encoded, anew each time.
  static std::string WithoutWhatVaries(std::string text) {
    text.resize(std::min(text.size(), text.find("Encoded authorization")));
    std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
    return text;
  }

  void TellTrouble(const NodeReport& report) {
    const std::string later =
        report.attempt > 1 ? " of attempt " + std::to_string(report.attempt) : "";
    context_.Say("node " + std::to_string(report.rank) + later + ": " + Printable(report.trouble));
  }

  Context& context_;
  bool enabled_;
  std::map<int, std::string> told_;
  std::optional<Later> later_;
  TroublesTold troubles_;
  std::string queued_;
  std::set<std::string> refused_;
  std::set<std::string> unanswered_;
  std::string in_a_row_;             // what the last look could not do
  std::map<int, std::string> whys_;  // of the endings told, by attempt
};

// At submission, or as a node's trouble.
bool IsToldAnyway(const LogRecord& record, bool submitted) {
  if (record.stream != LogStream::kSystem) return false;
  return (submitted && StartsWith(record.text, node::kShellLine)) ||
         StartsWith(record.text, std::string("stoker: ") + node::kLeftBehind);
}

// Prints everything that is new; true when there was something.
Result<bool> Drain(LogReader& reader, LogPrinter& printer, Context& context, bool submitted) {
  bool any = false;
  for (;;) {
    STOKER_ASSIGN(std::vector<LogRecord> records, reader.Next());
    if (records.empty()) return any;
    any = true;
    std::erase_if(records, [&](const LogRecord& one) { return IsToldAnyway(one, submitted); });
    PrintRaw(context, printer.Format(records));
  }
}

// Says that somebody follows, so that agents flush often. Rewritten every few seconds.
class FollowMark {
 public:
  FollowMark(ObjectStore& store, Clock& clock, const std::string& job)
      : store_(store), clock_(clock), key_(paths::Follow(job)) {}
  void Keep() {
    const MonoTime now = clock_.Mono();
    if (last_ && now - *last_ < kFollowMark) return;
    last_ = now;
    (void)store_.Put(key_, "");  // a hint: without it lines come later, not never
  }

 private:
  ObjectStore& store_;
  Clock& clock_;
  std::string key_;
  std::optional<MonoTime> last_;
};

class Attached {
 public:
  Attached(Context& context, const std::string& job, const AttachOptions& options)
      : context_(context), job_(job), options_(options), events_(context, options.events) {}

  Result<AttachResult> Run() {
    STOKER_ASSIGN(store_, context_.store());
    STOKER_ASSIGN(Controller * controller, context_.controller());
    client::JobWatch watch(*controller, context_.clock(), store_->traits(), job_);
    STOKER_ASSIGN(reader_, LogReader::Open(*store_, job_));
    FollowMark follow(*store_, context_.clock(), job_);
    const Duration poll = std::min(store_->traits().poll, Duration::Seconds(2));
    for (;;) {
      const auto pass = watch.Look();
      // Behind the look, the first of which starts the machine: lines come later than that.
      if (options_.logs) follow.Keep();
      if (pass.ok()) {
        away_ = false;
        if (*pass) Tell(**pass);
        events_.Remind();
        // Silence of the nodes has a reason then, and only who looks can say it.
        if (options_.events && !IsFinal(last_.state)) full_.Tell(context_, *store_);
      } else if (!pass.status().transient() && !pass.status().Is(Code::kConflict)) {
        return pass.status();
      } else {
        SayAway(pass.status());
      }
      STOKER_ASSIGN(const bool printed, Logs());
      if (pass.ok() && IsFinal(last_.state) && !printed) {
        return AttachResult{last_, false, events_.HasTold(last_)};
      }
      if (Interrupted() && !StaysFor()) return AttachResult{last_, true};
      if (ends_inside_ && HasLeft()) return AttachResult{last_, true};
      if (!printed) STOKER_TRY(Rest(Pause(poll)));
    }
  }

 private:
  void Tell(const PassResult& pass) {
    last_ = pass.job;
    claimed_ = !pass.reports.empty();
    if (!printer_) {
      printer_.emplace(context_.out_is_terminal(), last_.num_nodes > 1, context_.color());
    }
    events_.Tell(pass);
  }

  // It is told to end with its allocation.
  bool StaysFor() {
    const auto& tie = options_.tie;
    if (!tie || !InterruptedByTerm() || !tie->of->IsEnding(context_.clock(), tie->job)) {
      return false;
    }
    ForgetInterrupts();
    if (!ends_inside_) {
      context_.Say(tie->of->Name(tie->job) + " ends: waiting for the job's save");
    }
    ends_inside_ = true;
    return true;
  }

  // Of a job that outlives it: nothing of it runs any more.
  bool HasLeft() const {
    return options_.tie->outlive &&
           std::all_of(last_.attempts.begin(), last_.attempts.end(), [](const Attempt& attempt) {
             return attempt.state == AttemptState::kEnded ||
                    attempt.state == AttemptState::kProvisioning;
           });
  }

  // Until the next look. Once a node has begun, a store that may be asked for nothing is meanwhile
  // asked for lines alone, which costs a tenth of a look.
  Status Rest(Duration pause) {
    const bool often = claimed_ && store_->traits().requests_are_free && pause <= kClaimedPause;
    for (const MonoTime end = context_.clock().Mono() + pause; context_.clock().Mono() < end;) {
      const Duration step = often ? kBetweenLines : pause;
      std::this_thread::sleep_for(std::chrono::milliseconds(step.ms));
      if (!often) break;
      STOKER_ASSIGN(const bool printed, Logs());
      if (printed) break;
    }
    return Status::Ok();
  }

  // Short at first, so that the first line of a short program is not waited for.
  Duration Pause(Duration poll) {
    if (started_.ms == 0) started_ = context_.clock().Mono();
    const bool young = context_.clock().Mono() - started_ < Duration::Seconds(2);
    return young ? std::min(poll, claimed_ ? kClaimedPause : kYoungPause) : poll;
  }

  Result<bool> Logs() {
    if (!options_.logs || !printer_) return false;
    if (!context_.line_open()) printer_->LineClosed();
    auto drained = Drain(*reader_, *printer_, context_, options_.submitted);
    if (!drained.ok() && drained.status().transient()) {
      SayAway(drained.status());
      return false;
    }
    return drained;
  }

  void SayAway(const Status& status) {
    if (!away_) context_.Say("the store does not answer; waiting: " + status.message());
    away_ = true;
  }

  Context& context_;
  const std::string job_;
  const AttachOptions options_;
  EventTeller events_;
  ObjectStore* store_ = nullptr;
  std::unique_ptr<LogReader> reader_;
  std::optional<LogPrinter> printer_;
  Job last_;
  bool claimed_ = false;  // a node says that it prepares or runs the program
  MonoTime started_;
  bool away_ = false;
  bool ends_inside_ = false;
  client::FullStoreTeller full_;
};

}  // namespace

Result<AttachResult> Attach(Context& context, const std::string& job,
                            const AttachOptions& options) {
  CatchInterrupts();
  return Attached(context, job, options).Run();
}

}  // namespace stoker::cli
