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
constexpr Duration kAgain = Duration::Ms(5);
// A writer is kept waiting this long at most; longer once it is some checkpoints ahead.
constexpr Duration kPatience = Duration::Ms(250);
constexpr Duration kFirmPatience = Duration::Seconds(10);
constexpr Duration kNoRoomRetry = Duration::Seconds(5);
constexpr int kTakes = 8;  // decisions and copies in one step
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
  if (index >= copy.files().size()) return -1;
  const FileFact& fact = copy.files()[index];
  const bool tells = fact.path.substr(fact.path.rfind('/') + 1) == kTrainerState;
  if (!tells || fact.size > kMostTrainerState) return -1;
  std::string text(static_cast<size_t>(fact.size), '\0');
  const auto got = copy.Read(index, 0, text.data(), fact.size);
  return got.ok() && *got == fact.size ? StepInTrainerState(text) : -1;
}

}  // namespace

MomentCapture::MomentCapture(std::string job, PlanOptions options, Clock& clock,
                             CheckpointFiles& files, KeeperTroubles& troubles, Taken taken)
    : job_(std::move(job)),
      options_(options),
      quiet_(options.quiet),
      clock_(clock),
      files_(files),
      troubles_(troubles),
      taken_(std::move(taken)),
      plan_(options) {}

Result<DirectoryScan> MomentCapture::FirstLook() {
  (void)files_.TakeEvents();
  return files_.Scan();
}

void MomentCapture::Begin(const DirectoryScan& scan, StagedFiles staged, MonoTime now) {
  base_ = std::move(staged);
  std::set<std::string> known;
  for (const auto& [path, file] : base_) known.insert(path);
  plan_ = CheckpointPlan(options_);
  plan_.OnRestored(scan, known);
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
    plan_.OnEnded(*ended, now);
  }
}

void MomentCapture::Learn(const DirectoryScan& scan, MonoTime now) {
  look_.at = now;
  const std::vector<FileEvent> later = files_.TakeEvents();
  plan_.OnScan(scan, now, later);
  plan_.OnEvents(later);
  const std::vector<std::string> told = files_.TakeTold();
  plan_.OnTold(told);
  for (const std::string& remark : plan_.TakeRemarks()) {
    troubles_.Note("$STOKER_SAVES: " + remark);
  }
  troubles_.LeavesOut(scan);
  look_.dirty = !later.empty() || !told.empty() || scan.torn;
  look_.closed = look_.dirty;
  look_.cost = clock_.Mono() - now;
}

void MomentCapture::Capture(MonoTime now) {
  again_ = false;
  if (mark_owed_) return;
  const bool may_copy = now >= take_after_ || end_.seen || plan_.done_marked();
  for (int attempt = 0; attempt < kTakes; ++attempt) {
    if (look_.dirty) return;
    const MonoTime asked = clock_.Mono();
    ReadPointers();
    const std::optional<Candidate> candidate = plan_.Decide(now);
    std::optional<CopyOrder> order;
    if (!candidate) order = plan_.WantsCopy(now);
    look_.cost = std::max(look_.cost, clock_.Mono() - asked);
    if (const std::string unproven = plan_.TakeUnproven(now); !unproven.empty()) {
      troubles_.Note(unproven);
    }
    if (candidate) {
      Count(*candidate);
      // What counts next is to be sent besides this one, not instead of it.
      again_ = !end_.seen;
      if (mark_owed_ || again_) return;
      continue;
    }
    if (!order) {
      nothing_left_ = end_.seen;
      return;
    }
    if (!may_copy) return;
    if (Copy(std::move(*order), now)) continue;
    // It changed under our hands: look again, at once.
    take_after_ = std::max(take_after_, clock_.Mono() + (clock_.Mono() - now));
    now = clock_.Mono();
    if (!Recheck(now)) return;
  }
}

// Small, and of few layouts: what they name is whole.
void MomentCapture::ReadPointers() {
  while (const auto fact = plan_.WantsText()) {
    SnapshotRequest request;
    request.copy.push_back(*fact);
    std::string text(static_cast<size_t>(fact->size), '\0');
    auto copy = files_.Take(request);
    if (!copy.ok()) return;
    const auto got = (*copy)->Read(0, 0, text.data(), fact->size);
    if (!got.ok()) return;
    text.resize(static_cast<size_t>(*got));
    plan_.OnText(fact->path, std::move(text));
  }
}

bool MomentCapture::Recheck(MonoTime now) {
  plan_.OnEvents(files_.TakeEvents());
  const auto scan = files_.Scan();
  if (!scan.ok()) return false;
  Learn(*scan, now);
  return true;
}

// Before anything is copied: a copy is a read.
void MomentCapture::JudgeFirst(const CopyOrder& order) {
  if (!first_save_ || !first_save_->Sees(order.copy)) return;
  const std::string told = first_save_->Verdict(files_.AnybodyRead());
  first_save_.reset();
  files_.ForgetReads();
  if (!told.empty()) troubles_.Stays(told);
}

// What has a name that no store takes is in no checkpoint, and neither is what belongs to it.
void MomentCapture::TakeOutUnkept(CopyOrder* order) {
  CopyOrder unkept;
  std::map<std::string, Proof> refused;
  for (const FileFact& fact : order->copy) {
    const std::string why = WhyNotKept(job_, fact.path);
    if (why.empty()) continue;
    troubles_.Set("'" + Printable(fact.path) + "' cannot be kept: " + why);
    unkept.copy.push_back(fact);
    refused[fact.path] = Proof::kBroken;
  }
  if (refused.empty()) return;
  plan_.OnCopied(unkept, refused);
  std::erase_if(order->copy, [&](const FileFact& fact) { return refused.count(fact.path) != 0; });
}

// True when there is nothing to wait for before the next decision.
bool MomentCapture::Copy(CopyOrder order, MonoTime now) {
  TakeOutUnkept(&order);
  if (order.copy.empty()) return true;
  JudgeFirst(order);
  SnapshotRequest request;
  for (const FileFact& fact : order.copy) {
    (fact.kind == FileKind::kFile ? request.copy : request.stay).push_back(fact);
  }
  request.stay.insert(request.stay.end(), order.stay.begin(), order.stay.end());
  request.prefix = order.prefix;
  const bool behind = plan_.cycle() - taken_cycle_ >= 2;
  request.patience = behind || end_.seen ? kFirmPatience : kPatience;
  request.even_if_open = order.even_if_open;
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
  const std::map<std::string, Proof> proofs = ProofsOf(order, **copy);
  const std::shared_ptr<Snapshot> owned = std::move(*copy);
  logs_.clear();
  std::set<std::string> logs;
  std::set<std::string> live;
  for (const FileFact& fact : order.prefix) logs.insert(fact.path);
  for (size_t i = 0; i < owned->files().size(); ++i) {
    auto file = std::make_shared<StagedFile>();
    file->fact = owned->files()[i];
    file->snapshot = owned;
    file->index = i;
    const std::string& path = file->fact.path;
    if (!owned->copied(i)) {
      file->original = owned;
      live.insert(path);
    }
    (logs.count(path) != 0 ? logs_ : staged_)[path] = std::move(file);
  }
  for (const FileFact& fact : order.copy) {
    if (fact.kind == FileKind::kFile) continue;
    auto file = std::make_shared<StagedFile>();
    file->fact = fact;
    staged_[fact.path] = std::move(file);
  }
  plan_.OnCopied(order, proofs, live);
  // Copies take turns with the program's own work when it writes without a pause.
  const MonoTime after = clock_.Mono();
  take_after_ = after + (after - now);
  return true;
}

// By each copy's own bytes.
std::map<std::string, Proof> MomentCapture::ProofsOf(const CopyOrder& order, Snapshot& copy) const {
  std::map<std::string, Proof> out;
  std::set<std::string> logs;
  for (const FileFact& fact : order.prefix) logs.insert(fact.path);
  for (size_t i = 0; i < copy.files().size(); ++i) {
    const FileFact& fact = copy.files()[i];
    if (logs.count(fact.path) != 0) continue;
    SnapshotSource source(copy, i);
    const Wholeness wholeness = CheckFormat(source);
    const auto before = staged_.find(fact.path);
    // Length proves nothing of a file that was written over, or has holes.
    const bool fresh = (before == staged_.end() || before->second->fact.ino != fact.ino) &&
                       fact.allocated >= fact.size;
    const bool whole =
        wholeness == Wholeness::kWhole || (wholeness == Wholeness::kFullSize && fresh);
    out[fact.path] = whole                             ? Proof::kWhole
                     : wholeness == Wholeness::kBroken ? Proof::kBroken
                                                       : Proof::kUnknown;
  }
  return out;
}

bool MomentCapture::Dangles(const Candidate& candidate) const {
  for (const std::string& path : candidate.fresh) {
    const auto file = staged_.find(path);
    if (path.find('/') != std::string::npos || file == staged_.end()) continue;
    const FileFact& fact = file->second->fact;
    std::string text = fact.target;
    if (fact.kind == FileKind::kFile) {
      if (fact.size > kMaxPointer || !file->second->snapshot) continue;
      text.resize(static_cast<size_t>(fact.size));
      const auto got = file->second->snapshot->Read(file->second->index, 0, text.data(), fact.size);
      if (!got.ok()) continue;
      text.resize(static_cast<size_t>(*got));
    }
    if (PointsOutside(text, candidate.units, candidate.excluded)) return true;
  }
  return false;
}

void MomentCapture::Count(const Candidate& candidate) {
  if (Dangles(candidate)) return plan_.OnRefused(candidate);
  auto moment = std::make_shared<Moment>();
  moment->reason = candidate.reason;
  moment->cycle = candidate.cycle;
  moment->done = candidate.done;
  moment->step = candidate.step;
  moment->counted = candidate.counted;
  for (const std::string& path : candidate.kept) {
    if (auto it = base_.find(path); it != base_.end()) moment->files[path] = it->second;
  }
  for (const std::string& path : candidate.fresh) {
    auto it = staged_.find(path);
    if (it == staged_.end()) it = base_.find(path);
    if (it == base_.end()) continue;
    const std::shared_ptr<StagedFile>& file = it->second;
    if (file->snapshot) {
      moment->told_step = std::max(moment->told_step, TrainersStep(*file->snapshot, file->index));
    }
    moment->files[path] = file;
  }
  moment->files.insert(logs_.begin(), logs_.end());
  plan_.OnCounted(candidate);
  mark_owed_ = candidate.reason == CandidateReason::kDone && HasOriginals(*moment);
  if (candidate.reason == CandidateReason::kDone && !mark_owed_) RemoveMark();
  base_ = moment->files;
  std::erase_if(staged_, [&](const auto& entry) { return !plan_.Shelved(entry.first); });
  taken_cycle_ = candidate.cycle;
  longest_save_ = std::max(longest_save_.value_or(Duration{}), candidate.took);
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
  base_.clear();
  mark_owed_ = false;
  take_after_ = std::max(take_after_, from);
}

bool MomentCapture::StillForLong(const Moment& moment, MonoTime now) const {
  const bool last = plan_.ended_well() && plan_.all_taken() && moment.cycle == plan_.cycle();
  return last || HasRested(moment, now);
}

bool MomentCapture::HasRested(const Moment& moment, MonoTime now) const {
  return plan_.all_taken() && moment.cycle == plan_.cycle() &&
         now - plan_.last_change() >= quiet_ * kRestQuiets;
}

CheckpointPlan::Obstacle MomentCapture::WhyNotTaken(MonoTime now) const {
  const CheckpointPlan::Obstacle why = plan_.WhyNotYet(now);
  if (!why.kind.empty() || take_failed_.ok()) return why;
  return {"copy", "it could not be copied: " + take_failed_.ToString()};
}

MonoTime MomentCapture::NextStep(MonoTime now) const {
  if (again_) return now + kAgain;
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
