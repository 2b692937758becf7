// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/capture.h"

#include <algorithm>

#include "base/text.h"
#include "checkpoint/manifest.h"
#include "checkpoint/rule/format_check.h"
#include "checkpoint/rule/pointer_check.h"
#include "checkpoint/rule/step_number.h"

namespace stoker {
namespace {

// Between looks while something happens, and while nothing does.
constexpr Duration kBusyLook = Duration::Ms(100);
constexpr Duration kIdleLook = Duration::Seconds(3);
constexpr Duration kCloseLook = Duration::Ms(10);
constexpr Duration kLastHints = Duration::Ms(60);
constexpr Duration kRetry = Duration::Ms(20);
// A writer is kept waiting this long at most; longer once it is some checkpoints ahead.
constexpr Duration kPatience = Duration::Ms(250);
constexpr Duration kFirmPatience = Duration::Seconds(10);
constexpr Duration kNoRoomRetry = Duration::Seconds(5);
constexpr int kTakes = 3;
// A look at a hundred thousand files takes a while; looking is to take a fifth of the time at most.
constexpr int kLookShare = 4;

class SnapshotSource : public ByteSource {
 public:
  SnapshotSource(Snapshot& snapshot, size_t index) : snapshot_(snapshot), index_(index) {}
  int64_t size() const override { return snapshot_.files()[index_].size; }
  Result<int64_t> Read(int64_t offset, char* buffer, int64_t count) override {
    return snapshot_.Read(index_, offset, buffer, count);
  }

 private:
  Snapshot& snapshot_;
  size_t index_;
};

// What the file tells, if it is one that does; else -1.
int64_t TrainersStep(Snapshot& copy, size_t index) {
  const FileFact& fact = copy.files()[index];
  const bool tells = fact.path.substr(fact.path.rfind('/') + 1) == kTrainerState;
  if (!tells || fact.size > kMostTrainerState) return -1;
  std::string text(static_cast<size_t>(fact.size), '\0');
  const auto got = copy.Read(index, 0, text.data(), fact.size);
  return got.ok() && *got == fact.size ? StepInTrainerState(text) : -1;
}

}  // namespace

MomentCapture::MomentCapture(std::string job, Duration quiet, Clock& clock, CheckpointFiles& files,
                             KeeperTroubles& troubles, Taken taken)
    : job_(std::move(job)),
      quiet_(quiet),
      clock_(clock),
      files_(files),
      troubles_(troubles),
      taken_(std::move(taken)),
      plan_({quiet, {}}) {}

Result<DirectoryScan> MomentCapture::FirstLook() {
  (void)files_.TakeEvents();
  return files_.Scan();
}

void MomentCapture::Begin(const DirectoryScan& scan, StagedFiles staged,
                          std::set<std::string> together, MonoTime now) {
  staged_ = std::move(staged);
  plan_ = CheckpointPlan({quiet_, std::move(together)});
  plan_.OnRestored(scan);
  look_.at = now;
  look_.dirty = false;
}

void MomentCapture::Observe(MonoTime now) {
  const std::vector<FileEvent> events = files_.TakeEvents();
  plan_.OnEvents(events);
  look_.dirty = look_.dirty || !events.empty();
  std::optional<Ended> ended;
  {
    const std::lock_guard lock(mutex_);
    ended = ended_;
  }
  if (ended && !end_.heard) end_.heard = now;
  // The kernel's last hints may still be on their way when the program is known to be dead.
  const bool news = ended && !end_.seen && now - *end_.heard >= kLastHints;
  const bool busy = look_.dirty || plan_.Pending();
  const Duration often = std::max(busy ? kBusyLook : kIdleLook, look_.cost * kLookShare);
  const bool due = now - look_.at >= often;
  const bool closed = std::any_of(events.begin(), events.end(), [](const FileEvent& event) {
    return event.kind != FileEvent::Kind::kChanged;
  });
  look_.closed = look_.closed || closed;
  const bool soon = (look_.closed || plan_.done_marked()) &&
                    now - look_.at >= std::max(kCloseLook, look_.cost * 2);
  if (!news && !due && !soon) return;
  look_.closed = false;
  auto scan = files_.Scan();
  if (!scan.ok()) {
    troubles_.Set("cannot look at the checkpoints: " + scan.status().message());
    return;
  }
  Learn(*scan, now);
  if (news) {
    end_.seen = true;
    end_.at = now;
    plan_.OnEnded(ended->clean, ended->graceful, now);
  }
}

void MomentCapture::Learn(const DirectoryScan& scan, MonoTime now) {
  look_.at = now;
  const std::vector<FileEvent> later = files_.TakeEvents();
  plan_.OnScan(scan, now, later);
  plan_.OnEvents(later);
  troubles_.LeavesOut(scan);
  look_.dirty = !later.empty() || scan.torn;
  look_.closed = look_.dirty;
  look_.cost = clock_.Mono() - now;
}

void MomentCapture::Capture(MonoTime now) {
  if (mark_owed_ || (now < take_after_ && !end_.seen && !plan_.done_marked())) return;
  for (int attempt = 0; attempt < kTakes; ++attempt) {
    if (look_.dirty) return;
    const MonoTime asked = clock_.Mono();
    std::optional<Candidate> candidate = plan_.Decide(now);
    look_.cost = std::max(look_.cost, clock_.Mono() - asked);
    if (!candidate) {
      nothing_left_ = end_.seen;
      return;
    }
    if (Take(std::move(*candidate), now)) continue;
    // It changed under our hands: look again, at once.
    take_after_ = std::max(take_after_, clock_.Mono() + (clock_.Mono() - now));
    now = clock_.Mono();
    if (!LookAgain(now)) return;
  }
}

bool MomentCapture::LookAgain(MonoTime now) {
  plan_.OnEvents(files_.TakeEvents());
  const auto scan = files_.Scan();
  if (!scan.ok()) return false;
  Learn(*scan, now);
  return true;
}

// Before anything is copied: a copy is a read.
void MomentCapture::JudgeFirst(const Candidate& candidate) {
  if (!first_save_ || !first_save_->Sees(candidate.copy)) return;
  const std::string told = first_save_->Verdict(files_.AnybodyRead());
  first_save_.reset();
  files_.ForgetReads();
  if (!told.empty()) troubles_.Stays(told);
}

// True when there is nothing to wait for before the next decision.
bool MomentCapture::Take(Candidate candidate, MonoTime now) {
  JudgeFirst(candidate);
  SnapshotRequest request;
  for (const FileFact& fact : candidate.copy) {
    const std::string why = WhyNotKept(job_, fact.path);
    if (!why.empty()) {
      troubles_.Set("'" + Printable(fact.path) + "' cannot be kept: " + why);
      plan_.OnRefused(candidate, {});
      return true;
    }
    (fact.kind == FileKind::kFile ? request.copy : request.stay).push_back(fact);
  }
  for (const FileFact& fact : candidate.stay) {
    const bool staged = staged_.count(fact.path) != 0 || fact.kind != FileKind::kFile;
    (staged ? request.stay : request.copy).push_back(fact);
  }
  request.prefix = candidate.prefix;
  const bool behind = plan_.cycle() - taken_cycle_ >= 2;
  request.patience = behind || end_.seen ? kFirmPatience : kPatience;
  request.even_if_open = candidate.reason == CandidateReason::kDone;
  request.need_task = !end_.seen;
  request.or_original = true;
  auto copy = files_.Take(request);
  take_failed_ = copy.status();
  if (copy.code() == Code::kNoSpace) {
    troubles_.Set(copy.status().ToString());
    take_after_ = clock_.Mono() + kNoRoomRetry;
    if (end_.seen) nothing_left_ = true;
    return false;
  }
  if (!copy.ok()) {
    take_after_ = clock_.Mono() + kRetry;
    return false;
  }
  const std::set<std::string> broken = Broken(candidate, **copy);
  if (!broken.empty() || Dangles(candidate, **copy)) {
    plan_.OnRefused(candidate, broken);
    return true;
  }
  Adopt(candidate, std::move(*copy));
  longest_save_ = std::max(longest_save_.value_or(Duration{}), candidate.took);
  // Copies take turns with the program's own work when it writes without a pause.
  const MonoTime after = clock_.Mono();
  take_after_ = after + (after - now);
  return true;
}

std::set<std::string> MomentCapture::Broken(const Candidate& candidate, Snapshot& copy) const {
  std::set<std::string> broken;
  const std::set<std::string> prove(candidate.prove.begin(), candidate.prove.end());
  for (size_t i = 0; i < copy.files().size(); ++i) {
    const FileFact& fact = copy.files()[i];
    if (prove.count(fact.path) == 0) continue;
    SnapshotSource source(copy, i);
    const Wholeness wholeness = CheckFormat(source);
    const auto before = staged_.find(fact.path);
    // Length proves nothing of a file that was written over, or has holes.
    const bool fresh = (before == staged_.end() || before->second->fact.ino != fact.ino) &&
                       fact.allocated >= fact.size;
    if (wholeness == Wholeness::kWhole || (wholeness == Wholeness::kFullSize && fresh)) continue;
    broken.insert(fact.path);
  }
  return broken;
}

bool MomentCapture::Dangles(const Candidate& candidate, Snapshot& copy) const {
  for (const FileFact& fact : candidate.copy) {
    if (fact.kind == FileKind::kLink && fact.path.find('/') == std::string::npos &&
        PointsOutside(fact.target, candidate.units, candidate.excluded)) {
      return true;
    }
  }
  for (size_t i = 0; i < copy.files().size(); ++i) {
    const FileFact& fact = copy.files()[i];
    if (fact.size > kMaxPointer || fact.path.find('/') != std::string::npos) continue;
    std::string text(static_cast<size_t>(fact.size), '\0');
    auto got = copy.Read(i, 0, text.data(), fact.size);
    if (!got.ok()) continue;
    text.resize(static_cast<size_t>(*got));
    if (PointsOutside(text, candidate.units, candidate.excluded)) return true;
  }
  return false;
}

void MomentCapture::Adopt(const Candidate& candidate, std::unique_ptr<Snapshot> owned) {
  const std::shared_ptr<Snapshot> copy = std::move(owned);
  auto moment = std::make_shared<Moment>();
  moment->reason = candidate.reason;
  moment->together = candidate.together;
  moment->cycle = candidate.cycle;
  moment->saves = candidate.saves;
  moment->step = candidate.step;
  moment->counted = candidate.counted;
  for (const auto* list : {&candidate.copy, &candidate.stay}) {
    for (const FileFact& fact : *list) {
      if (list == &candidate.stay) {
        if (auto it = staged_.find(fact.path); it != staged_.end()) {
          moment->files[fact.path] = it->second;
          continue;
        }
      }
      auto file = std::make_shared<StagedFile>();
      file->fact = fact;
      moment->files[fact.path] = std::move(file);
    }
  }
  for (size_t i = 0; i < copy->files().size(); ++i) {
    auto file = std::make_shared<StagedFile>();
    file->fact = copy->files()[i];
    file->snapshot = copy;
    if (!copy->copied(i)) file->original = copy;
    file->index = i;
    moment->told_step = std::max(moment->told_step, TrainersStep(*copy, i));
    moment->files[file->fact.path] = std::move(file);
  }
  plan_.OnTaken(candidate);
  mark_owed_ = candidate.reason == CandidateReason::kDone && HasOriginals(*moment);
  if (candidate.reason == CandidateReason::kDone && !mark_owed_) RemoveMark();
  staged_ = moment->files;
  taken_cycle_ = candidate.cycle;
  taken_(std::move(moment));
}

void MomentCapture::RemoveMark() {
  const Status removed = files_.Remove(kDoneMark);
  if (!removed.ok()) troubles_.Set(removed.message());
}

void MomentCapture::IsStored() {
  if (!mark_owed_) return;
  mark_owed_ = false;
  RemoveMark();
}

void MomentCapture::Forget(MonoTime from) {
  plan_.ForgetTaken();
  staged_.clear();
  mark_owed_ = false;
  take_after_ = std::max(take_after_, from);
}

bool MomentCapture::StillForLong(const Moment& moment, MonoTime now) const {
  return plan_.all_taken() && moment.cycle == plan_.cycle() &&
         now - plan_.last_change() >= quiet_ * 10;
}

CheckpointPlan::Obstacle MomentCapture::WhyNotTaken(MonoTime now) const {
  const CheckpointPlan::Obstacle why = plan_.WhyNotYet(now);
  if (!why.kind.empty() || take_failed_.ok()) return why;
  return {"copy", "it could not be copied: " + take_failed_.ToString()};
}

MonoTime MomentCapture::NextStep(MonoTime now) const {
  MonoTime next = now + kIdleLook;
  const Duration busy = std::max(kBusyLook, look_.cost * kLookShare);
  if (plan_.Pending()) {
    next = std::min(next, std::max(plan_.NextLook(now), now + look_.cost * kLookShare));
    next = std::min(next, now + busy);
  }
  if (look_.dirty) next = std::min(next, look_.at + (look_.closed ? kCloseLook : busy));
  if (end_.heard && !end_.seen) next = std::min(next, *end_.heard + kLastHints);
  if (take_after_ > now) next = std::min(next, take_after_);
  return next;
}

void MomentCapture::ProgramEnded(Ended ended) {
  const std::lock_guard lock(mutex_);
  if (!ended_) ended_ = ended;
}

}  // namespace stoker
