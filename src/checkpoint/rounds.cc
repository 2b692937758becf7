// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rounds.h"

#include "base/deliberate_bug.h"
#include "ledger/read_again.h"

namespace stoker {
namespace {

Status PutObject(ObjectStore& store, const std::string& key, const std::string& data) {
  auto put = store.Put(key, data);
  return put.ok() ? Status::Ok() : put.status();
}

Result<Round> RoundAt(ObjectStore& store, const std::string& key) {
  return GetJudged(store, key, [](const Object& object) { return DecodeRound(object.data); });
}

}  // namespace

Status RoundLeader::Open(const Round& round) {
  STOKER_TRY(PutObject(store_, RoundKey(job_, {attempt_, round.seq}), EncodeRound(round)));
  round_ = round;
  parts_.clear();
  served_cycle_ = std::max(served_cycle_, round.cycle);
  return Status::Ok();
}

Result<std::optional<Part>> RoundLeader::PartAt(const std::string& key) {
  auto part = GetJudged(store_, key, [](const Object& object) { return DecodePart(object.data); });
  if (part.code() == Code::kNotFound) return std::optional<Part>();
  if (!part.ok()) return part.status();
  return std::optional<Part>(std::move(*part));
}

Result<RoundLeader::State> RoundLeader::Poll() {
  for (int rank = 1; rank < num_nodes_; ++rank) {
    if (parts_.count(rank) != 0) continue;
    STOKER_ASSIGN(std::optional<Part> part, PartAt(PartKey(job_, {attempt_, round_.seq}, rank)));
    Round exactly = round_;
    if (!part) {
      STOKER_ASSIGN(part, PartAt(FinalPartKey(job_, attempt_, rank)));
      exactly.any = false;  // a node that ended early may be a checkpoint behind
    }
    if (!part) continue;
    part->rank = rank;
    if (part->late || (!Matches(exactly, *part) && !BugIsOn("parts-unmatched")) ||
        ByChance(exactly, *part))
      return State::kLate;
    parts_[rank] = std::move(*part);
  }
  return static_cast<int>(parts_.size()) == num_nodes_ - 1 ? State::kComplete : State::kWaiting;
}

bool RoundLeader::ByChance(const Round& exactly, const Part& part) const {
  return otherwise_.count(part.rank) != 0 && !exactly.any && !part.none && !ByStep(exactly, part);
}

void RoundLeader::CompareCounts() {
  if (!round_.any) return;
  for (const auto& [rank, part] : parts_) {
    if (part.none || ByStep(round_, part)) continue;
    if (part.cycle == round_.cycle) {
      otherwise_.erase(rank);
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
    if (wish->cycle > served_cycle_ && (!newest || wish->cycle > newest->cycle)) newest = *wish;
  }
  return newest;
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
    moved_on_ = moved_on_ || Another(*round);
    open_ = *round;
  }
  if (open_ && open_->seq <= answered_) open_.reset();
  return open_;
}

// Of another moment than the one that a part was given to? Once nodes wish, rank 0's own count is
// equal by chance, but for the first: it may just have been slower.
bool RoundFollower::Another(const Round& round) const {
  if (given_to_.cycle == 0) return false;
  const bool own_now = given_to_.wished && !round.wished && given_to_.cycle > 1;
  return own_now || round.cycle != given_to_.cycle;
}

Status RoundFollower::Answer(const Round& round, Part part) {
  part.rank = rank_;
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

Status RoundFollower::Wish(const Part& part) {
  Round wish;
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
