// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_request.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "provider/gce/gce_answer.h"
#include "provider/gce/gce_boot.h"
#include "provider/gce/gce_placement.h"

namespace stoker::gce {
namespace {

using nlohmann::json;

LaunchRequest Entry(int machines) {
  LaunchRequest request;
  request.token = std::string(64, 'a');
  request.ledger_id = "ledger1";
  request.store_url = "gs://bucket/prefix";
  request.job = "abcd1234";
  request.ask.place = {"gce", "my-project", "us-central1", "us-central1-a"};
  request.ask.type = "g2-standard-4";
  request.ask.image = "projects/debian-cloud/global/images/debian-12-bookworm-v20261110";
  request.ask.market = kSpot;
  for (int i = 0; i < machines; ++i) request.launches.push_back(7 + i);
  request.binary_digest = std::string(64, 'b');
  request.limit = Duration::Hours(24);
  request.not_after = *ParseRfc3339("2026-11-24T10:05:00Z");
  return request;
}

json Body(const LaunchRequest& request, const Options& options, const Try& attempt = {}) {
  const auto body = LaunchBody(request, options, "#!/bin/sh\n", attempt);
  EXPECT_TRUE(body.ok()) << body.status().ToString();
  return json::parse(body.value_or("{}"));
}

// Python: uuid.uuid5(uuid.UUID('5a1d9c02-7f3e-4b61-9d0a-2c8841e7b536'), 'token/0').
TEST(GceRequest, UuidsAsOthersMakeThem) {
  EXPECT_EQ(UuidOf("token/0"), "db4c5c8f-0d73-5d65-bb51-216cd51cbae0");
  const LaunchRequest request = Entry(1);
  EXPECT_EQ(RequestId(request, {0, true}), RequestId(request, {0, true}));
  EXPECT_NE(RequestId(request, {0, true}), RequestId(request, {1, true}));
  EXPECT_NE(RequestId(request, {0, true}), RequestId(request, {0, false}));
}

TEST(GceRequest, ANameSaysItsRank) {
  const LaunchRequest request = Entry(3);
  const std::string name = InstanceName(request, 2);
  EXPECT_EQ(name.substr(0, 16), "stoker-abcd1234-");
  EXPECT_EQ(name.substr(name.size() - 2), "-2");
  EXPECT_TRUE(IsInstanceName(name));
  for (const char* bad : {"", "stoker-", "vm-1", "stoker-A-1", "stoker-a/../b-1", "stoker-a_b-1"}) {
    EXPECT_FALSE(IsInstanceName(bad)) << bad;
  }
}

TEST(GceRequest, OneMachineOfSpot) {
  Options options;
  options.service_account = "s@p.iam.gserviceaccount.com";
  options.gpus = 1;
  const json body = Body(Entry(1), options);
  EXPECT_EQ(body["name"], InstanceName(Entry(1), 0));
  EXPECT_EQ(body["machineType"],
            "projects/my-project/zones/us-central1-a/machineTypes/g2-standard-4");
  const json scheduling = body["scheduling"];
  EXPECT_EQ(scheduling["provisioningModel"], "SPOT");
  EXPECT_EQ(scheduling["instanceTerminationAction"], "DELETE");
  EXPECT_EQ(scheduling["onHostMaintenance"], "TERMINATE");
  EXPECT_EQ(scheduling["preemptionNoticeDuration"]["seconds"], "120");
  EXPECT_EQ(scheduling["terminationTime"], "2026-12-01T10:05:00.000Z");
  EXPECT_EQ(body["disks"][0]["autoDelete"], true);
  EXPECT_EQ(body["labels"][kTokenLabel], std::string(32, 'a'));
  EXPECT_EQ(body["labels"][kTokenRestLabel], std::string(32, 'a'));
  EXPECT_EQ(body["labels"][kLaunchesLabel], "7");
  EXPECT_EQ(body["labels"][kExpiresLabel],
            std::to_string(ParseRfc3339("2026-11-25T10:05:00Z")->ms / 1000));
  const json plain = Body(Entry(1), options, {0, false});
  EXPECT_FALSE(plain["scheduling"].contains("preemptionNoticeDuration"));
  EXPECT_EQ(plain.dump().find(kNoticeKey), std::string::npos);
}

TEST(GceRequest, OneThatIsWantedAgainIsStoppedWhereItIsTaken) {
  Options options;
  options.restart = true;
  EXPECT_EQ(*ParseOptions(EncodeOptions(options)), options);
  LaunchRequest request = Entry(1);
  const json spot = Body(request, options);
  EXPECT_EQ(spot["scheduling"]["instanceTerminationAction"], "STOP");
  EXPECT_NE(spot.dump().find(kRestartKey), std::string::npos);
  request.ask.market = kStandard;
  // Nothing stops it but its time.
  EXPECT_EQ(Body(request, options)["scheduling"]["instanceTerminationAction"], "DELETE");
}

TEST(GceRequest, SeveralAreAllOrNone) {
  LaunchRequest request = Entry(3);
  request.ask.market = kStandard;
  const json body = Body(request, {});
  EXPECT_EQ(body["count"], "3");
  EXPECT_EQ(body["minCount"], "3");
  EXPECT_EQ(body["perInstanceProperties"].size(), 3U);
  EXPECT_TRUE(body["perInstanceProperties"].contains(InstanceName(request, 2)));
  const json properties = body["instanceProperties"];
  EXPECT_EQ(properties["machineType"], "g2-standard-4");
  EXPECT_EQ(properties["scheduling"]["onHostMaintenance"], "MIGRATE");
  EXPECT_EQ(properties["labels"][kLaunchesLabel], "7-9");
  EXPECT_EQ(LaunchMethod(request), "instances/bulkInsert");
}

TEST(GceRequest, NearEachOtherByAPolicyOfTheJobInThatZone) {
  Options options;
  options.placement = kCluster;
  EXPECT_EQ(*ParseOptions(EncodeOptions(options)), options);
  LaunchRequest request = Entry(1);
  request.ask.market = kStandard;
  const Policy policy = PolicyOf(request);
  EXPECT_EQ(policy.name.substr(0, 16), "stoker-abcd1234-");
  EXPECT_LE(policy.name.size(), InstanceName(request, 0).size());
  EXPECT_FALSE(IsInstanceName(policy.name));
  const json one = Body(request, options);
  EXPECT_EQ(one["resourcePolicies"],
            json({PoliciesPath("my-project", "us-central1") + "/" + policy.name}));
  EXPECT_EQ(one["scheduling"]["onHostMaintenance"], "TERMINATE");
  // A node that is replaced comes by another request, and has the same policy; elsewhere another.
  LaunchRequest bulk = Entry(3);
  bulk.token = std::string(64, 'b');
  EXPECT_EQ(Body(bulk, options)["instanceProperties"]["resourcePolicies"], json({policy.name}));
  bulk.ask.place.zone = "us-central1-b";
  EXPECT_NE(PolicyOf(bulk).name, policy.name);
  EXPECT_FALSE(Body(request, {}).contains("resourcePolicies"));
  const json made = json::parse(PolicyBody(policy));
  EXPECT_EQ(made["groupPlacementPolicy"], json({{"collocation", "COLLOCATED"}}));
  const auto own = OwnPolicy("us-central1", made["name"], made["description"]);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->ledger_id, "ledger1");
  EXPECT_EQ(own->job, "abcd1234");
  EXPECT_EQ(own->zone, "us-central1-a");
  EXPECT_FALSE(OwnPolicy("us-central1", "stoker-abcd1234-0123456789abcdef-n", made["description"]));
  for (const char* bad : {"", "[]", "{", "{\"stoker-ledger\":1}"}) {
    EXPECT_FALSE(OwnPolicy("us-central1", policy.name, bad)) << bad;
  }
}

// Anybody in the project may write a description, and a name that follows from it.
TEST(GceRequest, APolicyIsOursOnlyWhereItWouldBe) {
  for (const char* zone : {"us-central1-b", "europe-west4-a", "us-central1", "", "us-central1/x-a",
                           "../x-a", "us-central1-a HTTP/1.1\r\nX: y-a"}) {
    LaunchRequest request = Entry(1);
    request.ask.place.zone = zone;
    const json made = json::parse(PolicyBody(PolicyOf(request)));
    const auto own = OwnPolicy("us-central1", made["name"], made["description"]);
    EXPECT_EQ(own.has_value(), zone == std::string("us-central1-b")) << zone;
  }
  LaunchRequest request = Entry(1);
  request.job = "../j";
  const json made = json::parse(PolicyBody(PolicyOf(request)));
  EXPECT_FALSE(OwnPolicy("us-central1", made["name"], made["description"]));
}

TEST(GceRequest, AVmHasAllItsPolicies) {
  const std::string at = "https://www.googleapis.com/compute/v1/projects/p/regions/r/";
  const json vm = {{"name", "stoker-j-0123456789abcdef-0"},
                   {"resourcePolicies", {at + "resourcePolicies/nightly", 1, at + "x/ours-n"}}};
  EXPECT_EQ(ParseInstance(vm.dump(), WallTime{})->policies,
            (std::vector<std::string>{"nightly", "ours-n"}));
}

TEST(GceRequest, WhichTypesTakeAPolicy) {
  for (const char* type : {"c2-standard-8", "a2-highgpu-1g", "n2-standard-2", "z9-new-2"}) {
    EXPECT_TRUE(TakesPlacement(type)) << type;
  }
  for (const char* type : {"e2-standard-2", "n1-standard-1", "t2a-standard-4", "g1-small"}) {
    EXPECT_FALSE(TakesPlacement(type)) << type;
  }
}

TEST(GceRequest, WhatCannotBeSentIsRefused) {
  for (const char* token : {"", "../x", "A", "a b"}) {
    LaunchRequest request = Entry(1);
    request.token = token;
    EXPECT_EQ(LaunchBody(request, {}, "", {}).status().code(), Code::kInvalid) << token;
  }
  LaunchRequest request = Entry(1);
  request.job = std::string(60, 'x');
  EXPECT_EQ(LaunchBody(request, {}, "", {}).status().code(), Code::kInvalid);
  Options options;
  options.labels = {{"stoker-job", "x"}};
  EXPECT_EQ(LaunchBody(Entry(1), options, "", {}).status().code(), Code::kInvalid);
  EXPECT_EQ(InstancesFilter("a\" OR name = \"b", "").status().code(), Code::kInvalid);
}

TEST(GceRequest, OptionsComeBack) {
  Options options;
  options.network = "projects/p/global/networks/default";
  options.service_account = "s@p.iam.gserviceaccount.com";
  options.accelerator = "nvidia-tesla-t4";
  options.accelerators = 2;
  options.labels = {{"team", "vision"}};
  options.blob_period = 1373;
  EXPECT_EQ(*ParseOptions(EncodeOptions(options)), options);
  options.external_ip = false;
  EXPECT_EQ(*ParseOptions(EncodeOptions(options)), options);
  EXPECT_EQ(ParseOptions("[]").status().code(), Code::kInvalid);
}

TEST(GceBoot, TheStoreMustBeGoogles) {
  LaunchRequest request = Entry(1);
  EXPECT_NE(StartupScript(request, {})->find("/storage/v1/b/bucket/o/prefix%2Fblobs%2F"),
            std::string::npos);
  request.store_url = "s3://bucket";
  EXPECT_EQ(StartupScript(request, {}).status().code(), Code::kInvalid);
  request.store_url = "gs://bucket/a\nEND_OF_FILE";
  EXPECT_EQ(StartupScript(request, {}).status().code(), Code::kInvalid);
}

TEST(GceAnswer, InstancesOfAllZones) {
  const auto page = ParseInstances(
      R"({"items":{"zones/z-a":{"instances":[{"name":"stoker-j-0123456789abcdef-1",
        "zone":"https://x/zones/z-a","status":"RUNNING","labels":{"stoker-ledger":"l",
        "stoker-job":"j","stoker-request":"aa","stoker-request-rest":"bb",
        "stoker-launches":"3-4","stoker-expires":"1790000000"},
        "lastStartTimestamp":"2026-11-24T02:00:00-08:00",
        "networkInterfaces":[{"networkIP":"10.0.0.2"}]}]},
        "zones/z-b":{"warning":{"code":"NO_RESULTS_ON_PAGE"}},
        "zones/z-c":{"warning":{"code":"UNREACHABLE"}}},
        "unreachables":["zones/z-d"],"nextPageToken":"next"})",
      *ParseRfc3339("2026-11-24T10:01:00Z"));
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->instances.size(), 1U);
  const InstanceSeen& seen = page->instances[0].seen;
  EXPECT_EQ(seen.token, "aabb");
  EXPECT_EQ(seen.index, 1);
  EXPECT_EQ(seen.launch, 4);
  EXPECT_EQ(seen.state, InstanceState::kRunning);
  EXPECT_EQ(seen.address, "10.0.0.2");
  EXPECT_EQ(*seen.up_for, Duration::Minutes(1));
  EXPECT_EQ(seen.expires.ms, 1'790'000'000'000);
  EXPECT_EQ(page->silent, (std::vector<std::string>{"z-d", "z-c"}));
  EXPECT_EQ(page->next, "next");
  EXPECT_EQ(ParseInstances("[]", {}).status().code(), Code::kCorrupt);
}

TEST(DiskType, IsOneThatTheFamilyTakes) {
  for (const char* type : {"n1-standard-4", "e2-micro", "g2-standard-8", "a2-highgpu-1g", "h3-x-1",
                           "a3-highgpu-8g", "c3-standard-4"}) {
    EXPECT_STREQ(DiskTypeFor(type), "pd-balanced") << type;
  }
  for (const char* type : {"n4-standard-4", "c4-highmem-8", "c4a-standard-4", "a3-ultragpu-8g",
                           "a4-highgpu-8g", "x4-megamem-960-metal"}) {
    EXPECT_STREQ(DiskTypeFor(type), "hyperdisk-balanced") << type;
  }
}

}  // namespace
}  // namespace stoker::gce
