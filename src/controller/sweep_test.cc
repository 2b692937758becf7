// SPDX-License-Identifier: Apache-2.0
#include "controller/sweep.h"

#include <gtest/gtest.h>

#include "test/contract/ledger_kit.h"

namespace stoker {
namespace {

constexpr BrokerTraits kToy{"toy", "Toy", "machines of Toy"};
const WallTime kNow{1'000'000};

class ToyBroker : public Broker {
 public:
  const BrokerTraits& traits() const override { return kToy; }
  Result<Provider*> Machines() override { return Status(Code::kInvalid, "it has none"); }
  Result<std::vector<Offer>> Resolve(const OfferAsk&) override { return std::vector<Offer>(); }
  Result<Holdings> List(const LedgerRef&, const std::string& id, bool) override {
    Holdings out;
    out.all = has[id];
    out.now = kNow;
    out.forbidden = {"no right to look at disks"};
    return out;
  }
  Status End(const Holding& holding) override {
    ended.push_back(holding.id);
    return Status::Ok();
  }

  Holding& Add(const std::string& ledger, HoldingKind kind, const std::string& id) {
    Holding one;
    one.kind = kind;
    one.id = id;
    one.place.region = "here";
    one.job = "job1";
    has[ledger].push_back(one);
    return has[ledger].back();
  }

  std::map<std::string, std::vector<Holding>> has;
  std::vector<std::string> ended;
};

// A job with four machines of one request: open, closed, closed and kept, kept for long enough.
void MakeJob(LedgerKit& kit) {
  Job job = kit.MakeJob("job1", "x");
  AppendRequest(job, {0, 1, 2, 3}).token = "token1";
  for (Launch& launch : job.launches) {
    launch.closed = launch.index > 0;
    if (launch.closed) launch.close_reason = CloseReason::kKept;
  }
  job.launches[2].kept_until = kit.clock.Wall() + Duration::Hours(1'000'000);
  job.launches[3].kept_until = WallTime{1'000};
  ASSERT_TRUE(CreateJob(*kit.ledger, job, "x").ok());
}

std::vector<std::string> Ended(LedgerKit& kit, ToyBroker& toy, const SweepRequest& request = {}) {
  const auto swept = SweepProvider(*kit.ledger, toy, request);
  EXPECT_TRUE(swept.ok()) << swept.status().ToString();
  return toy.ended;
}

TEST(Sweep, EndsMachinesThatAreClosedOnceTheyAreKeptNoLonger) {
  LedgerKit kit;
  MakeJob(kit);
  ToyBroker toy;
  const auto add = [&](const std::string& id, const std::string& token, int index) -> Holding& {
    Holding& one = toy.Add(kit.ledger->id(), HoldingKind::kMachine, id);
    one.token = token;
    one.index = index;
    return one;
  };
  add("open", "token1", 0);
  add("closed", "token1", 1);
  add("kept", "token1", 2);
  add("kept-long-enough", "token1", 3);
  add("of-no-request", "another", 1);
  add("of-no-record", "token1", 1).job = "job2";
  add("copied", "", 1).expires = WallTime{1};
  add("expired", "another", 1).expires = WallTime{1};
  EXPECT_EQ(Ended(kit, toy), (std::vector<std::string>{"closed", "kept-long-enough", "expired"}));
}

TEST(Sweep, EndsWhatMachinesShareOnceNobodyNeedsIt) {
  LedgerKit kit;
  MakeJob(kit);
  ToyBroker toy;
  const std::string& id = kit.ledger->id();
  toy.Add(id, HoldingKind::kGroup, "firewall").expires = WallTime{1};
  toy.Add(id, HoldingKind::kPlacement, "of-a-live-job").expires = WallTime{1};
  toy.Add(id, HoldingKind::kPlacement, "of-no-job").job = "job2";
  Holding& used = toy.Add(id, HoldingKind::kPlacement, "used");
  used.job = "job2";
  used.in_use = true;
  toy.Add(id, HoldingKind::kRule, "rule").expires = WallTime{1};
  toy.Add(id, HoldingKind::kRule, "fresh-rule").expires = kNow;
  toy.Add(id, HoldingKind::kDisk, "disk").expires = WallTime{1};
  Holding& attached = toy.Add(id, HoldingKind::kDisk, "attached");
  attached.expires = WallTime{1};
  attached.in_use = true;
  EXPECT_EQ(Ended(kit, toy), (std::vector<std::string>{"of-no-job", "rule", "disk"}));
}

// Between the value and the record of its job lies one command.
TEST(Sweep, ASecretGoesOnceItsJobIsOverOrNeverCame) {
  LedgerKit kit;
  MakeJob(kit);
  ToyBroker toy;
  const std::string& id = kit.ledger->id();
  toy.Add(id, HoldingKind::kSecret, "of-a-live-job").expires = WallTime{1};
  Holding& coming = toy.Add(id, HoldingKind::kSecret, "of-a-job-that-comes");
  coming.job = "job2";
  coming.since = kNow - Duration::Minutes(1);
  Holding& lost = toy.Add(id, HoldingKind::kSecret, "of-a-job-that-never-came");
  lost.job = "job2";
  lost.since = kNow - Duration::Minutes(10);
  toy.Add(id, HoldingKind::kSecret, "of-no-time").job = "job2";
  EXPECT_EQ(Ended(kit, toy), std::vector<std::string>{"of-a-job-that-never-came"});
}

TEST(Sweep, OfALedgerThatWasGivenUpTheFirewallGoesAfterItsMachines) {
  LedgerKit kit;
  ToyBroker toy;
  toy.Add("old", HoldingKind::kGroup, "firewall");
  toy.Add("older", HoldingKind::kGroup, "needed");
  toy.Add("older", HoldingKind::kMachine, "machine").token = "t";
  toy.Add("older", HoldingKind::kGroup, "elsewhere").place.region = "there";
  SweepRequest request;
  request.given_up = {"old", "older"};
  EXPECT_EQ(Ended(kit, toy, request), (std::vector<std::string>{"firewall", "elsewhere"}));
}

TEST(Sweep, ADryRunEndsNothingAndMissingRightsAreTold) {
  LedgerKit kit;
  ToyBroker toy;
  toy.Add(kit.ledger->id(), HoldingKind::kRule, "rule").expires = WallTime{1};
  SweepRequest request;
  request.dry_run = true;
  const auto swept = SweepProvider(*kit.ledger, toy, request);
  ASSERT_TRUE(swept.ok());
  EXPECT_TRUE(toy.ended.empty());
  EXPECT_EQ(swept->things[0].over, "its time was over 1970-01-01T00:00:00.001Z");
  EXPECT_TRUE(swept->troubles.empty());
  EXPECT_EQ(swept->forbidden, std::vector<std::string>{"no right to look at disks"});
}

}  // namespace
}  // namespace stoker
