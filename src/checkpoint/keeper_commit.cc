// SPDX-License-Identifier: Apache-2.0
// From a copied moment to a manifest: upload, agree with the other nodes, commit, clear away.
#include <algorithm>

#include "base/text.h"
#include "checkpoint/checkpoint_store.h"
#include "checkpoint/keeper.h"

namespace stoker {
namespace {

constexpr Duration kFirstBackOff = Duration::Ms(500);
constexpr Duration kLongestBackOff = Duration::Seconds(30);
// Rounds in a row that failed because the nodes' counts differ, before counts are given up.
constexpr int kLateRounds = 3;
// How long rank 0, having nothing itself, waits at the end for the others' last parts.
constexpr Duration kFinalPatience = Duration::Seconds(10);

bool AnyOf(const std::vector<int>& some, const std::vector<int>& all) {
  return std::any_of(some.begin(), some.end(),
                     [&](int one) { return std::find(all.begin(), all.end(), one) != all.end(); });
}

}  // namespace

bool CheckpointKeeper::RunUpload() {
  std::shared_ptr<Moment> moment;
  {
    const std::lock_guard lock(mutex_);
    if (phase_ != Phase::kUpload) return false;
    phase_ = Phase::kUploading;
    moment = moment_;
  }
  Status status = UploadMoment(store_, config_.movers, config_.job, folder_, known_, moment.get());
  const Status same = OriginalsSame(*moment);
  if (same.ok() && status.ok()) {
    for (const auto& [path, file] : moment->files) file->original.reset();
  }
  {
    const std::lock_guard lock(mutex_);
    uploaded_ = same.ok() ? status : same;
    originals_changed_ = !same.ok();
    phase_ = Phase::kUploaded;
  }
  files_.Wake();
  return true;
}

void CheckpointKeeper::StartUpload(int64_t seq) {
  seq_ = seq;
  again_ += seq > highest_seq_ ? 0 : 1;
  folder_ = DataFolder({config_.attempt, seq}, config_.rank, seq > highest_seq_ ? 0 : again_);
  highest_seq_ = std::max(highest_seq_, seq);
  const std::lock_guard lock(mutex_);
  phase_ = Phase::kUpload;
}

void CheckpointKeeper::Failed(const Status& status, MonoTime now) {
  back_off_ = std::min(kLongestBackOff, std::max(kFirstBackOff, back_off_ * 2));
  not_before_ = now + back_off_;
  // Which file meets a full store first is chance, and no news.
  const bool full = status.Is(Code::kNoSpace);
  if (full && full_) return;
  SetTrouble("checkpoint not saved yet: " + status.ToString());
  full_ = full;
}

void CheckpointKeeper::Advance(MonoTime now) {
  if (now < not_before_) return;
  Phase at = phase();
  if (at == Phase::kUploaded) {
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
      answering_.reset();
      SetPhase(Phase::kIdle);
      return;
    }
    back_off_ = {};
    if (mark_owed_) {
      mark_owed_ = false;
      const Status removed = files_.Remove(kDoneMark);
      if (!removed.ok()) SetTrouble(removed.message());
    }
    if (follower_) {
      Follow(now);
      return;
    }
    if (leader_) {
      OpenRound(now);
    } else {
      SetPhase(Phase::kCommit);
    }
    at = phase();
  }
  if (at == Phase::kCollect) Collect(now);
  if (phase() == Phase::kCommit) CommitManifest(now);
  if (phase() == Phase::kIdle) {
    if (follower_) {
      Follow(now);
    } else {
      LeadIdle(now);
    }
  }
}

// There was no room for a copy, and the program went on before the files themselves were saved:
// what has been sent of them is of no moment.
void CheckpointKeeper::OriginalsChanged(const Status& status, MonoTime now) {
  SetTrouble(
      "no room for a copy of the checkpoint, and it did not stay as it was until it was "
      "saved: " +
      status.message());
  plan_.ForgetTaken();
  staged_.clear();
  std::erase_if(waiting_, [](const auto& moment) { return HasOriginals(*moment); });
  mark_owed_ = false;
  answering_.reset();
  take_after_ = std::max(take_after_, now + kFirstBackOff);
  SetPhase(Phase::kIdle);
}

void CheckpointKeeper::LeadIdle(MonoTime now) {
  if (!waiting_.empty()) {
    {
      const std::lock_guard lock(mutex_);
      moment_ = std::move(waiting_.back());
    }
    waiting_.clear();
    StartUpload(seq_ + 1);
    return;
  }
  if (late_moment_ && !ended_seen_ && StillForLong(*late_moment_, now) && now >= late_again_) {
    late_again_ = now + config_.quiet * 5;
    {
      const std::lock_guard lock(mutex_);
      moment_ = late_moment_;
    }
    StartUpload(seq_ + 1);
    return;
  }
  const bool silent = leader_ && !plan_.ever_written();
  const bool polls = silent && now >= next_poll_;
  if (polls) {
    next_poll_ = now + Poll();
    auto wish = leader_->Wished();
    if (!wish.ok()) return Failed(wish.status(), now);
    if (wish->has_value()) {
      auto moment = std::make_shared<Moment>();
      moment->files = staged_;
      moment->cycle = (*wish)->cycle;
      moment->step = (*wish)->step;
      moment->counted = moment->step >= 0;
      {
        const std::lock_guard lock(mutex_);
        moment_ = std::move(moment);
        uploaded_ = Status::Ok();
      }
      StartUpload(seq_ + 1);
      return;
    }
  }
  if (!nothing_left_) return;
  bool done = true;
  if (silent && now - ended_at_ < kFinalPatience) {
    if (!polls) return;
    auto missing = leader_->NotFinal();
    done = missing.ok() && (missing->empty() || !Silent(*missing).empty());
    // A wish may have come with the last of them.
    if (done) {
      auto wish = leader_->Wished();
      done = wish.ok() && !wish->has_value();
    }
  }
  if (!done) return;
  bool completed = false;
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    completed = ended_ && ended_->clean;
  }
  // Nobody waits for this, and after a program that is done there is no attempt to do it.
  if (completed && uncleared_ > 0) ClearNow();
}

bool CheckpointKeeper::StillForLong(const Moment& moment, MonoTime now) const {
  return plan_.all_taken() && moment.cycle == plan_.cycle() &&
         now - plan_.last_change() >= config_.quiet * 10;
}

void CheckpointKeeper::OpenRound(MonoTime now) {
  Round round;
  round.seq = seq_;
  round.cycle = moment_->cycle;
  round.step = moment_->counted ? moment_->step : -1;
  // Counts are given up only for what lies there now: of this moment, and of none before it.
  round.any = late_rounds_ >= kLateRounds && waiting_.empty() && StillForLong(*moment_, now);
  const Status status = leader_->Open(round);
  if (!status.ok()) return Failed(status, now);
  round_since_ = now;
  SetPhase(Phase::kCollect);
}

void CheckpointKeeper::Collect(MonoTime now) {
  if (now < next_poll_) return;
  next_poll_ = now + Poll();
  // Asked first: what it has left is there when it is looked for afterwards.
  const std::vector<int> silent = Silent(leader_->Missing());
  auto state = leader_->Poll();
  if (!state.ok()) return Failed(state.status(), now);
  if (*state == RoundLeader::State::kComplete) {
    late_rounds_ = 0;
    late_moment_.reset();
    SetPhase(Phase::kCommit);
  } else if (*state == RoundLeader::State::kLate) {
    // The others are ahead: a newer moment of ours will come. If none does, and everything rests
    // for long, their counts and ours have nothing to do with one another.
    ++late_rounds_;
    late_moment_ = moment_;
    SetPhase(Phase::kIdle);
  } else if (AnyOf(silent, leader_->Missing()) || now - round_since_ >= config_.round_patience) {
    SetTrouble("checkpoint not saved: not every node has answered for it");
    GiveUpRound();
  }
}

std::vector<int> CheckpointKeeper::Silent(std::vector<int> ranks) const {
  std::erase_if(ranks, [this](int rank) {
    return !config_.silent_for_good || !config_.silent_for_good(rank);
  });
  return ranks;
}

void CheckpointKeeper::GiveUpRound() {
  // The next moment is a new round; until then, this one is asked for again under a new number.
  if (waiting_.empty() && !nothing_left_) waiting_.push_back(moment_);
  not_before_ = clock_.Mono() + Poll();
  SetPhase(Phase::kIdle);
}

// Whoever seals this attempt must be able to see under which number a manifest may be on its way.
Status CheckpointKeeper::ShowNumber() {
  if (leader_) return Status::Ok();  // the round
  const std::string folder = DataFolder(manifest_.id, config_.rank);
  for (const ManifestFile& file : manifest_.parts.front().files) {
    if (StartsWith(file.object, folder)) return Status::Ok();
  }
  Round round;
  round.seq = seq_;
  return store_.Put(RoundKey(config_.job, manifest_.id), EncodeRound(round)).status();
}

Status CheckpointKeeper::PutManifest() {
  STOKER_TRY(ShowNumber());
  if (config_.may_commit) {
    STOKER_ASSIGN(const bool may, config_.may_commit());
    if (!may) return Status(Code::kCancelled, "this attempt may not commit any more");
  }
  const std::string key = ManifestKey(config_.job, manifest_.id);
  auto put = store_.Put(key, EncodeManifest(manifest_), Condition::Absent());
  if (put.ok()) return Status::Ok();
  if (!put.status().Is(Code::kExists) && !put.status().Is(Code::kConflict)) {
    if (!put.status().Is(Code::kBusy)) unsure_.insert(manifest_.id);
    return put.status();
  }
  // Ours, when the answer to an earlier try was lost.
  auto there = LoadManifest(store_, config_.job, manifest_.id.ToString());
  if (there.ok() && there->writer == nonce_) return Status::Ok();
  return there.status().transient() ? there.status() : put.status();
}

Manifest CheckpointKeeper::MakeManifest() const {
  const Moment& moment = *moment_;
  Manifest manifest;
  manifest.job = config_.job;
  manifest.id = {config_.attempt, seq_};
  manifest.created = clock_.Wall();
  manifest.writer = nonce_;
  manifest.reason = Name(moment.reason);
  manifest.step = moment.step;
  manifest.together = moment.together;
  manifest.parts.push_back(PartOf(moment, config_.rank));
  if (leader_) {
    for (Part& part : leader_->parts()) manifest.parts.push_back(std::move(part));
  }
  manifest.parts.front().none = moment.files.empty();
  for (const Part& part : manifest.parts) {
    for (const ManifestFile& file : part.files) manifest.bytes += file.size;
  }
  return manifest;
}

void CheckpointKeeper::CommitManifest(MonoTime now) {
  manifest_ = MakeManifest();
  const std::string content = ContentOf(manifest_);
  // A file that was touched is no news. As a checkpoint of its own it would pass for progress, and
  // whatever is wrong with the one before would be wrong with it.
  if (content == committed_ && moment_->reason != CandidateReason::kDone) {
    SetTrouble("");
    NoteSaved(now);
    SetPhase(Phase::kIdle);
    return;
  }
  const Status status = PutManifest();
  if (status.Is(Code::kCancelled)) {
    SetTrouble(status.message());
    nothing_left_ = nothing_left_ || ended_seen_;
    SetPhase(Phase::kIdle);
    return;
  }
  if (status.Is(Code::kExists) || status.Is(Code::kConflict)) {
    ++seq_;  // somebody has this number: take the next
    SetPhase(leader_ ? Phase::kUploaded : Phase::kCommit);
    return Failed(status, now);
  }
  if (!status.ok()) return Failed(status, now);
  back_off_ = {};
  known_.clear();
  for (const auto& [path, file] : moment_->files) {
    if (!file->object.empty()) known_[file->sha256] = file->object;
  }
  SetTrouble("");
  committed_ = content;
  NoteCommitted(manifest_.id);
  NoteSaved(now);
  ClearAway();
  SetPhase(Phase::kIdle);
}

// Short time is for what is newest. But a notice may run for long, or be withdrawn: then as many
// again as are kept wait for it.
void CheckpointKeeper::ClearAway() {
  ++uncleared_;
  {
    const std::lock_guard lock(mutex_);
    if (hurry_ && (ended_ || uncleared_ <= config_.keep)) return;
  }
  ClearNow();
}

void CheckpointKeeper::ClearNow() {
  Retention retention{config_.attempt, config_.keep, config_.protect, unsure_};
  retention.protect.insert(config_.restored);
  const Status cleared = RetainCheckpoints(store_, config_.job, retention);
  if (!cleared.ok()) SetTrouble("old checkpoints are not cleared away: " + cleared.message());
  if (cleared.ok()) uncleared_ = 0;
}

void CheckpointKeeper::NoteCommitted(const CheckpointId& id) {
  const std::lock_guard lock(mutex_);
  newest_ = id.ToString();
  ++commits_;
}

// What a node other than rank 0 does when no upload is under way.
void CheckpointKeeper::Follow(MonoTime now) {
  if (phase() == Phase::kUploaded) {
    const Part part = PartOf(*moment_, config_.rank);
    const Status status = ending_for_good_ ? follower_->AnswerForGood(part)
                          : answering_     ? follower_->Answer(*answering_, part)
                                           : Status::Ok();
    if (!status.ok()) return Failed(status, now);
    last_answer_ = moment_;
    std::erase(waiting_, last_answer_);
    answering_.reset();
    SetPhase(Phase::kIdle);
    if (ending_for_good_) {
      const std::lock_guard lock(mutex_);
      finished_ = true;
    }
    return;
  }
  if (now < next_poll_) return;
  next_poll_ = now + Poll();
  auto committed = follower_->Committed();
  if (committed.ok() && committed->has_value()) NoteCommitted(**committed);
  auto round = follower_->Next();
  if (!round.ok()) return Failed(round.status(), now);
  back_off_ = {};
  if (round->has_value()) AnswerRound(**round);
  if (phase() != Phase::kIdle) return;
  if (nothing_left_) return EndFollowing();
  if (!waiting_.empty() && waiting_.back()->cycle > wished_cycle_ && !round->has_value()) {
    const Status status = follower_->Wish(PartOf(*waiting_.back(), config_.rank));
    if (!status.ok()) return Failed(status, now);
    wished_cycle_ = waiting_.back()->cycle;
  }
}

void CheckpointKeeper::AnswerRound(const Round& round) {
  if (!plan_.ever_written()) {
    Part none;
    none.none = true;
    const Status status = follower_->Answer(round, none);
    if (!status.ok()) Failed(status, clock_.Mono());
    return;
  }
  std::vector<std::shared_ptr<Moment>> mine = waiting_;
  if (last_answer_) mine.insert(mine.begin(), last_answer_);
  for (auto moment = mine.rbegin(); moment != mine.rend(); ++moment) {
    if (round.any && !StillForLong(**moment, clock_.Mono())) continue;
    if (!Matches(round, PartOf(**moment, config_.rank))) continue;
    answering_ = round;
    {
      const std::lock_guard lock(mutex_);
      moment_ = *moment;
    }
    StartUpload(round.seq);
    return;
  }
  if (mine.empty()) return;
  const Moment& newest = *mine.back();
  const bool by_step = round.step >= 0 && newest.counted;
  const bool ahead = round.any || (by_step ? newest.step > round.step : newest.cycle > round.cycle);
  if (!ahead) return;  // its moment is still to come
  Part late;
  late.late = true;
  const Status status = follower_->Answer(round, late);
  if (!status.ok()) Failed(status, clock_.Mono());
}

// The last word of this node, which answers every later round.
void CheckpointKeeper::EndFollowing() {
  const std::shared_ptr<Moment> last = !waiting_.empty() ? waiting_.back() : last_answer_;
  ending_for_good_ = true;
  if (last) {
    {
      const std::lock_guard lock(mutex_);
      moment_ = last;
    }
    (void)follower_->Wish(PartOf(*last, config_.rank));
    StartUpload(follower_->free_seq());
    return;
  }
  Part none;
  none.none = !plan_.ever_written();
  none.late = plan_.ever_written();
  const Status status = follower_->AnswerForGood(none);
  if (!status.ok()) return Failed(status, clock_.Mono());
  const std::lock_guard lock(mutex_);
  finished_ = true;
}

}  // namespace stoker
