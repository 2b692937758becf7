// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/away/run_parts.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "provider/gce/away/gce_asked.h"
#include "provider/gce/away/run_taking.h"
#include "provider/gce/gce_options.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

const gce::RunNames kNames("l1", "p", "us-central1");

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Bound OfRegions(std::vector<std::string> regions) {
  Bound bound;
  bound.regions = std::move(regions);
  bound.types = {"e2-standard-2"};
  return bound;
}

TEST(RunRoles, ReachMachinesAndSecretsOfStokersAlone) {
  const auto roles =
      gce::RunRoles(kNames, OfRegions({"us-central1", "us-east1"}), "gs://ours/team/a");
  ASSERT_TRUE(roles.ok());
  const std::string& condition = (*roles)[0].condition;
  EXPECT_TRUE(Has(condition, R"(extract("instances/{name}").startsWith("stoker-"))"));
  EXPECT_TRUE(Has(condition, R"(extract("zones/{zone}/").startsWith("us-east1-"))"));
  EXPECT_TRUE(Has(condition, R"(extract("secrets/{name}").startsWith("stoker-"))"));
  for (const std::string& permission : (*roles)[0].permissions) {
    EXPECT_FALSE(Has(permission, "versions.")) << permission;
    EXPECT_FALSE(StartsWith(permission, "storage.")) << permission;
  }
  EXPECT_EQ((*roles)[1].condition,
            R"(resource.name == "projects/_/buckets/ours" || )"
            R"(resource.name.startsWith("projects/_/buckets/ours/objects/team/a/"))");
  EXPECT_TRUE(Has(gce::RunRoles(kNames, OfRegions({"r"}), "gs://ours")->at(1).condition,
                  R"(startsWith("projects/_/buckets/ours/objects/"))"));
}

TEST(RunRoles, WhatAConditionCannotSayIsRefused) {
  EXPECT_FALSE(gce::RunRoles(kNames, OfRegions(std::vector<std::string>(9, "r")), "gs://b").ok());
  EXPECT_FALSE(gce::RunRoles(kNames, OfRegions({"a\" || true"}), "gs://b").ok());
  EXPECT_FALSE(gce::RunRoles(kNames, OfRegions({"a"}), "gs://b/\"x").ok());
}

TEST(WithBindings, ChangesThoseOfOneAccountAlone) {
  const std::string before = R"({"etag": "E", "bindings": [
      {"role": "r/a", "members": ["serviceAccount:me@x", "user:you"]},
      {"role": "r/b", "members": ["serviceAccount:me@x"]},
      {"role": "r/c", "members": ["deleted:serviceAccount:me@x?uid=1", "serviceAccount:me@xy"]}]})";
  const auto bound = gce::WithBindings(before, "me@x", {{"r/d", "true"}});
  ASSERT_TRUE(bound.ok());
  const Json told = Json::parse(*bound);
  EXPECT_EQ(told["etag"], "E");
  ASSERT_EQ(told["bindings"].size(), 3U);
  EXPECT_EQ(told["bindings"][0]["members"], Json({"user:you"}));
  EXPECT_EQ(told["bindings"][1]["members"], Json({"serviceAccount:me@xy"}));
  EXPECT_EQ(told["bindings"][2]["condition"]["expression"], "true");
  // Once so, nothing is to be written.
  EXPECT_EQ(*gce::WithBindings(*bound, "me@x", {{"r/d", "true"}}), "");
  EXPECT_EQ(*gce::WithBindings(R"({"etag": "E"})", "me@x", {}), "");
  EXPECT_FALSE(gce::WithBindings("[]", "me@x", {}).ok());
}

TEST(RunParts, OneTaskThatIsNotRepeated) {
  gce::RunMaking making;
  making.ledger = "l1";
  making.project = "p";
  making.region = "us-central1";
  making.image = "h/p/r/stoker@sha256:0";
  making.variables = {{"A", "b"}};
  making.run_base = "https://run.test";
  const Json job = Json::parse(gce::PutRunJob(making).call.body);
  const Json& task = job["template"]["template"];
  EXPECT_EQ(job["template"]["parallelism"], 1);
  EXPECT_EQ(task["maxRetries"], 0);
  EXPECT_EQ(task["containers"][0]["env"][0]["value"], "b");
  EXPECT_EQ(task["serviceAccount"], "stoker-away-l1@p.iam.gserviceaccount.com");
  const Json schedule = Json::parse(gce::MakeSchedule(making).call.body);
  EXPECT_EQ(schedule["httpTarget"]["uri"],
            "https://run.test/v2/projects/p/locations/us-central1/jobs/stoker-away-l1:run");
}

Ask Small() {
  gce::Options options;
  options.service_account = "n@p";
  options.disk_gib = 20;
  Ask ask;
  // As a record that somebody has changed may say.
  ask.place = {"gce", "p", "us-central1", "us-east1-b"};
  ask.type = "n1-standard-4";
  ask.options = gce::EncodeOptions(options);
  return ask;
}

TEST(AskedOfGce, GoesByTheZoneAndByAllThatIsAttached) {
  Ask ask = Small();
  const auto asked = AskedOfGce(ask, {"p.us-east1-b"});
  ASSERT_TRUE(asked.ok());
  EXPECT_EQ(asked->region, "us-east1");
  EXPECT_EQ(asked->type, "n1-standard-4");
  EXPECT_EQ(asked->disk_gib, 20);
  EXPECT_EQ(asked->identity, "n@p");
  gce::Options options = *gce::ParseOptions(ask.options);
  options.accelerator = "nvidia-tesla-t4";
  options.accelerators = 4;
  ask.options = gce::EncodeOptions(options);
  EXPECT_EQ(AskedOfGce(ask, {"p.us-east1-b"})->type, "n1-standard-4/nvidia-tesla-t4:4");
}

TEST(AskedOfGce, ADiskAsLargeAsAnyImageIsRefused) {
  Ask ask = Small();
  gce::Options options = *gce::ParseOptions(ask.options);
  options.disk_gib = 0;
  ask.options = gce::EncodeOptions(options);
  EXPECT_FALSE(AskedOfGce(ask, {"p.us-east1-b"}).ok());
}

TEST(AskedOfGce, ARegionIsThatOfAZoneAndItself) {
  EXPECT_EQ(RegionOf("us-central1-a"), "us-central1");
  EXPECT_EQ(RegionOf("us-central1"), "us-central1");
  EXPECT_EQ(RegionOf(""), "");
}

TEST(AccountPolicy, IsAskedInTheProjectThatAnEmailNames) {
  const auto path = [](const char* email) { return gce::AccountPolicy(email).get.call.path; };
  EXPECT_TRUE(Has(path("n@p-1.iam.gserviceaccount.com"), "/projects/p-1/serviceAccounts/n@p-1."));
  EXPECT_TRUE(Has(path("1-compute@developer.gserviceaccount.com"), "/projects/-/"));
  EXPECT_TRUE(Has(path("n@p.example.com.iam.gserviceaccount.com"), "/projects/-/"));
  EXPECT_TRUE(Has(path("n@.iam.gserviceaccount.com"), "/projects/-/"));
}

TEST(AskedOfGce, OtherPlacesAreRefused) {
  EXPECT_FALSE(AskedOfGce(Small(), {"p.us-central1-a", "q.us-east1-b"}).ok());
  Ask ask = Small();
  ask.place.provider = "ec2";
  EXPECT_FALSE(AskedOfGce(ask, {"p.us-east1-b"}).ok());
  ask = Small();
  ask.options = "what?";
  EXPECT_FALSE(AskedOfGce(ask, {"p.us-east1-b"}).ok());
}

// Services that have what `held` names by the ends of paths, and those that do not answer.
struct Services {
  std::set<std::string> held, silent;
  std::vector<std::string> ended;
  int refuses = 0;  // a status, of all
  int pauses = 0;

  Result<HttpResponse> Send(const HttpUrl& url, const HttpRequest& request) {
    if (refuses != 0) {
      const Json error = {{"code", refuses},
                          {"message", "a@p.iam.gserviceaccount.com: (or it may not exist)"}};
      return HttpResponse{refuses, {}, Json({{"error", error}}).dump()};
    }
    if (silent.contains(url.host)) return Status(Code::kUnavailable, "silent");
    if (Has(request.target, "IamPolicy")) return HttpResponse{200, {}, "{}"};
    const std::string thing = url.host + request.target;
    if (request.method == "DELETE") ended.push_back(url.host);
    if (!held.contains(thing)) return HttpResponse{404, {}, R"({"error": {"code": 404}})"};
    if (request.method == "DELETE") held.erase(thing);
    return HttpResponse{200, {}, "{}"};
  }
  AwayTaken Take(const gce::RunTaking& taking) {
    gce::ServiceAsker asker = Asker();
    return gce::TakeAway(asker, taking);
  }
  gce::ServiceAsker Asker() {
    return gce::ServiceAsker(
        [this](const std::string& service) -> Result<std::shared_ptr<gce::ComputeApi>> {
          gce::ComputeApiOptions options;
          options.token = [] { return Result<GoogleToken>(GoogleToken{}); };
          options.base = "http://" + service;
          options.now = [] { return WallTime{1'700'000'000'000}; };
          options.retry.first = options.retry.longest = Duration::Ms(1);
          options.http = [this](const HttpUrl& url, const HttpRequest& request) {
            return Send(url, request);
          };
          return std::make_shared<gce::ComputeApi>(std::move(options));
        },
        [this] { ++pauses; });
  }
};

constexpr char kRunJob[] = "run/v2/projects/p/locations/us-central1/jobs/stoker-away-l1";
constexpr char kSchedule[] =
    "cloudscheduler/v1/projects/p/locations/us-central1/jobs/stoker-away-l1";

// Google says the same of an account that is not known everywhere yet.
TEST(ServiceAsker, ARightThatLacksIsSaidWithinHalfAMinute) {
  Services services;
  gce::ServiceAsker asker = services.Asker();
  services.refuses = 403;
  EXPECT_FALSE(asker.Do(gce::GetRunJob(kNames)).ok());
  EXPECT_EQ(services.pauses, 9);
  services.pauses = 0;
  services.refuses = 400;
  EXPECT_FALSE(asker.Do(gce::GetRunJob(kNames)).ok());
  EXPECT_EQ(services.pauses, 39);
}

TEST(TakeAwayOfRun, WhatStartsItGoesFirstAndTheJobLast) {
  Services services;
  services.held = {kRunJob, kSchedule};
  gce::RunTaking taking;
  taking.ledger = "l1";
  taking.places = {{"p", "us-central1"}};
  const AwayTaken taken = services.Take(taking);
  EXPECT_TRUE(taken.left.ok()) << taken.left.ToString();
  EXPECT_EQ(taken.taken.size(), 2U);
  EXPECT_EQ(services.ended.front(), "cloudscheduler");
  EXPECT_EQ(services.ended.back(), "run");
  EXPECT_TRUE(services.Take(taking).taken.empty());
}

TEST(TakeAwayOfRun, WhereNoJobIsASchedulerThatDoesNotAnswerHasNothing) {
  Services services;
  services.silent = {"cloudscheduler"};
  gce::RunTaking taking;
  taking.ledger = "l1";
  taking.places = {{"p", "us-central1"}};
  EXPECT_TRUE(services.Take(taking).left.ok());
  services.held = {kRunJob};
  const AwayTaken taken = services.Take(taking);
  EXPECT_FALSE(taken.left.ok());
  EXPECT_TRUE(services.held.contains(kRunJob)) << "by it the schedule is found again";
}

TEST(TakeAwayOfRun, AJobThatCannotBeReadStays) {
  Services services;
  services.held = {kRunJob, kSchedule};
  services.silent = {"run"};
  gce::RunTaking taking;
  taking.ledger = "l1";
  taking.places = {{"p", "us-central1"}};
  EXPECT_FALSE(services.Take(taking).left.ok());
  EXPECT_EQ(services.held, std::set<std::string>{kRunJob});
}

TEST(TakeAwayOfRun, AServiceThatDoesNotAnswerHidesNothingOfTheOthers) {
  Services services;
  services.held = {kRunJob, kSchedule};
  services.silent = {"artifactregistry"};
  gce::RunTaking taking;
  taking.ledger = "l1";
  taking.places = {{"p", "us-central1"}};
  const AwayTaken taken = services.Take(taking);
  EXPECT_TRUE(services.held.empty());
  ASSERT_FALSE(taken.left.ok());
  EXPECT_TRUE(Has(taken.left.message(), "not known")) << taken.left.message();
}

}  // namespace
}  // namespace stoker
