// SPDX-License-Identifier: Apache-2.0
#include "policy/placement.h"

#include <gtest/gtest.h>

#include "test/kit/places.h"

namespace stoker {
namespace {

constexpr WallTime kNow{1'700'000'000'000};

Offer At(const std::string& zone, int rank = 0, int64_t price = 0) {
  Offer c;
  c.ask.place = {"ec2", "me", zone.substr(0, zone.size() - 1), zone};
  c.ask.type = "g6.xlarge";
  c.ask.market = "spot";
  c.rank = rank;
  if (price > 0) c.price = price;
  return c;
}

Request Refused(const Offer& at, RefusalClass what, RefusalScope scope, Duration ago = {},
                Duration wait = {}) {
  Request request;
  request.ask = at.ask;
  request.refusal.emplace();
  request.refusal->what = what;
  request.refusal->scope = scope;
  request.refusal->at = kNow - ago;
  request.refusal->wait = wait;
  request.refusal->message = "no";
  return request;
}

Request NoRoom(const Offer& at, Duration ago = {}) {
  return Refused(at, RefusalClass::kCapacity, RefusalScope::kZone, ago);
}

std::string Chosen(const std::vector<Offer>& offers, const std::vector<Request>& past) {
  const Placement p = ChoosePlace(offers, past, kNow);
  const std::string later =
      p.not_before ? " in " + HumanDuration(*p.not_before - kNow) : std::string();
  return p.ask.place.zone + (p.ask.market == "spot" ? "" : " " + p.ask.market) + later;
}

const Offer kA = At("us-1a"), kB = At("us-1b"), kC = At("eu-1a");

TEST(Placement, TheOnlyOneIsTaken) {
  const Placement p = ChoosePlace({Offer{}}, {}, kNow);
  EXPECT_EQ(p.ask, Ask{});
  EXPECT_FALSE(p.not_before);
  EXPECT_EQ(p.reason, "");
}

TEST(Placement, RankThenPriceThenOrder) {
  EXPECT_EQ(Chosen({kA, kB}, {}), "us-1a");
  EXPECT_EQ(Chosen({At("us-1a", 0, 900), At("us-1b", 0, 300), kC}, {}), "us-1b");
  EXPECT_EQ(Chosen({At("us-1a", 1, 100), At("us-1b", 0, 300)}, {}), "us-1b");
}

TEST(Placement, AZoneWithoutRoomIsLeftForAWhile) {
  EXPECT_EQ(Chosen({kA, kB}, {NoRoom(kA)}), "us-1b");
  EXPECT_EQ(Chosen({kA, kB}, {NoRoom(kA, Duration::Seconds(119))}), "us-1b");
  EXPECT_EQ(Chosen({kA, kB}, {NoRoom(kA, Duration::Seconds(120))}), "us-1a");
  // Each time it is heard again, twice as long; an hour later it counts as new.
  const Duration three = Duration::Minutes(3);
  EXPECT_EQ(Chosen({kA, kB}, {NoRoom(kA, three)}), "us-1a");
  EXPECT_EQ(Chosen({kA, kB}, {NoRoom(kA, Duration::Minutes(9)), NoRoom(kA, three)}), "us-1b");
  EXPECT_EQ(Chosen({kA, kB}, {NoRoom(kA, Duration::Hours(2)), NoRoom(kA, three)}), "us-1a");
  const auto why = ChoosePlace({kA, kB}, {NoRoom(kA)}, kNow).reason;
  EXPECT_EQ(why, "not aws/us-1a g6.xlarge spot of me: no");
}

TEST(Placement, AnotherTypeInThatZoneMayHaveRoom) {
  Offer other = kA;
  other.ask.type = "g5.xlarge";
  const Placement p = ChoosePlace({kA, other}, {NoRoom(kA)}, kNow);
  EXPECT_EQ(p.ask.type, "g5.xlarge");
}

TEST(Placement, ScopesAreWhatTheySay) {
  Offer on_demand = kA;
  on_demand.ask.market = "on-demand";
  const auto quota = Refused(kA, RefusalClass::kQuota, RefusalScope::kRegion);
  EXPECT_EQ(Chosen({kA, kB, on_demand, kC}, {quota}), "us-1a on-demand");
  EXPECT_EQ(Chosen({kA, kB, kC}, {quota}), "eu-1a");
  const auto throttled = Refused(kA, RefusalClass::kThrottled, RefusalScope::kAccount);
  Offer gce = kC;
  gce.ask.place.provider = "gce";
  EXPECT_EQ(Chosen({kA, kB, kC}, {throttled}), "us-1a in 1m 0s");
  EXPECT_EQ(ChoosePlace({kA, gce}, {throttled}, kNow).ask.place.provider, "gce");
  const auto market = Refused(kA, RefusalClass::kCapacity, RefusalScope::kMarket);
  EXPECT_EQ(Chosen({kA, kB, kC}, {market}), "eu-1a");
}

TEST(Placement, WhereAllHaveRefusedTheFirstIsAskedAgainSoon) {
  const std::vector<Request> past = {NoRoom(kA, Duration::Seconds(30)), NoRoom(kB)};
  EXPECT_EQ(Chosen({kA, kB}, past), "us-1a in 1m 0s");
  const std::vector<Request> almost = {NoRoom(kA), NoRoom(kB, Duration::Seconds(110))};
  EXPECT_EQ(Chosen({kA, kB}, almost), "us-1b in 10s");
  // The only one is asked at the pace of sends.
  EXPECT_EQ(Chosen({kA}, {NoRoom(kA)}), "us-1a");
  // What the provider says is believed.
  const auto told = [](const Offer& at, int minutes) {
    return Refused(at, RefusalClass::kCapacity, RefusalScope::kZone, {},
                   Duration::Minutes(minutes));
  };
  EXPECT_EQ(Chosen({kA, kB}, {told(kA, 40), told(kB, 30)}), "us-1b in 30m 0s");
  EXPECT_EQ(Chosen({kA}, {told(kA, 40)}), "us-1a in 40m 0s");
}

TEST(Placement, WhatIsRefusedForGoodIsNotAskedAgain) {
  auto invalid = Refused(kA, RefusalClass::kInvalid, RefusalScope::kRequest, Duration::Hours(50));
  EXPECT_EQ(Chosen({kA, kB}, {invalid}), "us-1b");
  EXPECT_EQ(Chosen({kA, kB}, {invalid, NoRoom(kB)}), "us-1b in 1m 0s");
  EXPECT_TRUE(IsBetterElsewhere(invalid, {kA, kB}, {invalid, NoRoom(kB)}, kNow));
  EXPECT_FALSE(IsBetterElsewhere(invalid, {kA}, {invalid}, kNow));
  auto denied = Refused(kA, RefusalClass::kDenied, RefusalScope::kAccount);
  EXPECT_FALSE(IsBetterElsewhere(denied, {kA, kB}, {denied}, kNow)) << "others may be allowed";
  denied.refusal->final = true;
  EXPECT_FALSE(IsBetterElsewhere(denied, {kA, kB}, {denied}, kNow)) << "it is the same account";
  Offer gce = kC;
  gce.ask.place.provider = "gce";
  EXPECT_TRUE(IsBetterElsewhere(denied, {kA, gce}, {denied}, kNow));
}

TEST(Placement, ItIsLeftOnlyForAPlaceThatIsFree) {
  EXPECT_TRUE(IsBetterElsewhere(NoRoom(kA), {kA, kB}, {NoRoom(kA)}, kNow));
  EXPECT_FALSE(IsBetterElsewhere(NoRoom(kA), {kA, kB}, {NoRoom(kB), NoRoom(kA)}, kNow));
  EXPECT_FALSE(IsBetterElsewhere(NoRoom(kA), {kA}, {NoRoom(kA)}, kNow));
  const auto throttled = Refused(kA, RefusalClass::kThrottled, RefusalScope::kAccount);
  EXPECT_FALSE(IsBetterElsewhere(throttled, {kA, kC}, {throttled}, kNow)) << "that passes";
}

TEST(Placement, WhatIsKnownInAMomentBarsNothing) {
  const auto soon = Refused(kA, RefusalClass::kNotYetConsistent, RefusalScope::kAccount);
  EXPECT_EQ(Chosen({kA, kB}, {soon}), "us-1a");
  EXPECT_FALSE(IsBetterElsewhere(soon, {kA, kC}, {soon}, kNow));
}

TEST(Placement, WhatCameAndWentBarsNothing) {
  const auto over = Refused(kA, RefusalClass::kOver, RefusalScope::kRequest);
  EXPECT_EQ(Chosen({kA, kB}, {over}), "us-1a");
}

}  // namespace
}  // namespace stoker
