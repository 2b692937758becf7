// SPDX-License-Identifier: Apache-2.0
// What is sent and what answers mean, without a service; test/vault has them against services.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>

#include "vault/aws_secrets.h"
#include "vault/google_secrets.h"
#include "vault/open.h"
#include "vault/parameter_store.h"

namespace stoker::vault {
namespace {

const SecretKey kKey{"ledger1", "job1", "HF_TOKEN"};
const WallTime kLater{1'800'000'000'000};

struct Service {
  std::deque<HttpResponse> answers;
  std::vector<HttpRequest> asked;

  Result<HttpResponse> Take(const HttpRequest& request) {
    asked.push_back(request);
    HttpResponse answer = answers.empty() ? HttpResponse{200, {}, "{}"} : answers.front();
    if (!answers.empty()) answers.pop_front();
    return answer;
  }
  std::shared_ptr<ec2::AwsApi> Aws() {
    ec2::AwsApiOptions options;
    options.credentials = [] {
      return Result<AwsCredentials>({"AKIA1", "key", "", std::nullopt, "test"});
    };
    options.url = [](const std::string& service, const std::string& region) {
      return Result<std::string>("http://" + service + "." + region + ".test");
    };
    options.now = [] { return WallTime{1'764'000'000'000}; };
    options.retry = {2, Duration::Ms(1), Duration::Ms(1)};
    options.http = [this](const HttpUrl&, const HttpRequest& request) { return Take(request); };
    return std::make_shared<ec2::AwsApi>(std::move(options));
  }
  std::unique_ptr<Vault> Google() {
    GoogleSecretsOptions options;
    options.project = "p";
    options.base = "http://google.test";
    options.token = [] { return Result<GoogleToken>(GoogleToken{"token", {}, "", "test", ""}); };
    options.http = [this](const HttpUrl&, const HttpRequest& request) { return Take(request); };
    options.retry = {2, Duration::Ms(1), Duration::Ms(1)};
    return MakeGoogleSecrets(std::move(options));
  }
};

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Vault, AnArnNamesItsOwnRegion) {
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"}) unsetenv(name);
  setenv("AWS_CONFIG_FILE", "/dev/null", 1);
  const std::string arn = "arn:aws:ssm:eu-west-1:1:parameter/x";
  EXPECT_TRUE(OpenVaultOf({"ssm", arn, ""}, Place{"", "", "", ""}).ok());
  const auto none = OpenVaultOf({"ssm", "/team/hf", ""}, Place{"", "", "", ""});
  EXPECT_TRUE(none.status().Is(Code::kInvalid)) << none.status().ToString();
  EXPECT_TRUE(Has(none.status().ToString(), "Set AWS_REGION"));
  EXPECT_TRUE(OpenVaultOf({"ssm", "/team/hf", ""}, Place{"", "", "us-east-1", ""}).ok());
}

TEST(Vault, AParameterIsPutWithItsTagsAndThenOver) {
  Service ssm;
  ssm.answers = {{400, {}, R"({"__type":"ParameterAlreadyExists"})"}, {200, {}, "{}"}};
  const auto vault = MakeParameterStore(ssm.Aws(), "us-east-1");
  ASSERT_TRUE(vault->Put(kKey, "v", kLater).ok());
  ASSERT_EQ(ssm.asked.size(), 2u);
  EXPECT_TRUE(Has(ssm.asked[0].body, R"("Name":"/stoker/ledger1/job1/HF_TOKEN")"));
  EXPECT_TRUE(Has(ssm.asked[0].body, R"("Type":"SecureString")"));
  EXPECT_TRUE(Has(ssm.asked[0].body, R"({"Key":"stoker-job","Value":"job1"})"));
  EXPECT_TRUE(Has(ssm.asked[0].body, "stoker-expires"));
  EXPECT_TRUE(Has(ssm.asked[1].body, R"("Overwrite":true)"));
  EXPECT_FALSE(Has(ssm.asked[1].body, "Tags")) << "they cannot be given with it";
}

TEST(Vault, WhatIsTooLargeIsRefusedByName) {
  Service ssm;
  const auto vault = MakeParameterStore(ssm.Aws(), "us-east-1");
  ASSERT_TRUE(vault->Put(kKey, std::string(5000, 'v'), kLater).ok());
  EXPECT_TRUE(Has(ssm.asked[0].body, R"("Tier":"Advanced")"));
  EXPECT_TRUE(Has(ssm.asked[0].body, "Expiration"));
  const Status refused = vault->Put(kKey, std::string(8193, 'v'), kLater);
  EXPECT_TRUE(refused.Is(Code::kNoSpace));
  EXPECT_TRUE(Has(refused.ToString(), "HF_TOKEN: aws-secret:"));
  EXPECT_TRUE(Service().Google()->Put(kKey, std::string(65537, 'v'), kLater).Is(Code::kNoSpace));
}

// JSON has no other text; Google's value is base64.
TEST(Vault, WhatIsNoUtf8IsRefusedByName) {
  Service ssm;
  const Status refused = MakeParameterStore(ssm.Aws(), "us-east-1")->Put(kKey, "a\xff", kLater);
  EXPECT_TRUE(refused.Is(Code::kInvalid)) << refused.ToString();
  EXPECT_TRUE(Has(refused.ToString(), "HF_TOKEN is no UTF-8 text"));
  EXPECT_TRUE(Has(refused.ToString(), "base64"));
  EXPECT_TRUE(ssm.asked.empty());
  EXPECT_TRUE(Service().Google()->Put(kKey, "a\xff", kLater).ok());
}

TEST(Vault, ARightThatLacksIsNamed) {
  Service ssm;
  ssm.answers = {{400,
                  {},
                  R"({"__type":"AccessDeniedException","message":"User: arn:x is not authorized )"
                  R"(to perform: kms:Decrypt on resource: arn:aws:kms:k because no policy"})"}};
  const auto read = MakeParameterStore(ssm.Aws(), "us-east-1")->Read({"ssm", "/team/hf", ""});
  ASSERT_TRUE(read.status().Is(Code::kDenied));
  EXPECT_TRUE(Has(read.status().message(), "/team/hf in us-east-1"));
  EXPECT_TRUE(Has(read.status().message(), "no right kms:Decrypt on arn:aws:kms:k"));
  Service google;
  google.answers = {{403,
                     {},
                     R"({"error":{"status":"PERMISSION_DENIED","message":"Permission )"
                     R"('secretmanager.versions.access' denied"}})"}};
  const auto there = google.Google()->Read({"gcp-secret", "projects/p/secrets/s", ""});
  ASSERT_TRUE(there.status().Is(Code::kDenied));
  EXPECT_TRUE(Has(there.status().message(), "secretmanager.versions.access"));
}

// A service may repeat what it refuses.
TEST(Vault, NoRefusalHasTheValue) {
  Service ssm;
  const std::string said = R"({"__type":"ValidationException","message":"Value 'hunter2' at v"})";
  ssm.answers = {{400, {}, said}};
  const Status refused = MakeParameterStore(ssm.Aws(), "us-east-1")->Put(kKey, "hunter2", kLater);
  ASSERT_FALSE(refused.ok());
  EXPECT_FALSE(Has(refused.ToString(), "hunter2")) << refused.ToString();
  Service google;
  google.answers = {{200, {}, "{}"}, {400, {}, R"({"error":{"message":"bad aHVudGVyMg=="}})"}};
  const Status there = google.Google()->Put(kKey, "hunter2", kLater);
  ASSERT_FALSE(there.ok());
  EXPECT_FALSE(Has(there.ToString(), "aHVudGVyMg")) << there.ToString();
}

TEST(Vault, GoogleIsReadWithItsChecksum) {
  Service google;
  google.answers = {{200, {}, R"({"payload":{"data":"aHVudGVyMg=="}})"},
                    {200, {}, R"({"payload":{"data":"aHVudGVyMg==","dataCrc32c":"1"}})"},
                    {200, {}, R"({"payload":{"data":"aHVudGVyMg==","dataCrc32c":"1"}})"}};
  const auto vault = google.Google();
  EXPECT_EQ(vault->Read({"gcp-secret", "projects/p/secrets/s", ""}).value_or(""), "hunter2");
  EXPECT_EQ(google.asked[0].target, "/v1/projects/p/secrets/s/versions/latest:access");
  EXPECT_TRUE(vault->Read({"gcp-secret", "projects/p/secrets/s", ""}).status().transient());
}

TEST(Vault, ListsAreOfOneLedger) {
  Service ssm;
  ssm.answers = {
      {200,
       {},
       R"({"Parameters":[{"Name":"/stoker/ledger1/job1/A","LastModifiedDate":1764000000.5}],)"
       R"("NextToken":"n"})"},
      {200, {}, R"({"Parameters":[{"Name":"/stoker/other/job2/A"}]})"}};
  const auto kept = MakeParameterStore(ssm.Aws(), "us-east-1")->List("ledger1");
  ASSERT_TRUE(kept.ok());
  ASSERT_EQ(kept->size(), 1u);
  EXPECT_EQ(kept->front().job, "job1");
  EXPECT_EQ(kept->front().since.ms, 1'764'000'000'500);
  ssm.asked.clear();
  ssm.answers = {{200, {}, R"({"Parameters":[],"NextToken":""})"}};
  EXPECT_TRUE(MakeParameterStore(ssm.Aws(), "us-east-1")->List("ledger1").ok());
  EXPECT_EQ(ssm.asked.size(), 1u) << "an empty token is the last page's";
  Service gone;
  gone.answers = {{400, {}, R"({"__type":"ParameterNotFound"})"}};
  EXPECT_TRUE(MakeParameterStore(gone.Aws(), "us-east-1")->Remove("/stoker/l/j/A").ok());
}

TEST(Vault, AMemberOfJson) {
  EXPECT_EQ(MemberOf(R"({"user":"ada","n":3})", "user").value_or(""), "ada");
  EXPECT_EQ(MemberOf(R"({"user":"ada","n":3})", "n").value_or(""), "3");
  EXPECT_FALSE(MemberOf("hunter2", "user").ok());
  EXPECT_FALSE(Has(MemberOf("hunter2", "user").status().ToString(), "hunter2"));
  Service manager;
  manager.answers = {{200, {}, R"({"SecretString":"{\"a\":\"b\"}"})"}};
  const auto read = MakeAwsSecrets(manager.Aws(), "us-east-1")
                        ->Read({"aws-secret", "arn:aws:secretsmanager:eu-west-1:1:secret:x", "a"});
  EXPECT_EQ(read.value_or(""), R"({"a":"b"})");
}

}  // namespace
}  // namespace stoker::vault
