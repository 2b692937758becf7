// SPDX-License-Identifier: Apache-2.0
#include "job/move.h"

#include <algorithm>
#include <utility>

#include "job/job.h"

namespace stoker {
namespace {

// There is a machine for it. One that was refused all of them has not (seed 400019067).
bool HasBegun(const Job& job, const Attempt& attempt) {
  if (attempt.state == AttemptState::kProvisioning || attempt.not_needed) return false;
  if (attempt.running) return true;
  return std::any_of(attempt.launches.begin(), attempt.launches.end(), [&](int number) {
    const Launch* launch = FindLaunch(job, number);
    return launch != nullptr && !launch->instance_id.empty() &&
           launch->close_reason != CloseReason::kRefused;
  });
}

}  // namespace

const Move* MoveUnderWay(const Job& job) {
  const bool is =
      job.move && (job.move->state == MoveState::kAsked || job.move->state == MoveState::kTold);
  return is ? &*job.move : nullptr;
}

bool IsLeft(const Job& job, const Attempt& attempt) {
  const Move* move = MoveUnderWay(job);
  return move != nullptr && attempt.number < move->attempt;
}

bool IsLeft(const Job& job, const Launch& launch) {
  const Move* move = MoveUnderWay(job);
  return move != nullptr && launch.request < move->request;
}

bool IsToldToMove(const Job& job, int attempt) {
  const Move* move = MoveUnderWay(job);
  return move != nullptr && move->state == MoveState::kTold && attempt < move->attempt;
}

const std::vector<Offer>& OffersNow(const Job& job) {
  const Move* move = MoveUnderWay(job);
  return move != nullptr ? move->offers : job.offers;
}

std::vector<Offer> AllOffers(const Job& job) {
  std::vector<Offer> all = job.offers;
  if (const Move* move = MoveUnderWay(job)) {
    all.insert(all.end(), move->offers.begin(), move->offers.end());
  }
  return all;
}

void AskToMove(Job& job, Move move) {
  const Move* before = MoveUnderWay(job);
  if (before != nullptr) {
    // Where it has got to by then is where it comes back to.
    const bool there = std::any_of(job.attempts.begin(), job.attempts.end(), [&](const Attempt& a) {
      return a.number >= before->attempt && HasBegun(job, a);
    });
    if (there) job.offers = before->offers;
  }
  move.state = MoveState::kAsked;
  move.attempt = 1;
  if (!job.attempts.empty()) {
    const Attempt& last = job.attempts.back();
    move.attempt = last.number + (last.state == AttemptState::kProvisioning ? 0 : 1);
  }
  move.request = job.requests.empty() ? 1 : job.requests.back().number + 1;
  job.move = std::move(move);
}

}  // namespace stoker
