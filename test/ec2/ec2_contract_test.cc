// SPDX-License-Identifier: Apache-2.0
// Machines of EC2 keep the contract of the provider port. api.py starts what plays EC2.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <set>

#include "base/text.h"
#include "port/holding.h"
#include "provider/ec2/ec2_holdings.h"
#include "provider/ec2/ec2_prices.h"
#include "test/contract/real_subject.h"
#include "test/ec2/subject.h"

namespace stoker {
namespace {

using contract_test::Living;
using ec2_test::Order;

// Which error of EC2 means that; "" = none does.
std::string CodeFor(const Refusal& how) {
  if (how.wait.ms != 0) return "";
  switch (how.what) {
    case RefusalClass::kCapacity:
      return how.scope == RefusalScope::kZone ? "InsufficientInstanceCapacity"
                                              : "SpotMaxPriceTooLow";
    case RefusalClass::kQuota:
      return "VcpuLimitExceeded";
    case RefusalClass::kThrottled:
      return "RequestLimitExceeded";
    case RefusalClass::kDenied:
      return "UnauthorizedOperation";
    case RefusalClass::kInvalid:
      return "InvalidParameterCombination";
    default:
      return "";
  }
}

class Ec2Subject : public contract_test::RealSubject {
 public:
  Ec2Subject() {
    EXPECT_EQ(Order("reset"), "ok");
    provider_ = MakeEc2Provider(ec2_test::Api(), ec2_test::Notes());
    another_ = MakeEc2Provider(ec2_test::Api(), ec2_test::Notes());
  }
  LaunchRequest Request(const std::string& name) override {
    return ec2_test::RequestOf(name, clock_.Wall());
  }
  LaunchRequest TooMuch(int machines) override {
    LaunchRequest request = Request("too-much");
    request.ask.type = "c5.large";
    EXPECT_EQ(Order("capacity?type=c5.large&slots=" + std::to_string(machines - 1)), "ok");
    return Times(machines, request);
  }
  bool Refuse(const std::optional<Refusal>& how) override {
    const std::string code = how ? CodeFor(*how) : "none";
    return !code.empty() && Order("refuse?code=" + code) == "ok";
  }
  bool Doom(const std::optional<Refusal>& how) override {
    std::string code = "none";
    if (how && how->what == RefusalClass::kCapacity && how->scope == RefusalScope::kZone) {
      code = "Server.InsufficientInstanceCapacity";
    } else if (how) {
      return false;
    }
    return Order("doom?code=" + code) == "ok";
  }
  bool Stop(const std::string& id) override { return Order("stop?id=" + id) == "ok"; }
};

STOKER_PROVIDER_CONTRACT(Ec2, Ec2Subject);

// ---- what EC2 adds to the contract ----

TEST(Ec2Api, ALostAnswerIsFoundAgain) {
  Ec2Subject subject;
  ASSERT_EQ(Order("fault?action=RunInstances&way=lost_answer"), "ok");
  LaunchRequest request = subject.Request("lost");
  request.launches = {5, 6};
  const auto lost = subject.provider().Launch(request);
  EXPECT_FALSE(lost.ok());
  EXPECT_FALSE(lost.refusal()) << lost.status().ToString();
  const auto again = subject.another().Launch(request);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(Living(subject.provider(), "lost"), 2U);
}

TEST(Ec2Api, AnotherRequestUnderAKnownTokenMakesNothing) {
  Ec2Subject subject;
  const LaunchRequest request = subject.Request("mismatch");
  const auto first = subject.provider().Launch(request);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  LaunchRequest other = request;
  other.limit = Duration::Minutes(6);  // in user-data and tags
  const auto second = subject.provider().Launch(other);
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  EXPECT_EQ(*second, *first);
  EXPECT_EQ(Living(subject.provider(), "mismatch"), 1U);
}

TEST(Ec2Api, ListsThatAreLateLoseNothing) {
  Ec2Subject subject;
  ASSERT_EQ(Order("late?seconds=1.5"), "ok");
  const auto ids = subject.provider().Launch(subject.Request("late-list"));
  ASSERT_TRUE(ids.ok());
  EXPECT_TRUE(subject.Until([&] { return Living(subject.another(), "late-list") == 1; }));
}

TEST(Ec2Api, AProfileThatIsNewIsNotKnownYet) {
  Ec2Subject subject;
  LaunchRequest request = subject.Request("profile");
  ec2::Options options;
  options.store_region = "us-east-1";
  options.profile = "nobody";
  request.ask.options = ec2::EncodeOptions(options);
  const auto answer = subject.provider().Launch(request);
  ASSERT_TRUE(answer.refusal()) << answer.status().ToString();
  EXPECT_EQ(answer.refusal()->what, RefusalClass::kNotYetConsistent) << answer.refusal()->message;
}

TEST(Ec2Api, TheLeaseIsMovedByATag) {
  Ec2Subject subject;
  const auto ids = subject.provider().Launch(subject.Request("tagged"));
  ASSERT_TRUE(ids.ok());
  const WallTime later{(subject.Now() + Duration::Hours(30)).ms / 1000 * 1000};
  const auto api = ec2_test::Api();
  ASSERT_TRUE(TagExpiry(*api, "us-east-1", ids->front(), later).ok());
  for (const InstanceSeen& seen : *subject.provider().Describe("ledger", "")) {
    if (seen.id == ids->front()) {
      EXPECT_EQ(seen.expires, later);
    }
  }
}

// What a sweeper would end of those that `Ec2Holdings` lists.
std::set<std::string> Expired(ec2::AwsApi& api, bool end) {
  std::vector<std::string> troubles;
  const auto all = Ec2Holdings(api, "us-east-1", "ledger", &troubles);
  EXPECT_TRUE(all.ok()) << all.status().ToString();
  EXPECT_TRUE(troubles.empty()) << troubles.front();
  std::set<std::string> out;
  for (const Holding& one : *all) {
    if (!IsExpired(one, Ec2Now(api))) continue;
    out.insert(one.id);
    if (end) {
      EXPECT_TRUE(EndEc2Holding(api, one).ok());
    }
  }
  return out;
}

TEST(Ec2Api, WhatHasExpiredIsEndedAndNothingElse) {
  Ec2Subject subject;
  const auto api = ec2_test::Api();
  Provider& ec2 = subject.provider();
  const auto over = ec2.Launch(subject.Request("over"));
  const auto healthy = ec2.Launch(subject.Request("healthy"));
  LaunchRequest other = subject.Request("foreign");
  other.ledger_id = "other";
  const auto foreign = ec2.Launch(other);
  ASSERT_TRUE(over.ok() && healthy.ok() && foreign.ok());
  EXPECT_TRUE(Expired(*api, true).empty());
  const WallTime past = subject.Now() - Duration::Minutes(1);
  // A person has started another one like it, with its tags.
  const std::string copy = ec2_test::Order("copy?id=" + over->front());
  ASSERT_EQ(copy.substr(0, 2), "i-");
  for (const std::string& id : {over->front(), foreign->front(), copy}) {
    ASSERT_TRUE(TagExpiry(*api, "us-east-1", id, past).ok());
  }
  const std::set<std::string> wanted = {over->front()};
  EXPECT_EQ(Expired(*api, false), wanted);
  EXPECT_EQ(Living(ec2, "over"), 1U) << "who only looks ends nothing";
  EXPECT_EQ(Expired(*api, true), wanted);
  EXPECT_TRUE(subject.Until([&] { return Living(ec2, "over") == 0; }));
  EXPECT_EQ(Living(ec2, "healthy"), 1U);
  EXPECT_EQ(ec2.Describe("other", "")->front().state == InstanceState::kGone, false);
  EXPECT_TRUE(Expired(*api, true).empty()) << "what is gone is listed for an hour, and left alone";
}

TEST(Ec2Api, AVolumeThatOutlivedItsMachineGoesWhenItsTimeIsOver) {
  Ec2Subject subject;
  const auto api = ec2_test::Api();
  const auto ids = subject.provider().Launch(subject.Request("kept"));
  ASSERT_TRUE(ids.ok());
  const WallTime past = subject.Now() - Duration::Minutes(1);
  const std::string volume = ec2_test::Order("loosen?id=" + ids->front());
  ASSERT_TRUE(TagExpiry(*api, "us-east-1", volume, past).ok());
  EXPECT_TRUE(Expired(*api, true).empty()) << "a machine has it";
  ASSERT_TRUE(subject.provider().Terminate(ids->front()).ok());
  EXPECT_TRUE(subject.Until([&] { return Expired(*api, false).contains(volume); }));
  EXPECT_EQ(Expired(*api, true), std::set<std::string>{volume});
  EXPECT_TRUE(Expired(*api, false).empty());
}

// EC2 tells the newest of a console for types of Nitro alone.
TEST(Ec2Api, WhyItDidNotBootIsReadOfEveryType) {
  Ec2Subject subject;
  const LaunchRequest request = subject.Request("mute");
  const auto ids = subject.provider().Launch(request);
  ASSERT_TRUE(ids.ok());
  for (const char* nitro : {"yes", "no"}) {
    ASSERT_EQ(Order("console?id=" + ids->front() + "&nitro=" + nitro +
                    "&text=stoker:+boot+failed,+denied:+the+binary+cannot+be+fetched"),
              "ok");
    const auto why = subject.provider().WhyNotBooted(ids->front(), request.ask);
    ASSERT_TRUE(why.ok()) << why.status().ToString();
    ASSERT_TRUE(*why) << nitro;
    EXPECT_TRUE((*why)->lasts);
  }
}

TEST(Ec2Api, WhatThingsCost) {
  EXPECT_EQ(*Ec2ListPrice("us-east-1", "m5.large"), 96'000);
  EXPECT_EQ(*Ec2ListPrice("ap-south-1", "m5.large"), 101'000);
  EXPECT_EQ(*Ec2ListPrice("us-east-1", "p3.2xlarge"), 3'060'000);
  // Not offered there, not in the list, changed since: unknown, and never 0.
  EXPECT_FALSE(Ec2ListPrice("ap-south-1", "p3.2xlarge"));
  EXPECT_FALSE(Ec2ListPrice("mars-north-1", "m5.large"));
  EXPECT_FALSE(Ec2ListPrice("us-east-1", "p5.48xlarge"));
  EXPECT_FALSE(Ec2ListPrice("us-east-1", "m5"));
  Ec2Subject subject;
  const auto api = ec2_test::Api();
  LaunchRequest spot = subject.Request("priced-spot");
  spot.ask.market = ec2::kSpot;
  ASSERT_TRUE(subject.provider().Launch(subject.Request("priced")).ok());
  ASSERT_TRUE(subject.provider().Launch(spot).ok());
  std::vector<std::string> troubles;
  int seen = 0;
  for (const Holding& one : *Ec2Holdings(*api, "us-east-1", "ledger", &troubles)) {
    if (one.kind != HoldingKind::kMachine) continue;
    ++seen;
    ASSERT_TRUE(one.price) << one.what;
    EXPECT_EQ(one.what.substr(0, 9), "m5.large ");
    if (one.what == "m5.large on-demand") {
      EXPECT_EQ(*one.price, 96'000);
    }
    if (one.what == "m5.large spot") {
      EXPECT_LT(*one.price, 96'000);
    }
  }
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace stoker
