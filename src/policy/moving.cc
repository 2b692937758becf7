// SPDX-License-Identifier: Apache-2.0
#include "policy/moving.h"

#include <algorithm>

namespace stoker {
namespace {

// Whose machines the job has, or waits for: of the newest open attempt that has begun, else of the
// one that has not.
const Attempt* AttemptThere(const Job& job) {
  const Attempt* there = nullptr;
  for (const Attempt& attempt : job.attempts) {
    if (attempt.state == AttemptState::kEnded) continue;
    if (there == nullptr || attempt.state != AttemptState::kProvisioning) there = &attempt;
  }
  return there;
}

std::vector<Place> PlacesOf(const Job& job, const Attempt* attempt) {
  std::vector<Place> places;
  for (const int number : attempt != nullptr ? attempt->launches : std::vector<int>()) {
    const Launch* launch = FindLaunch(job, number);
    if (launch != nullptr) places.push_back(RequestOf(job, *launch).ask.place);
  }
  return places;
}

// Where it only waits for a machine, it is not.
bool IsMet(const Job& job, const Attempt* attempt) {
  if (attempt == nullptr) return false;
  return std::all_of(attempt->launches.begin(), attempt->launches.end(), [&](int number) {
    const Launch* launch = FindLaunch(job, number);
    return launch != nullptr && !launch->instance_id.empty();
  });
}

bool AllAmong(const std::vector<Place>& places, const std::vector<Offer>& offers) {
  return !places.empty() && std::all_of(places.begin(), places.end(), [&](const Place& place) {
    return std::any_of(offers.begin(), offers.end(),
                       [&](const Offer& offer) { return offer.ask.place == place; });
  });
}

bool MayShare(const MoveWish& wish, const Place& a, const Place& b) {
  const bool here = a.provider == kLocalProvider || b.provider == kLocalProvider;
  const bool beside =
      wish.beside_here.contains(a.provider) || wish.beside_here.contains(b.provider);
  return (here && beside) || (a.provider == b.provider && a.account == b.account);
}

bool ShareAny(const MoveWish& wish, const std::vector<Place>& places) {
  return std::any_of(places.begin(), places.end(), [&](const Place& place) {
    return std::any_of(wish.move.offers.begin(), wish.move.offers.end(),
                       [&](const Offer& offer) { return MayShare(wish, place, offer.ask.place); });
  });
}

std::vector<Place> PlacesIn(const std::vector<Offer>& offers) {
  std::vector<Place> places;
  for (const Offer& offer : offers) places.push_back(offer.ask.place);
  return places;
}

// Where there was no room, the same with more places to choose from is another wish (seed 1740).
bool GoesThere(const Job& job, const std::vector<Offer>& offers) {
  const Move* before = MoveUnderWay(job);
  return before != nullptr && AllAmong(PlacesIn(before->offers), offers) &&
         AllAmong(PlacesIn(offers), before->offers);
}

}  // namespace

MoveAnswer ProposeMove(const MoveWish& wish, Job& job) {
  const Attempt* now = AttemptThere(job);
  const std::vector<Place> places = PlacesOf(job, now);
  if (!wish.force && GoesThere(job, wish.move.offers)) return MoveAnswer::kOnItsWay;
  if (!wish.force && IsMet(job, now) && AllAmong(places, wish.move.offers)) {
    if (MoveUnderWay(job) == nullptr || !IsLeft(job, *now)) return MoveAnswer::kThere;
    job.move->state = MoveState::kGivingUp;
    job.move->why = "given up by " + wish.move.by;
    return MoveAnswer::kGivesUp;
  }
  Move move = wish.move;
  move.waits = !wish.now && !ShareAny(wish, places);
  AskToMove(job, std::move(move));
  return MoveAnswer::kAsked;
}

}  // namespace stoker
