// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rounds.h"

#include <algorithm>

#include "base/deliberate_bug.h"
#include "ledger/segments/read_again.h"

namespace stoker {
namespace {

// So many equal counts in a row that are by chance, and the counts cannot be compared.
constexpr int kByChance = 2;
// How long a node is waited for that has given its last word.
constexpr Duration kBeforeItGoes = Duration::Seconds(5);

constexpr size_t kRemembered = 16;  // rounds

void Remember(std::map<int64_t, MonoTime>* times, int64_t round, MonoTime at) {
  times->emplace(round, at);  // of two, the first: it may be the one that is seen
  if (times->size() > kRemembered) times->erase(times->begin());
}

Status PutObject(ObjectStore& store, const std::string& key, const std::string& data) {
  auto put = store.Put(key, data);
  return put.ok() ? Status::Ok() : put.status();
}

Result<Round> RoundAt(ObjectStore& store, const std::string& key) {
  return GetJudged(store, key, [](const Object& object) { return DecodeRound(object.data); });
}

}  // namespace

Status RoundLeader::Open(Round round) {
  const MonoTime now = clock_.Mono();
  for (const auto& [rank, answer] : answered_) round.seen[rank] = {answer.round, now - answer.at};
  Remember(&opened_, round.seq, now);
  STOKER_TRY(PutObject(store_, RoundKey(job_, {attempt_, round.seq}), EncodeRound(round)));
  round_ = std::move(round);
  parts_.clear();
  return Status::Ok();
}

Result<std::optional<Part>> RoundLeader::PartAt(const std::string& key) {
  auto part = GetJudged(store_, key, [](const Object& object) { return DecodePart(object.data); });
  if (part.code() == Code::kNotFound) return std::optional<Part>();
  if (!part.ok()) return part.status();
  return std::optional<Part>(std::move(*part));
}

Result<std::optional<RoundLeader::Answer>> RoundLeader::AnswerOf(int rank) {
  Answer answer;
  STOKER_ASSIGN(std::optional<Part> part, PartAt(PartKey(job_, {attempt_, round_.seq}, rank)));
  if (!part) {
    STOKER_ASSIGN(part, PartAt(FinalPartKey(job_, attempt_, rank)));
    answer.final = true;
  }
  if (!part) return std::optional<Answer>();
  answer.part = std::move(*part);
  answer.part.rank = rank;
  // It was given after a round of ours had been seen, so long after, and before this look.
  const auto opened = opened_.find(answer.part.seen_round);
  if (opened != opened_.end()) answer.when.from = opened->second + answer.part.seen_ago;
  answer.when.to = clock_.Mono();
  if (answer.final) {
    answer.when = ended_.emplace(rank, answer.when).first->second;
  } else {
    answered_[rank] = {round_.seq, answer.when.to};
  }
  return std::optional<Answer>(std::move(answer));
}

// Its last word is of a later save. As long as it is there, it answers for what it had before, too.
bool RoundLeader::MayAnswerStill(const Round& exactly, const Answer& answer) const {
  const bool later = answer.final && !answer.part.late && !answer.part.none &&
                     !ByStep(exactly, answer.part) && answer.part.cycle > exactly.cycle;
  return later && clock_.Mono() - opened_.at(round_.seq) < kBeforeItGoes;
}

Result<RoundLeader::State> RoundLeader::Poll(const Own& own, const std::vector<int>& silent) {
  for (int rank = 1; rank < num_nodes_; ++rank) {
    if (parts_.count(rank) != 0) continue;
    STOKER_ASSIGN(std::optional<Answer> answer, AnswerOf(rank));
    if (!answer) continue;
    Part& part = answer->part;
    Round exactly = round_;
    if (answer->final) exactly.any = false;  // a node that ended early may be a checkpoint behind
    const bool silent_now = std::find(silent.begin(), silent.end(), rank) != silent.end();
    if (!silent_now && MayAnswerStill(exactly, *answer)) continue;
    if (part.late || (!Matches(exactly, part) && !BugIsOn("parts-unmatched")) ||
        ByChance(exactly, *answer, own))
      return State::kLate;
    part.began_ago.reset();
    part.seen_round = 0;
    parts_[rank] = std::move(part);
  }
  if (static_cast<int>(parts_.size()) < num_nodes_ - 1) return State::kWaiting;
  if (round_.wished) served_ = parts_;
  return State::kComplete;
}

bool RoundLeader::ByChance(const Round& exactly, const Answer& answer, const Own& own) {
  const Part& part = answer.part;
  if (exactly.any || part.none || ByStep(exactly, part)) return false;
  const bool timed =
      own.times != nullptr && !exactly.wished && part.began_ago && !BugIsOn("equal-by-chance");
  const Between began = answer.when - part.began_ago.value_or(Duration());
  if (timed && own.times->Clearly(began, kSurely) == exactly.cycle) otherwise_.erase(part.rank);
  if (otherwise_.count(part.rank) != 0) return true;
  if (!timed || !own.times->ClearlyAnother(exactly.cycle, began, own.next)) {
    by_chance_.erase(part.rank);
    return false;
  }
  // One alone may be an agent that was stopped and heard of a save late.
  if (++by_chance_[part.rank] >= kByChance) otherwise_.insert(part.rank);
  return true;
}

void RoundLeader::CompareCounts() {
  if (!round_.any) return;
  for (const auto& [rank, part] : parts_) {
    if (part.none || ByStep(round_, part)) continue;
    if (part.cycle == round_.cycle) {
      otherwise_.erase(rank);
      by_chance_.erase(rank);
    } else {
      otherwise_.insert(rank);
    }
  }
}

std::vector<Part> RoundLeader::parts() const {
  std::vector<Part> out;
  for (const auto& [rank, part] : parts_) out.push_back(part);
  return out;
}

Result<std::optional<Round>> RoundLeader::Wished() {
  std::optional<Round> newest;
  for (int rank = 1; rank < num_nodes_; ++rank) {
    const auto wish = RoundAt(store_, WishKey(job_, attempt_, rank));
    if (wish.code() == Code::kNotFound) continue;
    if (!wish.ok()) return wish.status();
    wishes_[rank] = *wish;
    const auto granted = granted_.find(rank);
    if (granted != granted_.end() && wish->seq == granted->second) continue;
    // Another's wish for the same moment has been granted.
    const auto served = served_.find(rank);
    if (served != served_.end() && !served->second.none && served->second.cycle == wish->cycle &&
        served->second.step == wish->step) {
      continue;
    }
    if (!newest || wish->cycle > newest->cycle) newest = *wish;
  }
  return newest;
}

void RoundLeader::Granted(const Round& wish) {
  for (const auto& [rank, other] : wishes_) {
    if (other.cycle <= wish.cycle) granted_[rank] = other.seq;
  }
}

std::vector<int> RoundLeader::Missing() const {
  std::vector<int> out;
  for (int rank = 1; rank < num_nodes_; ++rank) {
    if (parts_.count(rank) == 0) out.push_back(rank);
  }
  return out;
}

Result<std::vector<int>> RoundLeader::NotFinal() {
  std::vector<int> out;
  for (int rank = 1; rank < num_nodes_; ++rank) {
    STOKER_ASSIGN(std::optional<Part> part, PartAt(FinalPartKey(job_, attempt_, rank)));
    if (!part) out.push_back(rank);
  }
  return out;
}

Result<std::optional<Round>> RoundFollower::Next() {
  for (;;) {
    auto round = RoundAt(store_, RoundKey(job_, {attempt_, last_seen_ + 1}));
    if (round.code() == Code::kNotFound) break;
    if (!round.ok()) return round.status();
    round->seq = ++last_seen_;
    seen_at_ = clock_.Mono();
    began_.reset();
    if (round->began_ago) began_ = AskedAt(*round) - *round->began_ago;
    moved_on_ = moved_on_ || Another(*round);
    open_ = *round;
  }
  if (open_ && open_->seq <= answered_) open_.reset();
  return open_;
}

// After an answer of this node had been seen, so long after, and before this look.
Between RoundFollower::AskedAt(const Round& round) const {
  Between asked;
  asked.to = seen_at_;
  const auto seen = round.seen.find(rank_);
  if (seen == round.seen.end()) return asked;
  const auto answered = answered_at_.find(seen->second.round);
  if (answered != answered_at_.end()) asked.from = answered->second + seen->second.ago;
  return asked;
}

void RoundFollower::SaySeen(Part* part) const {
  part->seen_round = last_seen_;
  part->seen_ago = clock_.Mono() - seen_at_;
}

// Of another moment than the one that a part was given to? Once nodes wish, rank 0's own count is
// equal by chance: what was given was kept, and rank 0 has begun to save after it.
bool RoundFollower::Another(const Round& round) const {
  if (given_to_.cycle == 0) return false;
  const bool own_now = given_to_.wished && !round.wished;
  return own_now || round.cycle != given_to_.cycle;
}

Status RoundFollower::Answer(const Round& round, Part part) {
  part.rank = rank_;
  Remember(&answered_at_, round.seq, clock_.Mono());
  STOKER_TRY(PutObject(store_, PartKey(job_, {attempt_, round.seq}, rank_), EncodePart(part)));
  answered_ = round.seq;
  if (part.late) return Status::Ok();
  looked_for_ = round.seq;
  given_to_ = round;
  moved_on_ = false;
  return Status::Ok();
}

Status RoundFollower::AnswerForGood(Part part) {
  part.rank = rank_;
  given_to_ = {};
  moved_on_ = false;
  return PutObject(store_, FinalPartKey(job_, attempt_, rank_), EncodePart(part));
}

Status RoundFollower::Wish(const Part& part, int64_t number) {
  Round wish;
  wish.seq = number;
  wish.cycle = part.cycle;
  wish.step = part.step;
  return PutObject(store_, WishKey(job_, attempt_, rank_), EncodeRound(wish));
}

Result<std::optional<CheckpointId>> RoundFollower::Committed() {
  if (looked_for_ == 0) return std::optional<CheckpointId>();
  const CheckpointId id{attempt_, looked_for_};
  auto info = store_.Head(ManifestKey(job_, id));
  if (info.code() == Code::kNotFound) return std::optional<CheckpointId>();
  if (!info.ok()) return info.status();
  looked_for_ = 0;
  if (!IsCommitted(*info)) return std::optional<CheckpointId>();
  return std::optional<CheckpointId>(id);
}

}  // namespace stoker
