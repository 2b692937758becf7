// SPDX-License-Identifier: Apache-2.0
// The keeper's eyes and hands: when to look, what to copy. keeper_commit.cc brings it to the store.
#include "checkpoint/keeper.h"

#include <algorithm>

#include "base/text.h"
#include "checkpoint/checkpoint_store.h"
#include "checkpoint/rule/format_check.h"
#include "checkpoint/rule/pointer_check.h"

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
constexpr int kTries = 3;
// A look at a hundred thousand files takes a while; looking is to take a fifth of the time at most.
constexpr int kLookShare = 4;
// Longer than it takes to commit a checkpoint twice: by what is usual, and by what was seen.
constexpr Duration kSilentAtLeast = Duration::Seconds(60);
constexpr int kSilentQuiets = 15;
constexpr int kSilentUpload = 10;  // so many times that, while an upload goes on without a failure

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

}  // namespace

CheckpointKeeper::CheckpointKeeper(KeeperConfig config, ObjectStore& store, Clock& clock,
                                   CheckpointFiles& files)
    : config_(std::move(config)),
      store_(store),
      clock_(clock),
      files_(files),
      plan_({config_.quiet, {}}),
      nonce_(Prng(config_.nonce_seed).Base32(20)),
      newest_(config_.restored) {
  if (config_.num_nodes > 1 && config_.rank == 0) {
    leader_ =
        std::make_unique<RoundLeader>(store_, config_.job, config_.attempt, config_.num_nodes);
  } else if (config_.rank > 0) {
    follower_ = std::make_unique<RoundFollower>(store_, config_.job, config_.attempt, config_.rank);
  }
}

CheckpointKeeper::~CheckpointKeeper() = default;

Status CheckpointKeeper::Begin() {
  const MonoTime now = clock_.Mono();
  (void)files_.TakeEvents();
  STOKER_ASSIGN(DirectoryScan scan, files_.Scan());
  std::set<std::string> together;
  if (!config_.restored.empty()) {
    STOKER_ASSIGN(Manifest manifest, LoadManifest(store_, config_.job, config_.restored));
    staged_ = RestoredFiles(manifest, config_.rank, scan);
    together = manifest.together;
    committed_ = ContentOf(manifest);
    for (const auto& [path, file] : staged_) {
      if (!file->object.empty()) known_[file->sha256] = file->object;
    }
  }
  plan_ = CheckpointPlan({config_.quiet, together});
  plan_.OnRestored(scan);
  // An agent that died may have committed in this attempt already.
  STOKER_TRY(ListAll(store_, ManifestsPrefix(config_.job), [&](const ObjectInfo& info) {
    const auto id = IdOfManifestKey(info.key);
    if (id && id->attempt == config_.attempt) seq_ = std::max(seq_, id->seq);
    return Status::Ok();
  }));
  scanned_ = now;
  dirty_ = false;
  next_step_ = now;
  return Status::Ok();
}

CheckpointKeeper::Phase CheckpointKeeper::phase() const {
  const std::lock_guard lock(mutex_);
  return phase_;
}

void CheckpointKeeper::SetPhase(Phase phase) {
  const std::lock_guard lock(mutex_);
  phase_ = phase;
}

void CheckpointKeeper::SetTrouble(const std::string& what) {
  full_ = false;
  const std::lock_guard lock(mutex_);
  trouble_ = what;
}

void CheckpointKeeper::Observe(MonoTime now) {
  const std::vector<FileEvent> events = files_.TakeEvents();
  plan_.OnEvents(events);
  dirty_ = dirty_ || !events.empty();
  std::optional<Ended> ended;
  {
    const std::lock_guard lock(mutex_);
    ended = ended_;
  }
  if (ended && !ended_news_) ended_news_ = now;
  // The kernel's last hints may still be on their way when the program is known to be dead.
  const bool news = ended && !ended_seen_ && now - *ended_news_ >= kLastHints;
  const bool busy = dirty_ || plan_.Pending();
  const Duration often = std::max(busy ? kBusyLook : kIdleLook, look_cost_ * kLookShare);
  const bool due = now - scanned_ >= often;
  const bool closed = std::any_of(events.begin(), events.end(), [](const FileEvent& event) {
    return event.kind != FileEvent::Kind::kChanged;
  });
  closed_ = closed_ || closed;
  const bool soon =
      (closed_ || plan_.done_marked()) && now - scanned_ >= std::max(kCloseLook, look_cost_ * 2);
  if (!news && !due && !soon) return;
  closed_ = false;
  auto scan = files_.Scan();
  if (!scan.ok()) {
    SetTrouble("cannot look at the checkpoints: " + scan.status().message());
    return;
  }
  Learn(*scan, now);
  if (news) {
    ended_seen_ = true;
    ended_at_ = now;
    plan_.OnEnded(ended->clean, ended->graceful, now);
  }
}

void CheckpointKeeper::Learn(const DirectoryScan& scan, MonoTime now) {
  scanned_ = now;
  const std::vector<FileEvent> later = files_.TakeEvents();
  plan_.OnScan(scan, now, later);
  plan_.OnEvents(later);
  TellSkipped(scan);
  dirty_ = !later.empty() || scan.torn;
  closed_ = dirty_;
  look_cost_ = clock_.Mono() - now;
}

void CheckpointKeeper::Capture(MonoTime now) {
  if (mark_owed_ || (now < take_after_ && !ended_seen_ && !plan_.done_marked())) return;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    if (dirty_) return;
    const MonoTime asked = clock_.Mono();
    std::optional<Candidate> candidate = plan_.Decide(now);
    look_cost_ = std::max(look_cost_, clock_.Mono() - asked);
    if (!candidate) {
      nothing_left_ = ended_seen_;
      return;
    }
    if (Take(std::move(*candidate), now)) continue;
    // It changed under our hands: look again, at once.
    take_after_ = std::max(take_after_, clock_.Mono() + (clock_.Mono() - now));
    now = clock_.Mono();
    plan_.OnEvents(files_.TakeEvents());
    auto scan = files_.Scan();
    if (!scan.ok()) return;
    Learn(*scan, now);
  }
}

// True when there is nothing to wait for before the next decision.
bool CheckpointKeeper::Take(Candidate candidate, MonoTime now) {
  SnapshotRequest request;
  for (const FileFact& fact : candidate.copy) {
    const std::string why = WhyNotKept(config_.job, fact.path);
    if (!why.empty()) {
      SetTrouble("'" + Printable(fact.path) + "' cannot be kept: " + why);
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
  request.patience = behind || ended_seen_ ? kFirmPatience : kPatience;
  request.even_if_open = candidate.reason == CandidateReason::kDone;
  request.need_task = !ended_seen_;
  request.or_original = true;
  auto copy = files_.Take(request);
  take_failed_ = copy.status();
  if (copy.code() == Code::kNoSpace) {
    SetTrouble(copy.status().ToString());
    take_after_ = clock_.Mono() + kNoRoomRetry;
    if (ended_seen_) nothing_left_ = true;
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
  // Copies take turns with the program's own work when it writes without a pause.
  const MonoTime after = clock_.Mono();
  take_after_ = after + (after - now);
  return true;
}

std::set<std::string> CheckpointKeeper::Broken(const Candidate& candidate, Snapshot& copy) const {
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

bool CheckpointKeeper::Dangles(const Candidate& candidate, Snapshot& copy) const {
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

void CheckpointKeeper::Adopt(const Candidate& candidate, std::unique_ptr<Snapshot> owned) {
  const std::shared_ptr<Snapshot> copy = std::move(owned);
  auto moment = std::make_shared<Moment>();
  moment->reason = candidate.reason;
  moment->together = candidate.together;
  moment->cycle = candidate.cycle;
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
    moment->files[file->fact.path] = std::move(file);
  }
  plan_.OnTaken(candidate);
  mark_owed_ = candidate.reason == CandidateReason::kDone && HasOriginals(*moment);
  if (candidate.reason == CandidateReason::kDone && !mark_owed_) {
    const Status removed = files_.Remove(kDoneMark);
    if (!removed.ok()) SetTrouble(removed.message());
  }
  staged_ = moment->files;
  taken_cycle_ = candidate.cycle;
  waiting_.push_back(std::move(moment));
  const size_t most = follower_ ? 2 : 1;
  if (waiting_.size() > most) waiting_.erase(waiting_.begin());
}

void CheckpointKeeper::Step() {
  const MonoTime now = clock_.Mono();
  Observe(now);
  Capture(now);
  Advance(clock_.Mono());
  TellUnsaved(clock_.Mono());
  Plan(clock_.Mono());
  const bool pending = plan_.Pending();
  const std::lock_guard lock(mutex_);
  written_ = {plan_.ever_written() || pending, pending};
}

// What can be in no checkpoint is said when it comes, and stays the node's trouble while it is
// there.
void CheckpointKeeper::TellSkipped(const DirectoryScan& scan) {
  if (scan.skipped == skipped_) return;
  skipped_ = scan.skipped;
  std::string text;
  if (!skipped_.empty()) {
    const std::string more =
        skipped_.size() == 1 ? "" : " and " + std::to_string(skipped_.size() - 1) + " more";
    text = "'" + Printable(skipped_.front().path) + "'" + more +
           " can be in no checkpoint: " + std::string(WhySkipped(skipped_.front().why));
  }
  {
    const std::lock_guard lock(mutex_);
    if (text == left_out_) return;
    left_out_ = text;
  }
  if (!text.empty() && config_.say) config_.say(text);
}

void CheckpointKeeper::NoteSaved(MonoTime now) {
  if (behind_) slowest_ = std::max(slowest_, now - *behind_);
  behind_.reset();
  const bool told = !told_.empty();
  told_.clear();
  {
    const std::lock_guard lock(mutex_);
    unsaved_.clear();
  }
  if (told && config_.say) config_.say("checkpoints are saved again");
}

// Nothing is silent for longer than two commits take.
void CheckpointKeeper::TellUnsaved(MonoTime now) {
  if (ended_seen_) return;
  const bool under_way = phase() != Phase::kIdle || !waiting_.empty();
  if (!plan_.Pending() && !under_way) {
    if (behind_) NoteSaved(now);
    return;
  }
  if (!behind_) behind_ = now;
  Duration patience = std::max({kSilentAtLeast, config_.quiet * kSilentQuiets, slowest_ * 2});
  if (now - *behind_ < patience) return;
  const CheckpointPlan::Obstacle why = WhyUnsaved(now);
  if (why.kind.empty()) return;
  // Short pauses are also what follows when something else has come to an end.
  if (why.kind == "pauses" && !told_.empty()) return;
  const bool slow = why.kind == "upload";
  if (slow && now - *behind_ < patience * kSilentUpload) return;
  const bool news = told_.insert(why.kind).second;
  const std::string text = "no checkpoint has been saved for " + HumanDuration(now - *behind_) +
                           " although there is something new: " + why.text;
  {
    const std::lock_guard lock(mutex_);
    if (news || unsaved_.empty()) unsaved_ = text;
  }
  if (news && config_.say) config_.say(text);
}

CheckpointPlan::Obstacle CheckpointKeeper::WhyUnsaved(MonoTime now) const {
  {
    const std::lock_guard lock(mutex_);
    if (!trouble_.empty()) return {"trouble", trouble_};
  }
  if (phase() != Phase::kIdle) return {"upload", "its upload goes on"};
  const CheckpointPlan::Obstacle why = plan_.WhyNotYet(now);
  if (!why.kind.empty() || take_failed_.ok()) return why;
  return {"copy", "it could not be copied: " + take_failed_.ToString()};
}

void CheckpointKeeper::Plan(MonoTime now) {
  const Phase at = phase();
  MonoTime next = now + kIdleLook;
  const Duration busy = std::max(kBusyLook, look_cost_ * kLookShare);
  if (plan_.Pending()) {
    next = std::min(next, std::max(plan_.NextLook(now), now + look_cost_ * kLookShare));
    next = std::min(next, now + busy);
  }
  if (dirty_) next = std::min(next, scanned_ + (closed_ ? kCloseLook : busy));
  if (ended_news_ && !ended_seen_) next = std::min(next, *ended_news_ + kLastHints);
  if (take_after_ > now) next = std::min(next, take_after_);
  if (at == Phase::kUploaded || at == Phase::kCommit || (at == Phase::kIdle && !waiting_.empty())) {
    next = std::min(next, std::max(not_before_, now + kRetry));
  }
  const bool listens = follower_ || at == Phase::kCollect || (leader_ && !plan_.ever_written());
  if (listens) next = std::min(next, std::max(next_poll_, now + kRetry));
  next_step_ = std::max(next, now);
}

Duration CheckpointKeeper::Poll() const {
  const StoreTraits& traits = store_.traits();
  return traits.requests_are_free ? kBusyLook : traits.poll;
}

void CheckpointKeeper::Hurry() {
  const std::lock_guard lock(mutex_);
  hurry_ = true;
}

void CheckpointKeeper::ProgramEnded(const TaskExit& exit, bool signalled) {
  {
    const std::lock_guard lock(mutex_);
    const bool well = exit.signal == 0 && exit.exit_code == 0;
    if (!ended_) ended_ = Ended{well && !signalled, well && signalled};
    hurry_ = hurry_ || signalled;
  }
  files_.Wake();
}

bool CheckpointKeeper::Finished() const {
  const std::lock_guard lock(mutex_);
  return finished_;
}

std::string CheckpointKeeper::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

int64_t CheckpointKeeper::commits() const {
  const std::lock_guard lock(mutex_);
  return commits_;
}

CheckpointKeeper::Written CheckpointKeeper::written() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

std::string CheckpointKeeper::trouble() const {
  const std::lock_guard lock(mutex_);
  if (!trouble_.empty()) return trouble_;
  return unsaved_.empty() ? left_out_ : unsaved_;
}

bool CheckpointKeeper::UploadWaiting() const {
  const std::lock_guard lock(mutex_);
  return phase_ == Phase::kUpload;
}

}  // namespace stoker
