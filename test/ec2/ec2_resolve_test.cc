// SPDX-License-Identifier: Apache-2.0
// What a job asks becomes ids and zones, or one error; nothing is made of bad input.
#include "provider/ec2/ec2_resolve.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <set>

#include "base/text.h"
#include "test/ec2/subject.h"

namespace stoker {
namespace {

using ec2_test::Order;

Ec2Wish Wish() {
  Ec2Wish wish;
  wish.region = "us-east-1";
  wish.type = "m5.large";
  wish.store_region = "us-east-1";
  return wish;
}

Result<std::vector<Offer>> Resolve(const Ec2Wish& wish) {
  return ResolveEc2(*ec2_test::Api(), wish);
}

std::string Error(const Ec2Wish& wish) {
  const auto offers = Resolve(wish);
  return offers.ok() ? "none" : offers.status().ToString();
}

TEST(Ec2Resolve, OneOfferForEachZone) {
  ASSERT_EQ(Order("reset"), "ok");
  Ec2Wish wish = Wish();
  wish.labels = {{"team", "vision"}};
  wish.disk_gib = 100;
  const auto offers = Resolve(wish);
  ASSERT_TRUE(offers.ok()) << offers.status().ToString();
  ASSERT_GT(offers->size(), 2U);
  std::set<std::string> zones, subnets;
  for (const Offer& offer : *offers) {
    EXPECT_EQ(offer.ask.place.provider, "ec2");
    EXPECT_EQ(offer.ask.place.account, "123456789012");
    EXPECT_EQ(offer.ask.place.region, "us-east-1");
    EXPECT_EQ(offer.ask.type, "m5.large");
    EXPECT_EQ(offer.ask.image, "ami-0a120230000000064");
    EXPECT_EQ(offer.ask.market, "on-demand");
    EXPECT_EQ(offer.price, 96'000) << "of the list";
    const auto options = ec2::ParseOptions(offer.ask.options);
    ASSERT_TRUE(options.ok());
    zones.insert(offer.ask.place.zone);
    subnets.insert(options->subnet);
    EXPECT_EQ(options->profile, "stoker");
    EXPECT_EQ(options->labels, (std::vector<ec2::Label>{{"team", "vision"}}));
    ASSERT_FALSE(options->disks.empty());
    EXPECT_EQ(options->disks[0].gib, 100);
  }
  EXPECT_EQ(zones.size(), offers->size());
  EXPECT_EQ(subnets.size(), offers->size());
}

TEST(Ec2Resolve, TheCheapestThatFits) {
  Ec2Wish wish = Wish();
  wish.type.clear();
  wish.gpus = 1;
  wish.gpu_name = "t4";
  auto offers = Resolve(wish);
  ASSERT_TRUE(offers.ok()) << offers.status().ToString();
  EXPECT_EQ((*offers)[0].ask.type, "g4dn.xlarge");
  EXPECT_EQ((*offers)[0].ask.image, "ami-0d1ba5e2204000064") << "with the driver of the GPU";
  wish.gpus.reset();
  wish.gpu_name.clear();
  wish.cpus = 3500;
  wish.memory = int64_t{8} << 30;
  wish.spot = true;
  offers = Resolve(wish);
  ASSERT_TRUE(offers.ok()) << offers.status().ToString();
  EXPECT_EQ((*offers)[0].ask.market, "spot");
  EXPECT_TRUE((*offers)[0].price) << "spot prices are known";
}

TEST(Ec2Resolve, BadInputIsOneErrorWithTheNearest) {
  ASSERT_EQ(Order("reset"), "ok");
  const auto with = [](auto change) {
    Ec2Wish wish = Wish();
    change(wish);
    return Error(wish);
  };
  const auto says = [](const std::string& error, const char* what) {
    EXPECT_NE(error.find(what), std::string::npos) << error;
  };
  says(with([](Ec2Wish& w) { w.region.clear(); }), "AWS_REGION");
  says(with([](Ec2Wish& w) { w.zone = "us-east-1q"; }), "Did you mean us-east-1");
  says(with([](Ec2Wish& w) { w.type = "m5.larg"; }), "Did you mean m5.large?");
  says(with([](Ec2Wish& w) { w.type = "m6g.large"; }), "another processor than x86-64");
  says(with([](Ec2Wish& w) { w.image = "ami-0123456789abcdef0"; }), "no image");
  says(with([](Ec2Wish& w) { w.image = "ami-0deb1a120000000a4"; }), "is for arm64");
  says(with([](Ec2Wish& w) { w.image = "ssm:/aws/service/nothing"; }), "no parameter");
  says(with([](Ec2Wish& w) { w.profile = "nobody"; }), "no instance profile 'nobody'");
  says(with([](Ec2Wish& w) {
         w.type.clear();
         w.gpus = 1;
         w.gpu_name = "H10";
       }),
       "Did you mean");
  says(with([](Ec2Wish& w) {
         w.type.clear();
         w.cpus = 100'000'000;
       }),
       "as much as is asked for");
  says(with([](Ec2Wish& w) { w.labels = {{"k", std::string(300, 'v')}}; }), "too long");
  EXPECT_EQ(Order("made"), "nothing");
}

// As a folder in the user's cache.
class Drawer : public Cache {
 public:
  std::optional<std::string> Get(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(name);
    return found == kept_.end() ? std::nullopt : std::optional(found->second);
  }
  void Keep(const std::string& name, std::string_view data) override {
    const std::lock_guard lock(mutex_);
    kept_[name] = data;
  }
  void KeepOnly(const std::set<std::string>&) override {}

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> kept_;
};

TEST(Ec2Resolve, WhoSubmitsASecondTimeAsksNothing) {
  ASSERT_EQ(Order("reset"), "ok");
  const auto memory = std::make_shared<Drawer>();
  Ec2Wish wish = Wish();
  wish.spot = true;
  const auto resolve = [&](const Ec2Wish& wanted) {
    const auto api = *MakeAwsApi(memory);
    auto offers = ResolveEc2(*api, wanted);
    if (offers.ok()) {
      EXPECT_TRUE(CompleteEc2Offers(*api, "remembered", 1, &*offers).ok());
    }
    return offers;
  };
  const auto first = resolve(wish);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  (void)resolve(wish);  // the group is made by now
  const std::string before = Order("asked");
  const auto second = resolve(wish);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(Order("asked"), before);
  ASSERT_EQ(second->size(), first->size());
  for (size_t i = 0; i < first->size(); ++i) {
    EXPECT_EQ((*second)[i].ask, (*first)[i].ask);
    EXPECT_EQ((*second)[i].price, (*first)[i].price);
  }
  // A no is looked into again, and not out of memory.
  wish.zone = "us-east-1q";
  EXPECT_EQ(resolve(wish).code(), Code::kInvalid);
  EXPECT_NE(Order("asked"), before);
}

TEST(Ec2Resolve, TheGroupIsMadeOnceAndOpenToItselfAlone) {
  const auto api = ec2_test::Api();
  auto offers = std::move(*Resolve(Wish()));
  auto again = offers;
  ASSERT_TRUE(CompleteEc2Offers(*api, "ledger", 1373, &offers).ok());
  ASSERT_TRUE(CompleteEc2Offers(*api, "ledger", 1373, &again).ok());
  const auto first = *ec2::ParseOptions(offers[0].ask.options);
  EXPECT_EQ(ec2::ParseOptions(again[0].ask.options)->group, first.group);
  EXPECT_EQ(first.blob_period, 1373);
  EXPECT_EQ(Order("group?id=" + first.group), "stoker-ledger opens to " + first.group);
  // A machine is given with all of it.
  auto ec2 = MakeEc2Provider(api, ec2_test::Notes());
  LaunchRequest request = ec2_test::RequestOf("resolved", api->Now());
  request.ask = offers[0].ask;
  const auto ids = ec2->Launch(request);
  EXPECT_TRUE(ids.ok()) << ids.status().ToString();
}

// The machine that the first offer gives, completed as at submit.
std::string Launched(std::vector<Offer> offers, const std::string& name, Provider** provider) {
  const auto api = ec2_test::Api();
  EXPECT_TRUE(CompleteEc2Offers(*api, "ledger", 1373, &offers).ok());
  static std::unique_ptr<Provider> ec2;
  ec2 = MakeEc2Provider(api, ec2_test::Notes());
  *provider = ec2.get();
  LaunchRequest request = ec2_test::RequestOf(name, api->Now());
  request.ask = offers[0].ask;
  const auto ids = ec2->Launch(request);
  EXPECT_TRUE(ids.ok()) << ids.status().ToString();
  return ids.ok() ? ids->front() : "";
}

TEST(Ec2Resolve, NearEachOtherWithEfa) {
  ASSERT_EQ(Order("reset"), "ok");
  Ec2Wish wish = Wish();
  wish.cluster = wish.efa = true;
  wish.zone = "us-east-1a";
  EXPECT_NE(Error(wish).find("m5.large has no EFA"), std::string::npos) << Error(wish);
  wish.efa = false;
  wish.type = "t3.large";
  EXPECT_NE(Error(wish).find("cannot be placed in a cluster"), std::string::npos) << Error(wish);
  wish.efa = true;
  wish.type = "p4d.24xlarge";
  auto offers = Resolve(wish);
  ASSERT_TRUE(offers.ok()) << offers.status().ToString();
  EXPECT_EQ((*offers)[0].ask.image, "ami-0d1ba5e2204000064") << "with the driver";
  Provider* ec2 = nullptr;
  const std::string id = Launched(std::move(*offers), "near", &ec2);
  const std::vector<std::string> given = Split(Order("given?id=" + id), '|');
  ASSERT_EQ(given.size(), 6U);
  EXPECT_EQ(given[0], "stoker-ledger-job-us-east-1a");
  EXPECT_EQ(given[5], "efa efa-only efa-only efa-only");
  EXPECT_EQ(Order("placements"), given[0]);
  // It goes with the last machine in it, by the one that ends it.
  const auto seen = [&] {
    for (const InstanceSeen& one : ec2->Describe("ledger", "").value_or({})) {
      if (one.id == id) return one;
    }
    return InstanceSeen();
  };
  ASSERT_TRUE(ec2->Terminate(id).ok());
  for (int i = 0; i < 500 && seen().state != InstanceState::kGone; ++i) usleep(20'000);
  ASSERT_EQ(seen().state, InstanceState::kGone);
  EXPECT_FALSE(seen().freed) << "the group is left";
  ASSERT_TRUE(ec2->Terminate(id).ok());
  EXPECT_EQ(Order("placements"), "none");
  EXPECT_TRUE(seen().freed);
  const auto another = MakeEc2Provider(ec2_test::Api(), ec2_test::Notes());
  EXPECT_TRUE(another->Terminate(id).ok()) << "may be repeated, by anybody";
}

TEST(Ec2Resolve, ReservedCapacity) {
  ASSERT_EQ(Order("reset"), "ok");
  Ec2Wish wish = Wish();
  wish.type.clear();
  const auto says = [&](const char* what) {
    const std::string error = Error(wish);
    EXPECT_NE(error.find(what), std::string::npos) << error;
  };
  wish.reservation = "cr-0123456789abcdef0";
  says("there is no capacity reservation cr-0123456789abcdef0");
  wish.reservation = Order("reserve?type=m5.large&count=2&zone=us-east-1b");
  wish.nodes = 3;
  says("is for 2 machines, fewer than 3 nodes");
  wish.nodes = 2;
  wish.spot = true;
  says("not of the spot market");
  wish.spot = false;
  wish.type = "c5.large";
  says("is for m5.large, not for c5.large");
  wish.type.clear();
  wish.zone = "us-east-1a";
  says("is in us-east-1b, not in us-east-1a");
  wish.zone.clear();
  const auto offers = Resolve(wish);
  ASSERT_TRUE(offers.ok()) << offers.status().ToString();
  ASSERT_EQ(offers->size(), 1U);
  Provider* ec2 = nullptr;
  std::string id = Launched(*offers, "reserved", &ec2);
  EXPECT_EQ(Split(Order("given?id=" + id), '|')[1], wish.reservation);
  // A block is capacity that was bought for a while, and a market of its own.
  wish.nodes = 1;
  wish.reservation = Order(
      "reserve?type=p4d.24xlarge&count=1&ReservationType=capacity-block&State=scheduled&StartDate="
      "2026-12-01T11:30:00%2B00:00");
  says("is scheduled: it begins at 2026-12-01T11:30:00");
  wish.reservation = Order("reserve?type=p4d.24xlarge&count=1&ReservationType=capacity-block");
  const auto block = Resolve(wish);
  ASSERT_TRUE(block.ok()) << block.status().ToString();
  EXPECT_EQ((*block)[0].ask.market, "capacity-block");
  EXPECT_FALSE((*block)[0].price);
  id = Launched(*block, "block", &ec2);
  EXPECT_EQ(Split(Order("given?id=" + id), '|')[2], "capacity-block");
}

TEST(Ec2Resolve, AnotherNetwork) {
  ASSERT_EQ(Order("reset"), "ok");
  const std::vector<std::string> made = Split(Order("vpc?zone=us-east-1b"), ' ');
  ASSERT_EQ(made.size(), 3U);
  Ec2Wish wish = Wish();
  const auto says = [&](const std::string& what) {
    const std::string error = Error(wish);
    EXPECT_NE(error.find(what), std::string::npos) << error;
  };
  wish.subnets = {"subnet-0123456789abcdef0"};
  says("there is no subnet subnet-0123456789abcdef0");
  wish.subnets = {made[0], ec2::ParseOptions((*Resolve(Wish()))[0].ask.options)->subnet};
  says("of more than one VPC");
  wish.subnets = {made[0]};
  // Its route table is as a VPC is made: machines there could be paid for, and reach nothing.
  says("no machine in " + made[0] + " in us-east-1b could reach the store");
  says("aws ec2 create-vpc-endpoint --region us-east-1 --vpc-id vpc-");
  says("--service-name com.amazonaws.us-east-1.s3");
  // A store that is not Amazon's own may be anywhere.
  wish.s3_endpoint = "http://10.0.0.9:9000";
  wish.zone = "us-east-1a";
  says("the subnets are in us-east-1b, and not in us-east-1a");
  wish.zone.clear();
  wish.groups = {"team node"};
  says("Did you mean team nodes?");
  wish.groups = {"team nodes"};
  wish.nodes = 2;
  says("could not reach each other");
  EXPECT_EQ(Order("open?id=" + made[1]), "ok");
  auto offers = Resolve(wish);
  ASSERT_TRUE(offers.ok()) << offers.status().ToString();
  ASSERT_EQ(offers->size(), 1U);
  Provider* ec2 = nullptr;
  std::string id = Launched(*offers, "other-vpc", &ec2);
  EXPECT_EQ(Order("given?id=" + id), "||on-demand|" + made[0] + "|" + made[1] + "|");
  // Without one of the user's the ledger has a group there, too.
  wish.groups.clear();
  id = Launched(*Resolve(wish), "own-group", &ec2);
  const std::string group = Split(Order("given?id=" + id), '|')[4];
  EXPECT_EQ(Order("group?id=" + group), "stoker-ledger opens to " + group);
}

// Refused is only what is certain: a table that nobody may read is a remark, an endpoint is a way.
TEST(Ec2Resolve, WhatIsLessClearIsSaid) {
  ASSERT_EQ(Order("reset"), "ok");
  const std::vector<std::string> made = Split(Order("vpc?zone=us-east-1b"), ' ');
  ASSERT_EQ(made.size(), 3U);
  Ec2Wish wish = Wish();
  std::vector<std::string> said;
  wish.say = [&](const std::string& remark) { said.push_back(remark); };
  wish.subnets = {made[0]};
  EXPECT_EQ(Order("deny?action=DescribeRouteTables"), "ok");
  EXPECT_EQ(Error(wish), "none");
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said[0].find("whether machines in " + made[2] + " reach the store is not known: "), 0U)
      << said[0];
  EXPECT_NE(said[0].find("UnauthorizedOperation"), std::string::npos) << said[0];
  EXPECT_EQ(Order("reset"), "ok");
  EXPECT_NE(Error(wish).find("could reach the store"), std::string::npos);
  said.clear();
  EXPECT_EQ(Order("endpoint?vpc=" + made[2]), "ok");
  EXPECT_EQ(Error(wish), "none");
  EXPECT_EQ(Join(said, "; ").find("reach the store"), std::string::npos) << Join(said, "; ");
}

}  // namespace
}  // namespace stoker
