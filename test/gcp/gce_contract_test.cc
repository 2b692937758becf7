// SPDX-License-Identifier: Apache-2.0
// Machines of Compute Engine keep the contract of the provider port. api.py starts what plays it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include "base/text.h"
#include "provider/gce/gce_holdings.h"
#include "provider/gce/gce_late.h"
#include "provider/gce/gce_placement.h"
#include "test/contract/real_subject.h"
#include "test/gcp/subject.h"

namespace stoker {
namespace {

using contract_test::Living;
using gce_test::Order;

// So long a failed operation is told in these tests.
constexpr Duration kTold = Duration::Seconds(2);

class GceSubject : public contract_test::RealSubject {
 public:
  GceSubject() {
    EXPECT_EQ(Order("reset"), "ok");
    provider_ = MakeGceProvider(gce_test::Api(), gce_test::Notes(), kTold);
    another_ = MakeGceProvider(gce_test::Api(), gce_test::Notes(), kTold);
  }
  LaunchRequest Request(const std::string& name) override {
    return gce_test::RequestOf(name, clock_.Wall());
  }
  LaunchRequest TooMuch(int machines) override {
    LaunchRequest request = Request("too-much");
    request.ask.type = "n2-standard-2";
    EXPECT_EQ(Order("capacity?type=n2-standard-2&slots=" + std::to_string(machines - 1)), "ok");
    return Times(machines, request);
  }
  // At once where Google says so at once, and in the operation where it does.
  bool Refuse(const std::optional<Refusal>& how) override {
    if (!how) return Order("doom?code=x&count=0") == "ok" && AtOnce(0, "x");
    if (how->wait.ms != 0) return false;
    switch (how->what) {
      case RefusalClass::kCapacity:
        return how->scope == RefusalScope::kZone && InOperation("ZONE_RESOURCE_POOL_EXHAUSTED");
      case RefusalClass::kQuota:
        return InOperation("QUOTA_EXCEEDED");
      case RefusalClass::kThrottled:
        return AtOnce(403, "rateLimitExceeded");
      case RefusalClass::kDenied:
        return AtOnce(403, "forbidden");
      case RefusalClass::kInvalid:
        return AtOnce(400, "invalid");
      default:
        return false;
    }
  }
  bool Stop(const std::string& id) override { return Order("stop?name=" + id) == "ok"; }

 private:
  static bool AtOnce(int status, const std::string& code) {
    return Order("refuse?method=instances.insert&status=" + std::to_string(status) +
                 "&code=" + code) == "ok";
  }
  static bool InOperation(const std::string& code) {
    return Order("doom?count=1000&code=" + code) == "ok";
  }
};

STOKER_PROVIDER_CONTRACT(Gce, GceSubject);

// ---- what Compute Engine adds to the contract ----

// Google's clock, or this machine's, may be minutes from the one that the record goes by.
TEST(GceApi, TheTimeToSendIsByTheStoresClock) {
  const WallTime now = RealClock().Wall();
  cloud::Notes notes = gce_test::Notes();
  notes.store_now = [&] { return now + Duration::Seconds(51); };
  const auto late = MakeGceProvider(gce_test::Api(), notes, kTold);
  const LaunchAnswer over = late->Launch(gce_test::RequestOf("late-by-the-store", now));
  ASSERT_TRUE(over.refusal());
  EXPECT_EQ(over.refusal()->what, RefusalClass::kOver);
  notes.store_now = [&] { return now - Duration::Minutes(20); };
  const auto early = MakeGceProvider(gce_test::Api(), notes, kTold);
  LaunchRequest request = gce_test::RequestOf("early-by-the-store", now);
  request.not_after = now - Duration::Minutes(19);
  EXPECT_FALSE(early->Launch(request).refusal());
}

TEST(GceApi, ALostAnswerIsFoundAgain) {
  GceSubject subject;
  ASSERT_EQ(Order("fault?method=instances.bulkInsert&way=lost_answer"), "ok");
  LaunchRequest request = subject.Request("lost");
  request.launches = {5, 6};
  const auto lost = subject.provider().Launch(request);
  EXPECT_FALSE(lost.ok());
  EXPECT_FALSE(lost.refusal()) << lost.status().ToString();
  const auto again = subject.another().Launch(request);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_TRUE(subject.Until([&] { return Living(subject.provider(), "lost") == 2; }));
}

// The sender is dead: whoever sends the same next is told.
TEST(GceApi, AnyObserverIsToldWhatBecameOfTheOperation) {
  GceSubject subject;
  ASSERT_EQ(Order("doom?code=ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"), "ok");
  const LaunchRequest request = subject.Request("dead-sender");
  ASSERT_TRUE(subject.provider().Launch(request).ok());
  std::optional<Refusal> told;
  ASSERT_TRUE(subject.Until([&] {
    told = subject.another().Launch(request).refusal();
    return told.has_value();
  }));
  EXPECT_EQ(told->what, RefusalClass::kCapacity);
  EXPECT_EQ(told->scope, RefusalScope::kZone);
  EXPECT_NE(told->message.find("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"), std::string::npos);
  EXPECT_EQ(Living(subject.another(), "dead-sender"), 0U);
  // There is room again: the same entry is tried under another id.
  ASSERT_TRUE(subject.Until([&] { return subject.another().Launch(request).ok(); }));
  EXPECT_TRUE(subject.Until([&] { return Living(subject.provider(), "dead-sender") == 1; }));
}

// Its machines were there for a while, and somebody may have seen them: who asked for them, or for
// what became of that, tells all that they will not come.
TEST(GceApi, ALateNoIsToldToAllWhoLook) {
  GceSubject subject;
  ASSERT_EQ(Order("setting?name=operation_delay&value=1.0"), "ok");
  ASSERT_EQ(Order("doom?code=ZONE_RESOURCE_POOL_EXHAUSTED"), "ok");
  LaunchRequest request = subject.Request("late");
  request.launches = {5, 6};
  ASSERT_TRUE(subject.provider().Launch(request).ok());
  EXPECT_TRUE(*MayStillRefuse(subject.provider(), "late"));
  EXPECT_FALSE(*MayStillRefuse(subject.another(), "late")) << "which it never sent";
  EXPECT_TRUE(subject.provider().Describe("ledger", "")->empty()) << "what may still be refused";
  std::vector<InstanceSeen> told;
  const auto is_told = [&](Provider& gce) {
    return subject.Until([&] {
      told = gce.Describe("ledger", "job").value_or(InstancesSeen());
      return !told.empty();
    });
  };
  ASSERT_TRUE(is_told(subject.provider()));
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[1].index, 1);
  EXPECT_EQ(told[1].launch, 6);
  EXPECT_EQ(told[1].token, "late");
  for (const InstanceSeen& seen : told) {
    EXPECT_EQ(seen.state, InstanceState::kGone);
    EXPECT_TRUE(seen.freed);
    ASSERT_TRUE(seen.refusal);
    EXPECT_EQ(seen.refusal->what, RefusalClass::kCapacity);
  }
  EXPECT_FALSE(*MayStillRefuse(subject.provider(), "late"));
  EXPECT_TRUE(subject.another().Describe("ledger", "")->empty());
  EXPECT_TRUE(subject.another().Launch(request).refusal());
  EXPECT_TRUE(is_told(subject.another()));
  EXPECT_TRUE(subject.provider().Describe("other", "")->empty());
}

// Whoever comes later asks what became of the request, and sends nothing.
TEST(GceApi, WhatWasSentIsFoundByItsId) {
  GceSubject subject;
  LaunchRequest request = subject.Request("found");
  const auto ids = subject.provider().Launch(request);
  ASSERT_TRUE(ids.ok());
  ASSERT_TRUE(subject.Until([&] { return Living(subject.provider(), "found") == 1; }));
  EXPECT_EQ(Order("made"), "instances.insert");
  EXPECT_EQ(*subject.another().Launch(request), *ids);
  EXPECT_EQ(Order("made"), "instances.insert") << "it was sent again";
}

TEST(GceApi, ABulkThatRollsBackIsOneRefusal) {
  GceSubject subject;
  ASSERT_EQ(Order("quota?metric=CPUS&limit=5"), "ok");
  LaunchRequest request = subject.Request("bulk");
  request.launches = {1, 2, 3};
  ASSERT_TRUE(subject.provider().Launch(request).ok());
  std::optional<Refusal> told;
  ASSERT_TRUE(subject.Until([&] {
    told = subject.another().Launch(request).refusal();
    return told.has_value();
  }));
  EXPECT_EQ(told->what, RefusalClass::kQuota) << told->message;
  EXPECT_TRUE(subject.Until([&] { return Order("instances") == "none"; })) << Order("instances");
  EXPECT_EQ(Order("disks"), "none");
}

TEST(GceApi, ANoticeThatIsRefusedIsLeftOut) {
  GceSubject subject;
  ASSERT_EQ(Order("setting?name=refuse_notice&value=true"), "ok");
  LaunchRequest request = subject.Request("notice");
  request.ask.market = gce::kSpot;
  const auto ids = subject.provider().Launch(request);
  ASSERT_TRUE(ids.ok()) << ids.status().ToString();
  EXPECT_EQ(*subject.another().Launch(request), *ids);
  EXPECT_TRUE(subject.Until([&] { return Living(subject.provider(), "notice") == 1; }));
}

TEST(GceApi, AZoneThatDoesNotAnswerIsNotKnown) {
  GceSubject subject;
  ASSERT_TRUE(subject.provider().Launch(subject.Request("zone")).ok());
  ASSERT_EQ(Order("silent?zones=europe-west4-a"), "ok");
  const auto elsewhere = subject.provider().Describe("ledger", "");
  ASSERT_TRUE(elsewhere.ok()) << elsewhere.status().ToString();
  EXPECT_TRUE(elsewhere->Whole().ok()) << "nothing of ours was ever asked for there";
  ASSERT_EQ(Order("silent?zones=us-central1-a"), "ok");
  const auto here = subject.provider().Describe("ledger", "");
  ASSERT_TRUE(here.ok()) << here.status().ToString();
  ASSERT_EQ(here->unheard.size(), 1U);
  EXPECT_EQ(here->unheard[0].place.zone, "us-central1-a");
  EXPECT_TRUE(here->Whole().transient()) << here->Whole().ToString();
  ASSERT_EQ(Order("silent"), "ok");
  EXPECT_TRUE(subject.Until([&] { return Living(subject.provider(), "zone") == 1; }));
}

TEST(GceApi, ANameThatAnotherHasIsNotTaken) {
  GceSubject subject;
  const LaunchRequest request = subject.Request("named");
  ASSERT_TRUE(subject.provider().Launch(request).ok());
  // The same name under another token: 16 digits of a hash that meet.
  const std::string name = gce::InstanceName(request, 0);
  EXPECT_TRUE(subject.another().Terminate("stoker-" + std::string(60, 'x') + "-0").code() ==
              Code::kInvalid);
  EXPECT_TRUE(subject.Until([&] { return Living(subject.provider(), "named") == 1; }));
  EXPECT_EQ(subject.another().Launch(request)->front(), name);
}

// Google lists nothing that is deleted: who has seen it asks for it by name.
TEST(GceApi, WhatWasSeenAndIsDeletedIsGone) {
  GceSubject subject;
  Provider& gce = subject.provider();
  LaunchRequest request = subject.Request("taken");
  request.ask.market = gce::kSpot;
  ASSERT_TRUE(gce.Launch(request).ok());
  ASSERT_TRUE(subject.Until([&] { return Living(gce, "taken") == 1; }));
  ASSERT_EQ(Order("preempt?lead=0&name=" + gce::InstanceName(request, 0)), "ok");
  ASSERT_TRUE(subject.Until([&] { return Living(gce, "taken") == 0; }));
  for (int look = 0; look < 2; ++look) {
    const auto all = gce.Describe("ledger", "job");
    ASSERT_EQ(all->size(), 1U);
    EXPECT_TRUE(WholeNumber(all->front().own_id, 1, INT64_MAX)) << all->front().own_id;
    EXPECT_EQ(all->front().state, InstanceState::kGone);
    EXPECT_TRUE(all->front().freed);
    EXPECT_EQ(all->front().ended_by, EndedBy::kPlatform);
    EXPECT_FALSE(all->front().refusal);
  }
  EXPECT_TRUE(subject.another().Describe("ledger", "")->empty()) << "which has never seen it";
  // Deleted by hand.
  const auto ids = gce.Launch(subject.Request("deleted"));
  ASSERT_TRUE(subject.Until([&] { return Living(gce, "deleted") == 1; }));
  ASSERT_EQ(Order("delete?name=" + ids->front()), "ok");
  ASSERT_TRUE(subject.Until([&] { return Living(gce, "deleted") == 0; }));
  for (const InstanceSeen& seen : *gce.Describe("ledger", "")) {
    if (seen.token == "deleted") {
      EXPECT_EQ(seen.ended_by, EndedBy::kOwner);
    }
  }
  // Whoever has only read of it in a record is told the same.
  InstanceMet met;
  met.place.account = gce_test::kProject;
  met.place.zone = gce_test::kZone;
  met.seen.id = ids->front();
  met.seen.token = "deleted";
  met.seen.ledger_id = "ledger";
  met.seen.job = "job";
  subject.another().Expect({met});
  const auto told = subject.another().Describe("ledger", "job");
  ASSERT_EQ(told->size(), 1U);
  EXPECT_EQ(told->front().state, InstanceState::kGone);
  EXPECT_EQ(told->front().ended_by, EndedBy::kOwner);
  // By stoker's own hand: its id says so.
  const auto ours = gce.Launch(subject.Request("ours"));
  ASSERT_TRUE(subject.Until([&] { return Living(gce, "ours") == 1; }));
  ASSERT_TRUE(subject.another().Terminate(ours->front()).ok());
  ASSERT_TRUE(subject.Until([&] { return Living(gce, "ours") == 0; }));
  for (const InstanceSeen& seen : *gce.Describe("ledger", "")) {
    if (seen.token == "ours") {
      EXPECT_EQ(seen.ended_by, EndedBy::kOther);
    }
  }
}

TEST(GceApi, AVmOfAnOlderStokerThatDeletesItselfIsNoOwnersEnd) {
  GceSubject subject;
  Provider& gce = subject.provider();
  const auto ids = gce.Launch(subject.Request("old"));
  ASSERT_TRUE(subject.Until([&] { return Living(gce, "old") == 1; }));
  ASSERT_EQ(Order("delete_itself?name=" + ids->front()), "ok");
  ASSERT_TRUE(subject.Until([&] { return Living(gce, "old") == 0; }));
  const auto all = gce.Describe("ledger", "job");
  ASSERT_EQ(all->size(), 1U);
  EXPECT_EQ(all->front().ended_by, EndedBy::kOther);
}

// Without an external address a way out is that of its subnetwork; who may not see it goes by what
// is usual.
TEST(GceApi, NoRouteLastsWhereTheSubnetworkHasNone) {
  GceSubject subject;
  Provider& gce = subject.provider();
  LaunchRequest request = subject.Request("inside");
  gce::Options options = gce_test::Chosen();
  options.external_ip = false;
  request.ask.options = gce::EncodeOptions(options);
  const auto ids = gce.Launch(request);
  ASSERT_TRUE(subject.Until([&] { return Living(gce, "inside") == 1; }));
  ASSERT_EQ(Order("attribute?name=" + ids->front() +
                  "&key=boot&value=stoker:+boot+failed,+no-route:+the+binary+cannot+be+fetched"),
            "ok");
  const auto lasts = [&] {
    const auto why = gce.WhyNotBooted(ids->front(), request.ask);
    EXPECT_TRUE(why.ok() && *why) << why.status().ToString();
    return why.ok() && *why && (*why)->lasts;
  };
  EXPECT_TRUE(lasts());
  ASSERT_EQ(Order("setting?name=private_access&value=true"), "ok");
  EXPECT_FALSE(lasts()) << "Google's services are reached from there: they are away";
  ASSERT_EQ(Order("deny?permissions=compute.subnetworks.get"), "ok");
  EXPECT_TRUE(lasts());
  ASSERT_EQ(Order("deny"), "ok");
}

LaunchRequest Near(GceSubject& subject, const std::string& name) {
  LaunchRequest request = subject.Request(name);
  gce::Options options = gce_test::Chosen();
  options.placement = gce::kCluster;
  request.ask.options = gce::EncodeOptions(options);
  request.ask.type = "c2-standard-8";
  return request;
}

// The one policy of the ledger; without a name if there is none.
Holding PolicyHeld() {
  const std::vector<std::string> places = {GcePlace(gce_test::kProject, gce_test::kZone)};
  Holding out;
  const auto held = ListGceHoldings(*gce_test::Api(), places, "ledger");
  for (const Holding& one : held->all) {
    if (one.kind != HoldingKind::kPlacement) continue;
    EXPECT_EQ(out.id, "") << "one is for all";
    out = one;
  }
  return out;
}

// One policy for all requests of the job in that zone, one VM or several. Only whoever clears up
// ends it, and only when no VM has it.
TEST(GceApi, APlacementPolicyIsOfTheWholeJobAndOutlivesItsMachines) {
  GceSubject subject;
  Provider& gce = subject.provider();
  LaunchRequest two = Near(subject, "near-two");
  two.launches = {4, 5};
  const LaunchAnswer one = gce.Launch(Near(subject, "near-one"));
  ASSERT_TRUE(one.ok()) << one.status().ToString();
  const LaunchAnswer answer = subject.another().Launch(two);
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  ASSERT_TRUE(
      subject.Until([&] { return Living(gce, "near-one") == 1 && Living(gce, "near-two") == 2; }));
  const Holding policy = PolicyHeld();
  EXPECT_EQ(policy.job, "job");
  EXPECT_TRUE(policy.in_use);
  const Status used = EndGcePolicy(*gce_test::Api(), policy);
  EXPECT_TRUE(used.Is(Code::kBusy)) << used.ToString();
  for (const std::string& id : {one->at(0), answer->at(0), answer->at(1)}) {
    ASSERT_TRUE(gce.Terminate(id).ok());
  }
  ASSERT_TRUE(
      subject.Until([&] { return Living(gce, "near-one") == 0 && Living(gce, "near-two") == 0; }));
  for (const InstanceSeen& seen : *gce.Describe("ledger", "job")) EXPECT_TRUE(seen.freed);
  ASSERT_TRUE(gce.Terminate(one->front()).ok());
  EXPECT_FALSE(PolicyHeld().in_use);
  EXPECT_TRUE(EndGcePolicy(*gce_test::Api(), policy).ok());
  EXPECT_TRUE(PolicyHeld().id.empty());
  EXPECT_TRUE(EndGcePolicy(*gce_test::Api(), policy).ok()) << "there is none any more";
  // Asked for again, it is made again.
  ASSERT_TRUE(gce.Launch(Near(subject, "near-again")).ok());
  EXPECT_EQ(PolicyHeld().id, policy.id);
}

// All VMs of a gang were lost; those in their place are asked for, and no list has them yet. Who
// ends the old ones must leave the new ones what they need.
TEST(GceApi, APolicyStaysForMachinesThatAreStillToCome) {
  GceSubject subject;
  Provider& gce = subject.provider();
  LaunchRequest old = Near(subject, "near-old");
  old.launches = {4, 5};
  const LaunchAnswer lost = gce.Launch(old);
  ASSERT_TRUE(lost.ok()) << lost.status().ToString();
  ASSERT_TRUE(subject.Until([&] { return Living(gce, "near-old") == 2; }));
  for (const std::string& id : *lost) ASSERT_EQ(Order("delete?name=" + id), "ok");
  ASSERT_TRUE(subject.Until([&] { return Living(gce, "near-old") == 0; }));
  ASSERT_EQ(Order("setting?name=operation_delay&value=1.0"), "ok");
  LaunchRequest place = Near(subject, "near-new");
  place.launches = {6, 7};
  ASSERT_TRUE(gce.Launch(place).ok());
  for (const InstanceSeen& seen : *gce.Describe("ledger", "job")) {
    EXPECT_EQ(seen.token, "near-old");
    EXPECT_TRUE(gce.Terminate(seen.id).ok());
  }
  EXPECT_TRUE(subject.Until(
      [&] { return Living(gce, "near-new") == 2 || gce.Launch(place).refusal().has_value(); }));
  EXPECT_EQ(Living(gce, "near-new"), 2U) << gce.Launch(place).refusal()->message;
}

// A VM may have policies that somebody else has given it.
TEST(GceApi, APolicyOfOthersStays) {
  GceSubject subject;
  Provider& gce = subject.provider();
  const auto api = gce_test::Api();
  const std::string policies = gce::PoliciesPath(gce_test::kProject, "us-central1");
  const std::string theirs =
      R"({"name": "theirs", "groupPlacementPolicy": {"collocation": "COLLOCATED"}})";
  ASSERT_FALSE(api->Send({"POST", policies, {}, theirs})->failure);
  const LaunchRequest request = Near(subject, "near-theirs");
  gce::Options options = gce_test::Chosen();
  options.placement = gce::kCluster;
  std::string body = *gce::LaunchBody(request, options, "#!/bin/sh\n", {});
  const std::string ours = gce::PolicyOf(request).name;
  body.replace(body.find(ours), ours.size(), "theirs");
  ASSERT_TRUE(subject.Until([&] {
    const auto sent =
        api->Send({"POST", "projects/lab-project/zones/us-central1-a/instances", {}, body});
    return sent.ok() && !sent->failure;
  }));
  ASSERT_TRUE(subject.Until([&] { return Living(gce, "near-theirs") == 1; }));
  const std::string id = gce::InstanceName(request, 0);
  ASSERT_EQ(Order("delete?name=" + id), "ok");
  ASSERT_TRUE(subject.Until([&] { return Living(gce, "near-theirs") == 0; }));
  EXPECT_TRUE(gce.Terminate(id).ok());
  EXPECT_FALSE(api->Send({"GET", policies + "/theirs"})->failure);
}

// As many as one policy never holds are refused for good; fewer may find room elsewhere.
TEST(GceApi, MoreThanAPolicyHoldsAreRefusedForGood) {
  for (const auto& [most, what] :
       {std::pair(2, RefusalClass::kInvalid), std::pair(3, RefusalClass::kCapacity)}) {
    GceSubject subject;
    ASSERT_EQ(Order("doom?count=1000&status=400&code=INVALID_USAGE&words=No+more+than+" +
                    std::to_string(most) +
                    "+instances+of+machine+type+c2-standard-8+can+be+created+with+this+policy."),
              "ok");
    LaunchRequest three = Near(subject, "near-three");
    three.launches = {4, 5, 6};
    ASSERT_TRUE(subject.provider().Launch(three).ok());
    std::optional<Refusal> told;
    ASSERT_TRUE(subject.Until([&] {
      told = subject.another().Launch(three).refusal();
      return told.has_value();
    }));
    EXPECT_EQ(told->what, what) << told->message;
  }
}

TEST(GceApi, ATypeThatTakesNoPolicyIsRefusedForGood) {
  GceSubject subject;
  LaunchRequest request = Near(subject, "not-near");
  request.ask.type = "e2-standard-2";
  const auto refusal = subject.provider().Launch(request).refusal();
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->what, RefusalClass::kInvalid);
  EXPECT_NE(refusal->message.find("gcp.placement"), std::string::npos) << refusal->message;
}

TEST(GceApi, LabelsThatWereCopiedAreNobodys) {
  GceSubject subject;
  const LaunchRequest request = subject.Request("copied");
  ASSERT_TRUE(subject.provider().Launch(request).ok());
  ASSERT_TRUE(subject.Until([&] { return Living(subject.provider(), "copied") == 1; }));
  std::string body = *gce::LaunchBody(request, gce_test::Chosen(), "#!/bin/sh\n", {});
  const std::string name = gce::InstanceName(request, 0);
  body.replace(body.find(name), name.size(), "like-that-one-0");
  const auto reply = gce_test::Api()->Send(
      {"POST", "projects/lab-project/zones/us-central1-a/instances", {}, body});
  ASSERT_TRUE(reply.ok() && !reply->failure);
  ASSERT_TRUE(subject.Until([&] {
    return Order("instances").find("like-that-one-0 us-central1-a RUN") != std::string::npos;
  }));
  EXPECT_EQ(Living(subject.provider(), "copied"), 1U);
  EXPECT_EQ(subject.provider().Describe("ledger", "")->size(), 1U);
}

TEST(GceApi, TheLeaseIsMovedByALabel) {
  GceSubject subject;
  const auto ids = subject.provider().Launch(subject.Request("labelled"));
  ASSERT_TRUE(ids.ok());
  const WallTime later{(subject.Now() + Duration::Hours(30)).ms / 1000 * 1000};
  const auto api = gce_test::Api();
  const Status moved = LabelExpiry(*api, gce_test::kProject, gce_test::kZone, ids->front(), later);
  ASSERT_TRUE(moved.ok()) << moved.ToString();
  EXPECT_TRUE(subject.Until([&] {
    const auto all = subject.provider().Describe("ledger", "");
    return all.ok() && all->size() == 1 && all->front().expires == later;
  }));
}

TEST(GceApi, AStoppedOneSaysWhyItDidNotComeUp) {
  GceSubject subject;
  Provider& gce = subject.provider();
  const auto ids = gce.Launch(subject.Request("stopped"));
  ASSERT_TRUE(ids.ok()) << ids.status().ToString();
  const auto seen = [&]() -> std::optional<InstanceSeen> {
    const auto all = gce.Describe("ledger", "");
    return all.ok() && all->size() == 1 ? std::optional(all->front()) : std::nullopt;
  };
  ASSERT_TRUE(subject.Until([&] { return seen() && seen()->state == InstanceState::kRunning; }));
  ASSERT_EQ(gce_test::Order("stop?name=" + ids->front()), "ok");
  ASSERT_TRUE(subject.Until([&] { return seen() && seen()->state == InstanceState::kStopped; }));
  EXPECT_FALSE(seen()->refusal);
  ASSERT_EQ(gce_test::Order("doom?code=ZONE_RESOURCE_POOL_EXHAUSTED&words=no+room"), "ok");
  const StartAnswer answer = gce.Start(ids->front());
  EXPECT_TRUE(answer.ok()) << "its operation says no, later: " << answer.ToString();
  ASSERT_TRUE(subject.Until([&] { return seen() && seen()->refusal.has_value(); }));
  EXPECT_EQ(seen()->refusal->what, RefusalClass::kCapacity);
  EXPECT_EQ(seen()->state, InstanceState::kStopped);
}

TEST(GceApi, HoldingsAreThoseOfTheLedgerAndSayWhatHasExpired) {
  GceSubject subject;
  const auto api = gce_test::Api();
  Provider& gce = subject.provider();
  const auto over = gce.Launch(subject.Request("over"));
  const auto healthy = gce.Launch(subject.Request("healthy"));
  LaunchRequest other = subject.Request("foreign");
  other.ledger_id = "other";
  const auto foreign = gce.Launch(other);
  ASSERT_TRUE(over.ok() && healthy.ok() && foreign.ok());
  const std::vector<std::string> places = {GcePlace(gce_test::kProject, gce_test::kZone)};
  const auto expired = [&] {
    std::vector<std::string> ids;
    const auto held = ListGceHoldings(*api, places, "ledger");
    EXPECT_TRUE(held.ok()) << held.status().ToString();
    EXPECT_EQ(held->all.size(), 2U);
    for (const Holding& one : held->all) {
      EXPECT_NE(one.token, "");
      EXPECT_EQ(one.place.zone, gce_test::kZone);
      if (IsExpired(one, held->now)) ids.push_back(one.id);
    }
    return ids;
  };
  EXPECT_TRUE(expired().empty());
  const WallTime past = subject.Now() - Duration::Minutes(1);
  for (const auto& ids : {over, foreign}) {
    const Status moved = LabelExpiry(*api, gce_test::kProject, gce_test::kZone, ids->front(), past);
    ASSERT_TRUE(moved.ok()) << moved.ToString();
  }
  ASSERT_TRUE(subject.Until([&] { return !expired().empty(); }));
  EXPECT_EQ(expired(), *over);
}

}  // namespace
}  // namespace stoker
