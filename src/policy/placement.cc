// SPDX-License-Identifier: Apache-2.0
#include "policy/placement.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/deliberate_bug.h"
#include "base/text.h"
#include "spec/text/infra.h"

namespace stoker {
namespace {

constexpr Duration kWindow = Duration::Hours(1);
constexpr Duration kRoomPause = Duration::Minutes(2);
constexpr Duration kQuotaPause = Duration::Minutes(8);
constexpr Duration kAccountPause = Duration::Minutes(1);
constexpr int kMostDoublings = 3;
constexpr Duration kAskAgainWithin = Duration::Minutes(1);
constexpr WallTime kForGood{std::numeric_limits<int64_t>::max()};

bool SameAccount(const Ask& a, const Ask& b) {
  return a.place.provider == b.place.provider && a.place.account == b.place.account;
}
bool SameMarket(const Ask& a, const Ask& b) {
  return SameAccount(a, b) && a.place.region == b.place.region && a.market == b.market;
}

// Does what was said to `asked` hold for `other`, too?
bool Covers(RefusalScope scope, const Ask& asked, const Ask& other) {
  switch (scope) {
    case RefusalScope::kRequest:
      return asked == other;
    case RefusalScope::kZone:
      return asked.place == other.place && asked.type == other.type && asked.market == other.market;
    case RefusalScope::kMarket:
      return SameMarket(asked, other) && asked.type == other.type;
    case RefusalScope::kRegion:
      return SameMarket(asked, other);
    case RefusalScope::kAccount:
      return SameAccount(asked, other);
  }
  return false;
}

bool IsForGood(const Refusal& refusal) {
  return refusal.what == RefusalClass::kInvalid || refusal.final;
}

Duration PauseAfter(RefusalClass what, int64_t times) {
  const int doublings = static_cast<int>(std::clamp<int64_t>(times - 1, 0, kMostDoublings));
  switch (what) {
    case RefusalClass::kCapacity:
    case RefusalClass::kUnanswered:
      return kRoomPause * (int64_t{1} << doublings);
    case RefusalClass::kQuota:
      return kQuotaPause * (int64_t{1} << doublings);
    default:
      return kAccountPause;
  }
}

// When the bar of all that was refused ends, and what the provider itself said of that.
struct Bar {
  std::optional<WallTime> until;
  WallTime told;
};

// Was it refused something that holds for `offer`? What is over says nothing of the place, nor what
// will be known there in a moment.
bool Concerns(const Request& request, const Offer& offer) {
  return request.refusal && request.refusal->what != RefusalClass::kOver &&
         request.refusal->what != RefusalClass::kNotYetConsistent &&
         Covers(request.refusal->scope, request.ask, offer.ask);
}

Bar BarOf(const Offer& offer, const std::vector<Request>& past, WallTime now) {
  Bar bar;
  if (BugIsOn("bars-ignored")) return bar;
  std::map<RefusalClass, int64_t> times;
  for (const Request& request : past) {
    if (Concerns(request, offer) && now - request.refusal->at < kWindow)
      ++times[request.refusal->what];
  }
  for (const Request& request : past) {
    if (!Concerns(request, offer)) continue;
    const Refusal& refusal = *request.refusal;
    const WallTime told = refusal.at + refusal.wait;
    const WallTime until =
        IsForGood(refusal)
            ? kForGood
            : std::max(told, refusal.at + PauseAfter(refusal.what, times[refusal.what]));
    if (until <= now) continue;
    bar.until = std::max(bar.until.value_or(until), until);
    bar.told = std::max(bar.told, told);
  }
  return bar;
}

bool IsPreferred(const Offer& a, const Offer& b) {
  if (a.rank != b.rank) return a.rank < b.rank;
  if (BugIsOn("dearest-first")) return a.price.value_or(0) > b.price.value_or(0);
  constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
  return a.price.value_or(kUnknown) < b.price.value_or(kUnknown);
}

// What is said of the places that would have come first.
std::string WhyNot(const std::vector<Offer>& offers, const std::vector<Request>& past,
                   const Offer& chosen, WallTime now) {
  for (const Offer& other : offers) {
    if (!IsPreferred(other, chosen) && &other >= &chosen) continue;
    if (!BarOf(other, past, now).until) continue;
    for (auto request = past.rbegin(); request != past.rend(); ++request) {
      if (Concerns(*request, other)) {
        return PlaceText(other.ask) + ": " + request->refusal->message;
      }
    }
  }
  return "";
}

}  // namespace

Placement ChoosePlace(const std::vector<Offer>& offers, const std::vector<Request>& past,
                      WallTime now) {
  const Offer* best = nullptr;
  Bar of_best;
  for (const Offer& offer : offers) {
    const Bar bar = BarOf(offer, past, now);
    const bool sooner = !bar.until || (of_best.until && *bar.until < *of_best.until);
    const bool same = bar.until == of_best.until;
    if (best == nullptr || (same ? IsPreferred(offer, *best) : sooner)) {
      best = &offer;
      of_best = bar;
    }
  }
  Placement chosen;
  chosen.ask = best->ask;
  const std::string why = WhyNot(offers, past, *best, now);
  chosen.barred = of_best.until.has_value();
  chosen.first = why.empty() && !chosen.barred;
  if (offers.size() > 1) {
    chosen.reason = why.empty() ? "the first choice" : CutText("not " + why, kMostReason);
  }
  if (!chosen.barred) return chosen;
  // The only one is asked at the pace of sends, unless its provider has said when.
  if (offers.size() > 1) {
    chosen.not_before = std::max(of_best.told, std::min(*of_best.until, now + kAskAgainWithin));
    chosen.reason = "all have refused, and this one is worth asking first";
  } else if (of_best.told > now) {
    chosen.not_before = of_best.told;
  }
  return chosen;
}

bool IsBetterElsewhere(const Request& refused, const std::vector<Offer>& offers,
                       const std::vector<Request>& past, WallTime now) {
  if (!refused.refusal) return false;
  const Refusal& refusal = *refused.refusal;
  const bool for_good = IsForGood(refusal);
  const bool moves = for_good || refusal.what == RefusalClass::kCapacity ||
                     refusal.what == RefusalClass::kUnanswered ||
                     refusal.what == RefusalClass::kQuota;
  if (!moves) return false;
  return std::any_of(offers.begin(), offers.end(), [&](const Offer& other) {
    const auto until = BarOf(other, past, now).until;
    return for_good ? until != kForGood : !until;
  });
}

bool IsRefusedForGood(const Offer& offer, const std::vector<Request>& past) {
  return std::any_of(past.begin(), past.end(), [&](const Request& request) {
    return Concerns(request, offer) && IsForGood(*request.refusal);
  });
}

std::string PlaceText(const Ask& ask) {
  const Place& at = ask.place;
  const std::string& within = at.zone.empty() ? at.region : at.zone;
  std::string text = InfraWordOf(at.provider);
  if (!within.empty()) text += "/" + within;
  for (const std::string* word : {&ask.type, &ask.market}) {
    if (!word->empty()) text += " " + *word;
  }
  if (at.account.empty()) return text;
  // A pool is all that says where it is.
  return within.empty() ? text + "/" + at.account : text + " of " + at.account;
}

}  // namespace stoker
