// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_request.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "provider/ec2/ec2_boot.h"
#include "provider/ec2/ec2_instances.h"

namespace stoker::ec2 {
namespace {

LaunchRequest Entry() {
  LaunchRequest request;
  request.token = std::string(64, 'a');
  request.ledger_id = "ledger1";
  request.store_url = "s3://bucket/some prefix";
  request.job = "abcd1234";
  request.ask = {{"ec2", "123456789012", "us-east-1", "us-east-1a"},
                 "g6.xlarge",
                 "ami-0123456789abcdef0",
                 kSpot,
                 350'000,
                 ""};
  request.launches = {3, 4, 9};
  request.slots = {0, 1, 2};
  request.binary_digest = std::string(64, 'b');
  request.limit = Duration::Hours(24);
  request.not_after = *ParseRfc3339("2026-11-24T10:00:00Z");
  return request;
}

Options Resolved() {
  Options options;
  options.subnet = "subnet-1";
  options.group = "sg-1";
  options.profile = "stoker";
  options.disks = {{"/dev/xvda", 100}, {"/dev/sdb", 0}};
  options.labels = {{"team", "vision"}};
  options.store_region = "us-east-1";
  options.blob_period = 1373;
  return options;
}

std::map<std::string, std::string> Asked(const LaunchRequest& request, const Options& options) {
  const auto params = RunInstances(request, options, "#cloud-config\n");
  EXPECT_TRUE(params.ok()) << params.status().ToString();
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : *params) {
    EXPECT_TRUE(out.emplace(name, value).second) << name << " is there twice";
  }
  return out;
}

TEST(Ec2Request, AllOrNoneOfAGang) {
  auto asked = Asked(Entry(), Resolved());
  EXPECT_EQ(asked["MinCount"], "3");
  EXPECT_EQ(asked["MaxCount"], "3");
  EXPECT_EQ(asked["ClientToken"], std::string(64, 'a'));
  EXPECT_EQ(asked["SubnetId"], "subnet-1");
  EXPECT_EQ(asked.count("Placement.AvailabilityZone"), 0U);
}

TEST(Ec2Request, AMachineEndsWithEverythingOfIt) {
  auto asked = Asked(Entry(), Resolved());
  EXPECT_EQ(asked["InstanceInitiatedShutdownBehavior"], "terminate");
  EXPECT_EQ(asked["BlockDeviceMapping.1.Ebs.DeleteOnTermination"], "true");
  EXPECT_EQ(asked["BlockDeviceMapping.1.Ebs.VolumeSize"], "100");
  EXPECT_EQ(asked["BlockDeviceMapping.2.Ebs.DeleteOnTermination"], "true");
  EXPECT_EQ(asked.count("BlockDeviceMapping.2.Ebs.VolumeSize"), 0U);
  EXPECT_EQ(asked["InstanceMarketOptions.SpotOptions.SpotInstanceType"], "one-time");
  EXPECT_EQ(asked["InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior"], "terminate");
  EXPECT_EQ(asked["InstanceMarketOptions.SpotOptions.MaxPrice"], "0.350000");
}

TEST(Ec2Request, OnlyThoseWhoHaveATokenReadTheMetadata) {
  auto asked = Asked(Entry(), Resolved());
  EXPECT_EQ(asked["MetadataOptions.HttpTokens"], "required");
  EXPECT_EQ(asked["MetadataOptions.HttpPutResponseHopLimit"], "1");
  EXPECT_EQ(asked.count("MetadataOptions.InstanceMetadataTags"), 0U) << "only on request";
}

TEST(Ec2Request, EverythingIsTagged) {
  auto asked = Asked(Entry(), Resolved());
  EXPECT_EQ(asked["TagSpecification.1.ResourceType"], "instance");
  EXPECT_EQ(asked["TagSpecification.2.ResourceType"], "volume");
  EXPECT_EQ(asked["TagSpecification.3.ResourceType"], "spot-instances-request");
  for (const char* kind : {"1", "2", "3"}) {
    std::map<std::string, std::string> tags;
    for (int i = 1; i <= 7; ++i) {
      const std::string tag = std::string("TagSpecification.") + kind + ".Tag." + std::to_string(i);
      tags[asked[tag + ".Key"]] = asked[tag + ".Value"];
    }
    EXPECT_EQ(tags["Name"], "stoker-abcd1234");
    EXPECT_EQ(tags["stoker-ledger"], "ledger1");
    EXPECT_EQ(tags["stoker-job"], "abcd1234");
    EXPECT_EQ(tags["stoker-request"], std::string(64, 'a'));
    EXPECT_EQ(tags["stoker-launches"], "3-4 9");
    EXPECT_EQ(tags["stoker-expires"], "2026-11-25T10:00:00.000Z");
    EXPECT_EQ(tags["team"], "vision");
  }
  LaunchRequest on_demand = Entry();
  on_demand.ask.market = kOnDemand;
  asked = Asked(on_demand, Resolved());
  EXPECT_EQ(asked.count("TagSpecification.3.ResourceType"), 0U);
  EXPECT_EQ(asked.count("InstanceMarketOptions.MarketType"), 0U);
}

TEST(Ec2Request, TheSameEntryGivesTheSameRequest) {
  EXPECT_EQ(*RunInstances(Entry(), Resolved(), "x"), *RunInstances(Entry(), Resolved(), "x"));
}

TEST(Ec2Request, WhatIsTooLongIsRefusedHere) {
  EXPECT_EQ(RunInstances(Entry(), Resolved(), std::string(16 * 1024 + 1, 'x')).code(),
            Code::kInvalid);
  EXPECT_TRUE(RunInstances(Entry(), Resolved(), std::string(16 * 1024, 'x')).ok());
  Options options = Resolved();
  options.labels = {{"k", std::string(257, 'v')}};
  EXPECT_EQ(RunInstances(Entry(), options, "").code(), Code::kInvalid);
  options.labels = {{"stoker-ledger", "another"}};
  EXPECT_EQ(RunInstances(Entry(), options, "").code(), Code::kInvalid);
  options.labels = {{"aws:x", "v"}};
  EXPECT_EQ(RunInstances(Entry(), options, "").code(), Code::kInvalid);
  options.labels.clear();
  for (int i = 0; i < 45; ++i) options.labels.push_back({"k" + std::to_string(i), "v"});
  EXPECT_EQ(RunInstances(Entry(), options, "").code(), Code::kInvalid);
  for (const char* token : {"", "../x", "a b", "$(x)"}) {
    LaunchRequest request = Entry();
    request.token = token;
    EXPECT_EQ(RunInstances(request, Resolved(), "").code(), Code::kInvalid) << token;
  }
  LaunchRequest request = Entry();
  request.token = std::string(65, 'a');
  EXPECT_EQ(RunInstances(request, Resolved(), "").code(), Code::kInvalid);
}

TEST(Ec2Request, OptionsComeBack) {
  EXPECT_EQ(*ParseOptions(EncodeOptions(Resolved())), Resolved());
  EXPECT_EQ(*ParseOptions(EncodeOptions(Options())), Options());
  for (const char* bad : {"", "[]", "{\"subnet\":3}", "nodes=1"}) {
    EXPECT_EQ(ParseOptions(bad).code(), Code::kInvalid) << bad;
  }
}

// ---- user-data ----

TEST(Ec2Boot, FitsAndIsAFunctionOfTheEntry) {
  const auto text = UserData(Entry(), Resolved());
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->find("#cloud-config\n"), 0U);
  EXPECT_LT(text->size(), kMostUserData);
  EXPECT_EQ(*text, *UserData(Entry(), Resolved()));
  EXPECT_NE(text->find("BASE='https://bucket.s3.us-east-1.amazonaws.com/some%20prefix/blobs/'"),
            std::string::npos);
  LaunchRequest many = Entry();
  many.launches.resize(64, 1234);
  many.slots.resize(64, 63);
  EXPECT_LT(UserData(many, Resolved())->size(), kMostUserData);
}

TEST(Ec2Boot, HostileNamesStayText) {
  LaunchRequest request = Entry();
  request.store_url = "s3://bucket/it's $(touch x) `y` \"z\" END_OF_FILE";
  request.ending = "x'; reboot; '";
  const auto text = UserData(request, Resolved());
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find("it%27s%20%24%28touch%20x%29"), std::string::npos);
  EXPECT_EQ(text->find("\n      END_OF_FILE x"), std::string::npos);
  request.store_url = "s3://bucket/a\nEND_OF_FILE\nreboot";
  EXPECT_EQ(UserData(request, Resolved()).code(), Code::kInvalid);
  request = Entry();
  request.store_url = "/a/folder";
  EXPECT_EQ(UserData(request, Resolved()).code(), Code::kInvalid);
}

TEST(Ec2Boot, StoresOfOthersAndNamesWithDots) {
  Options options = Resolved();
  LaunchRequest request = Entry();
  request.store_url = "s3://my.bucket";
  EXPECT_NE(UserData(request, options)
                ->find("BASE='https://s3.us-east-1.amazonaws.com/my.bucket/"
                       "blobs/'"),
            std::string::npos);
  options.store_region = "cn-north-1";
  request.store_url = "s3://b/";
  EXPECT_NE(UserData(request, options)->find("https://b.s3.cn-north-1.amazonaws.com.cn/blobs/"),
            std::string::npos);
  options.s3_endpoint = "http://10.0.0.1:9000/";
  EXPECT_NE(UserData(request, options)->find("BASE='http://10.0.0.1:9000/b/blobs/'"),
            std::string::npos);
}

TEST(Ec2Boot, ABucketOfGooglesThatKnowsItsMachines) {
  Options options = Resolved();
  options.store_region = "";
  LaunchRequest request = Entry();
  request.store_url = "gs://bucket/some prefix";
  EXPECT_EQ(UserData(request, options).code(), Code::kInvalid);
  options.google_identity =
      "projects/123/locations/global/workloadIdentityPools/pool/providers/aws1";
  const auto text = UserData(request, options);
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_EQ(*text, *UserData(request, options));
  EXPECT_NE(text->find("BASE='https://storage.googleapis.com/storage/v1/b/bucket/o/"
                       "some%20prefix%2Fblobs%2F'"),
            std::string::npos);
  EXPECT_NE(text->find("REGION='us-east-1'"), std::string::npos);  // of the machine
  EXPECT_NE(text->find("\"audience\":\"//iam.googleapis.com/" + options.google_identity + "\""),
            std::string::npos);
  EXPECT_EQ(text->find("\"service_account_impersonation_url\""), std::string::npos);
  options.google_account = "a@p.iam.gserviceaccount.com";
  request.launches.resize(64, 1234);
  request.slots.resize(64, 63);
  const auto acting = UserData(request, options);
  ASSERT_TRUE(acting.ok());
  EXPECT_LT(acting->size(), kMostUserData);
  EXPECT_NE(acting->find("/serviceAccounts/a@p.iam.gserviceaccount.com:generateAccessToken"),
            std::string::npos);
  EXPECT_EQ(*ParseOptions(EncodeOptions(options)), options);
  // An input there, and the store in S3.
  const auto both = UserData(Entry(), options);
  ASSERT_TRUE(both.ok());
  EXPECT_NE(both->find("BASE='https://bucket.s3."), std::string::npos);
  EXPECT_NE(both->find("put /opt/stoker/google.json"), std::string::npos);
  EXPECT_EQ(UserData(Entry(), Resolved())->find("put /opt/stoker/google.json"), std::string::npos);
  options.google_identity += "\nEND_OF_FILE\nreboot";
  EXPECT_EQ(UserData(request, options).code(), Code::kInvalid);
}

// ---- instances ----

std::string Item(const std::string& id, int index, int state, const std::string& more = "") {
  return "<item><instanceId>" + id + "</instanceId><imageId>ami-1</imageId><instanceState><code>" +
         std::to_string(state) + "</code><name>x</name></instanceState><amiLaunchIndex>" +
         std::to_string(index) +
         "</amiLaunchIndex><instanceType>g6.xlarge</instanceType><launchTime>2026-11-24T09:00:00."
         "000Z</launchTime><placement><availabilityZone>us-east-1a</availabilityZone></placement>"
         "<privateIpAddress>172.31.0.5</privateIpAddress><tagSet><item><key>stoker-request</key>"
         "<value>tok</value></item><item><key>stoker-ledger</key><value>led</value></item><item>"
         "<key>stoker-job</key><value>job1</value></item><item><key>stoker-launches</key><value>"
         "11-13</value></item><item><key>stoker-expires</key><value>2026-11-25T10:00:00.000Z"
         "</value></item></tagSet>" +
         more + "</item>";
}

std::string Answer(const std::string& items, const std::string& next = "") {
  return "<?xml version=\"1.0\"?><DescribeInstancesResponse xmlns=\"http://ec2.amazonaws.com/doc/"
         "2016-11-15/\"><reservationSet><item><instancesSet>" +
         items + "</instancesSet></item></reservationSet>" +
         (next.empty() ? "" : "<nextToken>" + next + "</nextToken>") +
         "</DescribeInstancesResponse>";
}

InstanceSeen Seen(int state, const std::string& more = "") {
  const auto page =
      ParseInstances(Answer(Item("i-1", 1, state, more)), *ParseRfc3339("2026-11-24T09:10:00Z"));
  EXPECT_TRUE(page.ok());
  return page.ok() && page->instances.size() == 1 ? page->instances[0].seen : InstanceSeen();
}

TEST(Ec2Instances, WhatATagSays) {
  const InstanceSeen seen = Seen(16, "<clientToken>tok</clientToken>");
  EXPECT_EQ(seen.id, "i-1");
  EXPECT_EQ(seen.token, "tok");
  EXPECT_EQ(seen.ledger_id, "led");
  EXPECT_EQ(seen.job, "job1");
  EXPECT_EQ(seen.index, 1);
  EXPECT_EQ(seen.launch, 12);
  EXPECT_EQ(seen.address, "172.31.0.5");
  EXPECT_EQ(seen.up_for, Duration::Minutes(10));
  EXPECT_EQ(seen.expires, *ParseRfc3339("2026-11-25T10:00:00Z"));
  // Tags are copied by people; whose request it was EC2 says itself.
  EXPECT_EQ(Seen(16).token, "");
  EXPECT_EQ(Seen(16, "<clientToken>other</clientToken>").token, "");
}

TEST(Ec2Instances, States) {
  EXPECT_EQ(Seen(0).state, InstanceState::kBooting);
  EXPECT_EQ(Seen(16).state, InstanceState::kRunning);
  EXPECT_EQ(Seen(272).state, InstanceState::kRunning);  // the high byte is Amazon's own
  EXPECT_EQ(Seen(32).state, InstanceState::kStopping);
  EXPECT_EQ(Seen(64).state, InstanceState::kStopping);
  EXPECT_EQ(Seen(80).state, InstanceState::kStopped);
  EXPECT_EQ(Seen(48).state, InstanceState::kGone);
  EXPECT_FALSE(Seen(80).up_for);
  EXPECT_FALSE(Seen(80).freed);
  EXPECT_TRUE(Seen(48).freed);
}

TEST(Ec2Instances, WhyItIsGone) {
  const auto reason = [](const std::string& code, const std::string& message) {
    return "<stateReason><code>" + code + "</code><message>" + message + "</message></stateReason>";
  };
  const InstanceSeen spot = Seen(48, reason("Server.SpotInstanceTermination",
                                            "Server.SpotInstanceTermination: Spot instance "
                                            "termination"));
  EXPECT_FALSE(spot.refusal);
  EXPECT_EQ(spot.ended_by, EndedBy::kPlatform);
  EXPECT_EQ(Seen(48, reason("Client.InstanceInitiatedShutdown", "x")).ended_by, EndedBy::kOther);
  EXPECT_NE(spot.why.find("Spot instance termination"), std::string::npos);
  const InstanceSeen dead =
      Seen(48, reason("Server.InsufficientInstanceCapacity", "no room after all"));
  ASSERT_TRUE(dead.refusal);
  EXPECT_EQ(dead.refusal->what, RefusalClass::kCapacity);
  EXPECT_EQ(dead.refusal->message, "no room after all");
  EXPECT_FALSE(Seen(16, reason("Server.InternalError", "x")).refusal);
}

// The tag of the lease is 2026-11-25T10:00:00Z.
TEST(Ec2Instances, WhatAPersonEndsIsEndedByItsOwner) {
  const auto ended = [](const std::string& when) {
    return "<reason>User initiated (" + when +
           ")</reason><stateReason><code>Client.UserInitiatedShutdown</code></stateReason>";
  };
  const std::string by_hand = ended("2026-11-24 09:05:00 GMT");
  EXPECT_EQ(Seen(48, by_hand).ended_by, EndedBy::kOwner);
  EXPECT_EQ(Seen(48, ended("no time")).ended_by, EndedBy::kOwner);
  // After its lease: stoker gc.
  EXPECT_EQ(Seen(48, ended("2026-11-25 10:00:01 GMT")).ended_by, EndedBy::kOther);
  // From when it shuts down: nothing else is asked for in its place. Stopped is not ended.
  EXPECT_EQ(Seen(32, by_hand).ended_by, EndedBy::kOwner);
  EXPECT_EQ(Seen(64, by_hand).ended_by, EndedBy::kOther);
  EXPECT_EQ(Seen(80, by_hand).ended_by, EndedBy::kOther);
  // Nothing is said yet.
  EXPECT_EQ(Seen(16, "").ended_by, EndedBy::kUnknown);
  EXPECT_EQ(Seen(32, "").ended_by, EndedBy::kUnknown);
}

TEST(Ec2Instances, PagesAndIndices) {
  const auto page = ParseInstances(
      Answer(Item("i-c", 2, 16) + Item("i-a", 0, 0) + Item("i-b", 1, 48), "more"), {});
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->next, "more");
  EXPECT_EQ(IdsByIndex(page->instances, 3), (std::vector<std::string>{"i-a", "", "i-c"}));
  EXPECT_EQ(IdsByIndex(page->instances, 1), (std::vector<std::string>{"i-a"}));
  EXPECT_EQ(ParseInstances("<html/>", {}).code(), Code::kCorrupt);
  EXPECT_EQ(ParseInstances("", {}).code(), Code::kCorrupt);
  const auto empty = ParseInstances(
      "<DescribeInstancesResponse><reservationSet/></DescribeInstances"
      "Response>",
      {});
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->instances.empty());
}

TEST(Ec2Request, TagsAreReadInsideOnRequest) {
  Options options = Resolved();
  options.metadata_tags = true;
  options.labels = {{"team", "vision"}};
  const auto params = RunInstances(Entry(), options, "");
  ASSERT_TRUE(params.ok()) << params.status().ToString();
  const std::map<std::string, std::string> asked(params->begin(), params->end());
  EXPECT_EQ(asked.at("MetadataOptions.InstanceMetadataTags"), "enabled");
  EXPECT_EQ(ParseOptions(EncodeOptions(options))->metadata_tags, true);
  for (const char* key : {"cost/center", "cost center"}) {
    options.labels = {{key, "1"}};
    EXPECT_EQ(RunInstances(Entry(), options, "").code(), Code::kInvalid) << key;
    options.metadata_tags = false;
    EXPECT_TRUE(RunInstances(Entry(), options, "").ok()) << key;
    options.metadata_tags = true;
  }
}

}  // namespace
}  // namespace stoker::ec2
