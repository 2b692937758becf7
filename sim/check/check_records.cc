// SPDX-License-Identifier: Apache-2.0
// What a record may become.
#include <algorithm>
#include <map>

#include "job/encoding.h"
#include "sim/check/checks.h"

namespace stoker::sim {
namespace {

// What is nowhere to be had is asked for once a minute, for days if need be: two writes each time,
// and a few for each new request.
constexpr int64_t kStorm = 3'000;
constexpr int64_t kWritesAMinute = 3;
constexpr int64_t kQuietMinutes = 12 * 60;

// done-is-done: an ended job launches nothing, and its result never changes.
class DoneIsDone : public Observer {
 public:
  explicit DoneIsDone(World& world) : world_(world) {}
  void OnRecord(const Job& before, const Job& after, const std::string& writer) override {
    if (!IsFinal(before.state)) return;
    const bool same_result =
        before.result.has_value() == after.result.has_value() &&
        (!before.result || (before.result->reason == after.result->reason &&
                            before.result->exit_code == after.result->exit_code));
    if (before.state == after.state && same_result &&
        before.launches.size() == after.launches.size() &&
        before.attempts.size() == after.attempts.size()) {
      return;
    }
    world_.Breach("done-is-done", writer + " changed a job that had ended", after.id);
  }
  void OnProgramStarts(const ProgramView& view) override {
    const auto job = world_.jobs().find(view.job);
    if (job == world_.jobs().end() || !IsFinal(job->second.state)) return;
    // What was on its way when the job ended may still start, and is told to stop at once; but not
    // long after.
    if (job->second.ended && world_.bucket().Now() - *job->second.ended > Duration::Minutes(10)) {
      world_.Breach("done-is-done", "a program starts long after its job ended", view.job);
    }
  }

 private:
  World& world_;
};

// record-order: what was decided for good stays, and one write follows another by one.
class RecordOrder : public Observer {
 public:
  explicit RecordOrder(World& world) : world_(world) {}

  void OnRecord(const Job& before, const Job& after, const std::string& writer) override {
    writer_ = writer;
    if (before.rev != 0 && after.rev != before.rev + 1) {
      Breach(after,
             "revision " + std::to_string(after.rev) + " follows " + std::to_string(before.rev));
    }
    if (before.rev != 0 && after.writer == before.writer) Breach(after, "a nonce came twice");
    const auto first = first_.try_emplace(after.id, world_.now()).first->second;
    const int64_t minutes = (world_.now() - first) / 60'000 - kQuietMinutes;
    if (after.rev > kStorm + kWritesAMinute * std::max<int64_t>(0, minutes)) {
      Breach(after, "a storm of writes");
    }
    CheckLaunches(before, after);
    CheckRequests(before, after);
    CheckAttempts(before, after);
  }

 private:
  void Breach(const Job& job, const std::string& what) {
    world_.Breach("record-order", what + " (by " + writer_ + ")", job.id);
  }

  void CheckLaunches(const Job& before, const Job& after) {
    int left = 0;
    for (const Launch& old : before.launches) {
      const Launch* now = FindLaunch(after, old.number);
      if (now == nullptr) {
        ++left;
        if (!old.closed || (old.close_reason != CloseReason::kNeverCame &&
                            old.close_reason != CloseReason::kSuperseded)) {
          return Breach(after, "a launch that may have had a machine left the record");
        }
        continue;
      }
      if (old.closed && !now->closed) Breach(after, "a closed launch was opened again");
      if (old.slot != now->slot || old.request != now->request || old.index != now->index) {
        Breach(after, "the entry of launch " + std::to_string(old.number) + " changed");
      }
    }
    const int counted = after.folded.value_or(Folded{}).launches;
    if (counted - before.folded.value_or(Folded{}).launches != left) {
      Breach(after, std::to_string(left) + " launches left the record uncounted");
    }
  }

  void CheckRequests(const Job& before, const Job& after) {
    int left = 0;
    for (const Request& old : before.requests) {
      const Request* now = FindRequest(after, old.number);
      if (now == nullptr) {
        ++left;
      } else if (old.token != now->token || old.ask != now->ask || old.slots != now->slots ||
                 old.limit != now->limit || old.opened != now->opened ||
                 old.not_after != now->not_after || old.store_url != now->store_url) {
        Breach(after, "the entry of request " + std::to_string(old.number) + " changed");
      }
    }
    const int counted = after.folded.value_or(Folded{}).requests;
    if (counted - before.folded.value_or(Folded{}).requests != left) {
      Breach(after, std::to_string(left) + " requests left the record uncounted");
    }
  }

  void CheckAttempts(const Job& before, const Job& after) {
    int left = 0;
    for (const Attempt& old : before.attempts) {
      if (FindAttempt(after, old.number) != nullptr) continue;
      ++left;
      if (old.state != AttemptState::kEnded || old.running) Breach(after, "an attempt is gone");
    }
    const int counted = after.folded.value_or(Folded{}).attempts;
    if (counted - before.folded.value_or(Folded{}).attempts != left) {
      Breach(after, std::to_string(left) + " attempts left the record uncounted");
    }
    int open = 0;
    for (const Attempt& now : after.attempts) {
      if (now.state != AttemptState::kEnded) ++open;
      const Attempt* old = FindAttempt(before, now.number);
      if (old == nullptr || old->state == AttemptState::kProvisioning) continue;
      if (old->state == AttemptState::kEnded && now.state != AttemptState::kEnded) {
        Breach(after, "an ended attempt goes on");
      }
      if (old->launches != now.launches) {
        Breach(after, "an attempt that had begun changed its machines");
      }
      if (old->restore != now.restore) {
        Breach(after, "an attempt that had begun changed its checkpoint");
      }
    }
    if (open > 2) Breach(after, "more than two attempts are open");
  }

  World& world_;
  std::string writer_;
  std::map<std::string, int64_t> first_;  // when each job was first written
};

}  // namespace

void AddRecordChecks(World& world, Checks* checks) {
  checks->push_back(std::make_unique<DoneIsDone>(world));
  checks->push_back(std::make_unique<RecordOrder>(world));
}

}  // namespace stoker::sim
