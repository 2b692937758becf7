// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rounds.h"

#include <algorithm>

#include "ledger/segments/read_again.h"

namespace stoker {
namespace {

// How long a node is waited for that has given its last word.
constexpr Duration kBeforeItGoes = Duration::Seconds(5);

Status PutObject(ObjectStore& store, const std::string& key, const std::string& data) {
  auto put = store.Put(key, data);
  return put.ok() ? Status::Ok() : put.status();
}

Result<Round> RoundAt(ObjectStore& store, const std::string& key) {
  return GetJudged(store, key, [](const Object& object) { return DecodeRound(object.data); });
}

}  // namespace

Status RoundLeader::Open(Round round) {
  STOKER_TRY(PutObject(store_, RoundKey(job_, {attempt_, round.seq}), EncodeRound(round)));
  opened_at_ = clock_.Mono();
  round_ = round;
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
  if (answer.final && answer.part.ended) {
    const MonoTime seen = ended_at_.emplace(rank, clock_.Mono()).first->second;
    answer.part.rests = answer.part.rests || clock_.Mono() - seen >= rest_;
  }
  return std::optional<Answer>(std::move(answer));
}

// Its last word is of a later save. As long as it is there, it answers for what it had before, too.
bool RoundLeader::MayAnswerStill(const Answer& answer) const {
  const Part& part = answer.part;
  const bool told = !part.late && !part.none && !round_.any;
  const bool later = told && (part.step > round_.step || part.done > round_.done);
  return answer.final && later && clock_.Mono() - opened_at_ < kBeforeItGoes;
}

Result<RoundLeader::State> RoundLeader::Poll(const std::vector<int>& silent) {
  for (int rank = 1; rank < num_nodes_; ++rank) {
    if (parts_.count(rank) != 0) continue;
    STOKER_ASSIGN(std::optional<Answer> answer, AnswerOf(rank));
    if (!answer) continue;
    Part& part = answer->part;
    const bool silent_now = std::find(silent.begin(), silent.end(), rank) != silent.end();
    if (!silent_now && MayAnswerStill(*answer)) continue;
    // Of a wish, the wisher's own is what is asked for.
    const bool own = round_.wish != 0 && part.wish == round_.wish;
    const bool matches = own || Matches(round_, part);
    if (part.late || !matches) return State::kLate;
    parts_[rank] = std::move(part);
  }
  if (static_cast<int>(parts_.size()) < num_nodes_ - 1) return State::kWaiting;
  if (round_.wish != 0) served_ = parts_;
  return State::kComplete;
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
    if (served != served_.end() && !served->second.none && IsTold(wish->step, wish->done) &&
        served->second.done == wish->done && served->second.step == wish->step) {
      continue;
    }
    if (!newest || wish->step > newest->step || wish->done > newest->done) newest = *wish;
  }
  return newest;
}

void RoundLeader::Granted(const Round& wish) {
  const bool told = IsTold(wish.step, wish.done);
  for (const auto& [rank, other] : wishes_) {
    const bool older = told && other.step <= wish.step && other.done <= wish.done;
    if (older || other.seq == wish.seq) granted_[rank] = other.seq;
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
    open_ = *round;
  }
  if (open_ && open_->seq <= answered_) open_.reset();
  return open_;
}

Status RoundFollower::Answer(const Round& round, Part part) {
  part.rank = rank_;
  STOKER_TRY(PutObject(store_, PartKey(job_, {attempt_, round.seq}, rank_), EncodePart(part)));
  answered_ = round.seq;
  if (part.late) return Status::Ok();
  looked_for_ = round.seq;
  return Status::Ok();
}

Status RoundFollower::AnswerForGood(Part part) {
  part.rank = rank_;
  return PutObject(store_, FinalPartKey(job_, attempt_, rank_), EncodePart(part));
}

Status RoundFollower::Wish(const Part& part, int64_t number) {
  Round wish;
  wish.seq = number;
  wish.done = part.done;
  wish.step = part.step;
  wish_ = number;
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
