// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/commit.h"

#include <algorithm>

#include "base/deliberate_bug.h"
#include "base/prng.h"
#include "base/text.h"
#include "checkpoint/checkpoint_store.h"

namespace stoker {
namespace {

constexpr Duration kFirstBackOff = Duration::Ms(500);
constexpr Duration kLongestBackOff = Duration::Seconds(30);
constexpr Duration kAtOnce = Duration::Ms(20);
// Between looks at a store whose requests are free.
constexpr Duration kFreePoll = Duration::Ms(100);
// Rounds in a row that failed because the nodes save at different times, before that is said.
constexpr int kLateRounds = 3;
// How long that may go on before it is said.
constexpr Duration kLateUnsaid = Duration::Minutes(1);
// How long rank 0, having nothing itself, waits at the end for the others' last parts.
constexpr Duration kFinalPatience = Duration::Seconds(10);

bool AnyOf(const std::vector<int>& some, const std::vector<int>& all) {
  return std::any_of(some.begin(), some.end(),
                     [&](int one) { return std::find(all.begin(), all.end(), one) != all.end(); });
}

}  // namespace

MomentCommit::MomentCommit(KeeperConfig config, ObjectStore& store, Clock& clock,
                           MomentCapture& capture, KeeperTroubles& troubles)
    : config_(std::move(config)),
      store_(store),
      clock_(clock),
      capture_(capture),
      troubles_(troubles),
      nonce_(Prng(config_.nonce_seed).Base32(20)),
      newest_(config_.restored) {
  if (config_.num_nodes > 1 && config_.rank == 0) {
    leader_ = std::make_unique<RoundLeader>(store_, clock_, config_.job, config_.attempt,
                                            config_.num_nodes, config_.quiet * kRestQuiets);
  } else if (config_.rank > 0) {
    follower_ =
        std::make_unique<RoundFollower>(store_, clock_, config_.job, config_.attempt, config_.rank);
  }
}

MomentCommit::~MomentCommit() = default;

Result<StagedFiles> MomentCommit::Begin(const DirectoryScan& scan) {
  StagedFiles restored;
  if (!config_.restored.empty()) {
    STOKER_ASSIGN(Manifest manifest, LoadManifest(store_, config_.job, config_.restored));
    restored = RestoredFiles(manifest, config_.rank, scan);
    committed_ = ContentOf(manifest);
    for (const auto& [path, file] : restored) {
      if (!file->object.empty()) known_[file->sha256] = file->object;
    }
  }
  // An agent that died may have committed in this attempt already.
  STOKER_TRY(ListAll(store_, ManifestsPrefix(config_.job), [&](const ObjectInfo& info) {
    const auto id = IdOfManifestKey(info.key);
    if (id && id->attempt == config_.attempt) numbers_.seq = std::max(numbers_.seq, id->seq);
    return Status::Ok();
  }));
  return restored;
}

void MomentCommit::Add(std::shared_ptr<Moment> moment) {
  waiting_.push_back(std::move(moment));
  const size_t most = follower_ ? 2 : 1;
  if (waiting_.size() > most) waiting_.erase(waiting_.begin());
}

// ---- phases ----

MomentCommit::Phase MomentCommit::phase() const {
  const std::lock_guard lock(mutex_);
  return phase_;
}

void MomentCommit::SetPhase(Phase phase) {
  const std::lock_guard lock(mutex_);
  phase_ = phase;
}

void MomentCommit::Advance(MonoTime now) {
  if (now < not_before_) return;
  if (phase() == Phase::kUploaded) {
    Uploaded(now);
    if (follower_ || phase() == Phase::kIdle) return;
  }
  if (phase() == Phase::kCollect) Collect(now);
  if (phase() == Phase::kCommit) CommitManifest(now);
  if (phase() != Phase::kIdle) return;
  if (follower_) {
    Follow(now);
  } else {
    LeadIdle(now);
  }
}

MonoTime MomentCommit::NextStep(MonoTime now, MonoTime latest) const {
  const Phase at = phase();
  MonoTime next = latest;
  if (at == Phase::kUploaded || at == Phase::kCommit || (at == Phase::kIdle && !waiting_.empty())) {
    next = std::min(next, std::max(not_before_, now + kAtOnce));
  }
  const bool listens = follower_ || at == Phase::kCollect || Silent();
  if (listens) next = std::min(next, std::max(next_poll_, now + kAtOnce));
  return next;
}

Duration MomentCommit::Poll() const {
  const StoreTraits& traits = store_.traits();
  return traits.requests_are_free ? kFreePoll : traits.poll;
}

void MomentCommit::Failed(const Status& status, MonoTime now) {
  back_off_ = std::min(kLongestBackOff, std::max(kFirstBackOff, back_off_ * 2));
  not_before_ = now + back_off_;
  troubles_.NotSavedYet(status);
}

// ---- upload ----

void MomentCommit::StartUpload(std::shared_ptr<Moment> moment, int64_t seq) {
  numbers_.seq = seq;
  numbers_.again += seq > numbers_.highest ? 0 : 1;
  numbers_.folder =
      DataFolder({config_.attempt, seq}, config_.rank, seq > numbers_.highest ? 0 : numbers_.again);
  numbers_.highest = std::max(numbers_.highest, seq);
  upload_began_ = clock_.Mono();
  const std::lock_guard lock(mutex_);
  moment_ = std::move(moment);
  phase_ = Phase::kUpload;
}

bool MomentCommit::RunUpload() {
  std::shared_ptr<Moment> moment;
  {
    const std::lock_guard lock(mutex_);
    if (phase_ != Phase::kUpload) return false;
    phase_ = Phase::kUploading;
    moment = moment_;
  }
  Status status = UploadMoment(store_, config_.movers, config_.job, numbers_.folder, known_,
                               follower_ != nullptr, moment.get());
  const Status same = OriginalsSame(*moment);
  if (same.ok() && status.ok()) {
    for (const auto& [path, file] : moment->files) file->original.reset();
  }
  const std::lock_guard lock(mutex_);
  uploaded_ = same.ok() ? status : same;
  originals_changed_ = !same.ok();
  phase_ = Phase::kUploaded;
  return true;
}

bool MomentCommit::UploadWaiting() const {
  const std::lock_guard lock(mutex_);
  return phase_ == Phase::kUpload;
}

void MomentCommit::Uploaded(MonoTime now) {
  Status status;
  bool changed = false;
  {
    const std::lock_guard lock(mutex_);
    status = uploaded_;
    changed = originals_changed_;
  }
  if (changed) return OriginalsChanged(status, now);
  if (!status.ok()) {
    Failed(status, now);
    // A newer moment takes its place; what is uploaded already is shared with it.
    if (waiting_.empty() && !follower_) waiting_.push_back(moment_);
    if (follower_) NotGiven(*moment_);
    ComesToNothing();
    return;
  }
  back_off_ = {};
  capture_.IsStored();
  if (follower_) return AnswerWithUploaded(now);
  if (leader_) return OpenRound(now);
  SetPhase(Phase::kCommit);
}

// There was no room for a copy, and the program went on before the files themselves were saved:
// what has been sent of them is of no moment.
void MomentCommit::OriginalsChanged(const Status& status, MonoTime now) {
  troubles_.Set(
      "no room for a copy of the checkpoint, and it did not stay as it was until it was "
      "saved: " +
      status.message());
  capture_.Forget(now + kFirstBackOff);
  std::erase_if(waiting_, [](const auto& moment) { return HasOriginals(*moment); });
  ComesToNothing();
}

// The upload under way. Its number is the next round's: the others look for one after the other.
void MomentCommit::ComesToNothing() {
  if (leader_) --numbers_.seq;
  answers_.to.reset();
  answers_.for_good = false;
  SetPhase(Phase::kIdle);
}

// ---- rank 0: what to upload next, and rounds ----

// It has nothing itself, and commits what the others wish.
bool MomentCommit::Silent() const { return leader_ && !capture_.ever_written(); }

void MomentCommit::LeadIdle(MonoTime now) {
  if (!waiting_.empty()) {
    std::shared_ptr<Moment> newest = std::move(waiting_.back());
    waiting_.clear();
    if (!WaitsForRest(*newest, now)) return StartUpload(std::move(newest), numbers_.seq + 1);
    late_.moment = std::move(newest);
  }
  if (late_.moment && capture_.StillForLong(*late_.moment, now) && now >= late_.again) {
    late_.again = now + config_.quiet * 5;
    return StartUpload(late_.moment, numbers_.seq + 1);
  }
  const bool polls = Silent() && now >= next_poll_;
  if (polls) {
    next_poll_ = now + Poll();
    const auto granted = GrantWish();
    if (!granted.ok()) return Failed(granted.status(), now);
    if (*granted) return;
  }
  if (capture_.nothing_left() && OthersAreDone(polls, now)) Finish();
}

// Of another node; what is committed of this one is what it has.
Result<bool> MomentCommit::GrantWish() {
  STOKER_ASSIGN(const std::optional<Round> wish, leader_->Wished());
  if (!wish) return false;
  // As of now: it may have written while it waited for the store.
  const MonoTime now = clock_.Mono();
  if (!capture_.Recheck(now) || capture_.ever_written() || WritesFirst(now)) return false;
  auto moment = std::make_shared<Moment>();
  moment->files = capture_.staged();
  moment->wish = wish->seq;
  moment->done = wish->done;
  moment->step = wish->step;
  moment->counted = moment->step >= 0;
  leader_->Granted(*wish);
  StartUpload(std::move(moment), numbers_.seq + 1);
  return true;
}

// While this node writes its first, what others have would be half a checkpoint. But it is not put
// off for ever: what is open all the time never becomes a moment.
bool MomentCommit::WritesFirst(MonoTime now) {
  if (!capture_.writes_first(now)) return false;
  if (!put_off_since_) put_off_since_ = now;
  return now - *put_off_since_ < config_.round_patience / 2;
}

// `polls`: it may ask the store now.
bool MomentCommit::OthersAreDone(bool polls, MonoTime now) {
  if (!Silent() || now - capture_.ended_at() >= kFinalPatience) return true;
  if (!polls) return false;
  const auto missing = leader_->NotFinal();
  if (!missing.ok() || (!missing->empty() && SilentOf(*missing).empty())) return false;
  // A wish may have come with the last of them.
  const auto wish = leader_->Wished();
  return wish.ok() && !wish->has_value();
}

void MomentCommit::Finish() {
  bool completed = false;
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    completed = ended_ && clean_;
  }
  // Nobody waits for this, and after a program that is done there is no attempt to do it.
  if (completed && uncleared_ > 0) ClearNow();
}

// What rests is asked for only as it lies there now: of this moment, and of none before it.
bool MomentCommit::LiesThereStill(MonoTime now) const {
  return waiting_.empty() && capture_.StillForLong(*moment_, now);
}

// Other nodes write as well, and nothing tells which of their saves belongs to this one.
bool MomentCommit::WaitsForRest(const Moment& moment, MonoTime now) const {
  const bool told = IsTold(moment.counted ? moment.step : -1, moment.done);
  return leader_ && late_.untold && !told && !capture_.StillForLong(moment, now);
}

// Where nothing tells, an answer is of the same moment only if both have rested ever since: as a
// look shows that is made when the answer has come. The store may have taken long to give it.
bool MomentCommit::MovedOn() {
  if (!leader_->round().any || BugIsOn("rest-not-asked-again")) return false;
  const MonoTime now = clock_.Mono();
  return !capture_.Recheck(now) || !LiesThereStill(now);
}

void MomentCommit::OpenRound(MonoTime now) {
  Round round;
  round.seq = numbers_.seq;
  round.wish = moment_->wish;
  round.done = moment_->done;
  round.step = moment_->counted ? moment_->step : -1;
  // Before anybody has said that it writes, too, this node may be the only one.
  round.any = late_.untold && !IsTold(round.step, round.done) && LiesThereStill(now);
  round.ended = round.any && !capture_.HasRested(*moment_, now);
  const Status status = leader_->Open(round);
  if (!status.ok()) return Failed(status, now);
  round_since_ = now;
  SetPhase(Phase::kCollect);
}

void MomentCommit::Collect(MonoTime now) {
  if (now < next_poll_) return;
  next_poll_ = now + Poll();
  // Asked first: what it has left is there when it is looked for afterwards.
  const std::vector<int> silent = SilentOf(leader_->Missing());
  auto state = leader_->Poll(silent);
  if (!state.ok()) return Failed(state.status(), now);
  if (*state == RoundLeader::State::kComplete && !MovedOn()) {
    late_.in_a_row = 0;
    late_.moment.reset();
    SetPhase(Phase::kCommit);
  } else if (*state != RoundLeader::State::kWaiting) {
    CountsAsLate(now);
  } else if (AnyOf(silent, leader_->Missing()) || now - round_since_ >= config_.round_patience) {
    troubles_.Set("checkpoint not saved: not every node has answered for it");
    AskAgain();
  }
}

// The others are ahead, and a newer moment of ours will come; or nothing tells which of their saves
// belongs to this one, and it counts once all rest.
void MomentCommit::CountsAsLate(MonoTime now) {
  if (late_.in_a_row++ == 0) late_.since = now;
  late_.moment = moment_;
  const Round& round = leader_->round();
  if (!IsTold(round.step, round.done) && !late_.untold) {
    late_.untold = true;
    if (config_.say) {
      config_.say(
          "more than one node saves, and no number in the names tells which of their saves "
          "belong together: a checkpoint counts once all nodes have written nothing for " +
          FormatDuration(config_.quiet * kRestQuiets) +
          "; a step in the names, or the file .stoker-done made by each node, tells sooner");
    }
  }
  if (late_.in_a_row >= kLateRounds && now - late_.since >= kLateUnsaid) {
    troubles_.Set("checkpoint not saved: the nodes save at different times, and " +
                  std::string(late_.untold ? "no number in the names tells which saves belong "
                                             "together"
                                           : "not the same steps"));
  }
  SetPhase(Phase::kIdle);
}

std::vector<int> MomentCommit::SilentOf(std::vector<int> ranks) const {
  std::erase_if(ranks, [this](int rank) {
    return !config_.silent_for_good || !config_.silent_for_good(rank);
  });
  return ranks;
}

void MomentCommit::AskAgain() {
  // The next moment is a new round; until then, this one is asked for again under a new number.
  if (waiting_.empty() && !capture_.nothing_left()) waiting_.push_back(moment_);
  not_before_ = clock_.Mono() + Poll();
  SetPhase(Phase::kIdle);
}

// ---- the manifest ----

// Whoever seals this attempt must be able to see under which number a manifest may be on its way.
Status MomentCommit::ShowNumber(const Manifest& manifest) {
  if (leader_) return Status::Ok();  // the round
  const std::string folder = DataFolder(manifest.id, config_.rank);
  for (const ManifestFile& file : manifest.parts.front().files) {
    if (StartsWith(file.object, folder)) return Status::Ok();
  }
  Round round;
  round.seq = numbers_.seq;
  return store_.Put(RoundKey(config_.job, manifest.id), EncodeRound(round)).status();
}

Status MomentCommit::PutManifest(const Manifest& manifest) {
  STOKER_TRY(ShowNumber(manifest));
  if (config_.may_commit) {
    STOKER_ASSIGN(const bool may, config_.may_commit());
    if (!may) return Status(Code::kCancelled, "this attempt may not commit any more");
  }
  const std::string key = ManifestKey(config_.job, manifest.id);
  auto put = store_.Put(key, EncodeManifest(manifest), Condition::Absent());
  if (put.ok()) return Status::Ok();
  if (!put.status().Is(Code::kExists) && !put.status().Is(Code::kConflict)) {
    if (!put.status().Is(Code::kBusy)) unsure_.insert(manifest.id);
    return put.status();
  }
  // Ours, when the answer to an earlier try was lost.
  auto there = LoadManifest(store_, config_.job, manifest.id.ToString());
  if (there.ok() && there->writer == nonce_) return Status::Ok();
  return there.status().transient() ? there.status() : put.status();
}

Manifest MomentCommit::MakeManifest() const {
  const Moment& moment = *moment_;
  Manifest manifest;
  manifest.job = config_.job;
  manifest.id = {config_.attempt, numbers_.seq};
  manifest.created = clock_.Wall();
  manifest.writer = nonce_;
  manifest.reason = Name(moment.reason);
  manifest.parts.push_back(PartOf(moment, config_.rank));
  if (leader_) {
    for (Part& part : leader_->parts()) manifest.parts.push_back(std::move(part));
  }
  manifest.parts.front().none = moment.files.empty();
  manifest.step = moment.told_step >= 0 ? moment.told_step : StepOf(manifest.parts);
  for (const Part& part : manifest.parts) {
    for (const ManifestFile& file : part.files) manifest.bytes += file.size;
  }
  return manifest;
}

void MomentCommit::CommitManifest(MonoTime now) {
  const Manifest manifest = MakeManifest();
  const std::string content = ContentOf(manifest);
  // A file that was touched is no news. As a checkpoint of its own it would pass for progress, and
  // whatever is wrong with the one before would be wrong with it.
  if (content == committed_ && moment_->reason != CandidateReason::kDone) {
    troubles_.Set("");
    troubles_.Saved(now);
    SetPhase(Phase::kIdle);
    return;
  }
  const Status status = PutManifest(manifest);
  if (status.Is(Code::kCancelled)) {
    troubles_.Set(status.message());
    capture_.NothingCounts();
    SetPhase(Phase::kIdle);
    return;
  }
  if (status.Is(Code::kExists) || status.Is(Code::kConflict)) {
    ++numbers_.seq;  // somebody has this number: take the next
    SetPhase(leader_ ? Phase::kUploaded : Phase::kCommit);
    return Failed(status, now);
  }
  if (!status.ok()) return Failed(status, now);
  back_off_ = {};
  known_.clear();
  for (const auto& [path, file] : moment_->files) {
    if (!file->object.empty()) known_[file->sha256] = file->object;
  }
  troubles_.Set("");
  committed_ = content;
  NoteCommitted(manifest.id);
  troubles_.Saved(now);
  ClearAway();
  SetPhase(Phase::kIdle);
}

void MomentCommit::NoteCommitted(const CheckpointId& id) {
  const std::lock_guard lock(mutex_);
  newest_ = id.ToString();
  ++commits_;
  upload_took_ = clock_.Mono() - upload_began_;
}

// Short time is for what is newest. But a notice may run for long, or be withdrawn: then as many
// again as are kept wait for it.
void MomentCommit::ClearAway() {
  ++uncleared_;
  {
    const std::lock_guard lock(mutex_);
    if (hurry_ && (ended_ || uncleared_ <= config_.keep)) return;
  }
  ClearNow();
}

void MomentCommit::ClearNow() {
  Retention retention{config_.attempt, config_.keep, config_.protect, unsure_};
  retention.protect.insert(config_.restored);
  const Status cleared = RetainCheckpoints(store_, config_.job, retention);
  if (!cleared.ok()) troubles_.Set("old checkpoints are not cleared away: " + cleared.message());
  if (cleared.ok()) uncleared_ = 0;
}

// ---- what is said from outside, and what is told ----

void MomentCommit::Hurry() {
  const std::lock_guard lock(mutex_);
  hurry_ = true;
}

void MomentCommit::ProgramEnded(bool clean, bool signalled) {
  const std::lock_guard lock(mutex_);
  if (!ended_) clean_ = clean;
  ended_ = true;
  hurry_ = hurry_ || signalled;
  finished_ = finished_ || (signalled && BugIsOn("told-is-finished"));
}

bool MomentCommit::Finished() const {
  const std::lock_guard lock(mutex_);
  return finished_;
}

std::string MomentCommit::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

std::optional<Duration> MomentCommit::upload_took() const {
  const std::lock_guard lock(mutex_);
  return upload_took_;
}

int64_t MomentCommit::commits() const {
  const std::lock_guard lock(mutex_);
  return commits_;
}

}  // namespace stoker
