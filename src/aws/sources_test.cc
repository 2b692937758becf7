// SPDX-License-Identifier: Apache-2.0
#include "aws/sources.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "test/kit/aws_environment.h"

namespace stoker {
namespace {

constexpr char kSts[] = "POST https://sts.us-east-1.amazonaws.com /";
constexpr char kImds[] = "http://169.254.169.254";
constexpr char kRoles[] = "/latest/meta-data/iam/security-credentials/";

// No error and no note about a source may show these.
bool Hushed(const std::string& text) {
  return text.find("hush") == std::string::npos && text.find("SECRET") == std::string::npos;
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void GiveInstanceRole(FakeAws* aws) {
  const std::string base = kImds;
  aws->answers["PUT " + base + " /latest/api/token"] = {200, {}, "TOKEN"};
  aws->answers["GET " + base + " " + kRoles] = {200, {}, "trainer\n"};
  aws->answers["GET " + base + " " + kRoles + "trainer"] = {200, {}, JsonAnswer("IMDS")};
}

TEST(Variables, NeedBothKeys) {
  FakeAws aws;
  aws.variables["AWS_ACCESS_KEY_ID"] = "A";
  EXPECT_TRUE(Has(aws.Key(), "AWS_SECRET_ACCESS_KEY is not"));
  aws.variables["AWS_SECRET_ACCESS_KEY"] = "hush";
  aws.variables["AWS_SESSION_TOKEN"] = "T";
  aws.variables["AWS_CREDENTIAL_EXPIRATION"] = "2026-01-01T00:30:00Z";
  const auto found = aws.Search();
  ASSERT_TRUE(found.ok() && *found);
  EXPECT_EQ((*found)->secret_key, "hush");
  EXPECT_EQ((*found)->session_token, "T");
  EXPECT_EQ(*(*found)->expires, aws.now + Duration::Minutes(30));
  EXPECT_TRUE(Hushed((*found)->source));
  aws.variables["AWS_CREDENTIAL_EXPIRATION"] = "soon";
  EXPECT_TRUE(Has(aws.Key(), "AWS_CREDENTIAL_EXPIRATION"));
}

TEST(Files, CredentialsBeforeConfig) {
  FakeAws aws;
  aws.Config(
      "[default]\naws_access_key_id=C\naws_secret_access_key=hush\n"
      "[profile half]\naws_access_key_id=H\n");
  EXPECT_EQ(aws.Key(), "C");
  EXPECT_TRUE(Has(aws.Key("half"), "has not both keys"));
  aws.Keys("[default]\naws_access_key_id=K\naws_secret_access_key=hush\naws_session_token=T\n");
  const auto found = aws.Search();
  ASSERT_TRUE(found.ok() && *found);
  EXPECT_EQ((*found)->access_key, "K");
  EXPECT_EQ((*found)->session_token, "T");
  EXPECT_EQ((*found)->source, "profile 'default' in /home/u/.aws/credentials");
  // A profile that the caller names counts more than keys in variables; one that a variable names
  // does not.
  aws.variables = {{"AWS_ACCESS_KEY_ID", "E"}, {"AWS_SECRET_ACCESS_KEY", "hush"}};
  EXPECT_EQ(aws.Key(), "E");
  EXPECT_EQ(aws.Key("default"), "K");
}

TEST(Process, GivesJsonOfVersionOne) {
  FakeAws aws;
  aws.Config("[default]\ncredential_process = /bin/give 'a b'\n");
  EXPECT_TRUE(Has(aws.Key(), "credential_process of profile 'default'"));
  AwsProcessOutput& out = aws.programs["/bin/give a b"];
  out.out = R"({"Version":1,"AccessKeyId":"P","SecretAccessKey":"hush"})";
  const auto found = aws.Search();
  ASSERT_TRUE(found.ok() && *found);
  EXPECT_EQ((*found)->access_key, "P");
  EXPECT_FALSE((*found)->expires);
  out.out = R"({"Version":1,"AccessKeyId":"P","SecretAccessKey":"hush","SessionToken":"T",
                "Expiration":"2026-01-01T01:00:00+00:00"})";
  EXPECT_EQ(*(**aws.Search()).expires, aws.now + Duration::Hours(1));
  for (const char* bad : {"", "SECRET", "[]", R"({"Version":2,"AccessKeyId":"hush"})",
                          R"({"Version":1,"SecretAccessKey":"hush"})",
                          R"({"Version":1,"AccessKeyId":"P","SecretAccessKey":7})",
                          R"({"Version":1,"AccessKeyId":"P","SecretAccessKey":"hush",
                              "Expiration":"hush"})"}) {
    out.out = bad;
    EXPECT_EQ(aws.Search().code(), Code::kCorrupt) << bad;
    EXPECT_TRUE(Hushed(aws.Key())) << aws.Key();
  }
  out = {3, "SECRET", "hush"};
  EXPECT_TRUE(Has(aws.Key(), "exit code 3"));
  EXPECT_TRUE(Hushed(aws.Key()));
  aws.Config("[default]\ncredential_process = /bin/give 'a b\n");
  EXPECT_EQ(aws.Search().code(), Code::kInvalid);
}

TEST(WebIdentity, IsSentUnsigned) {
  FakeAws aws;
  aws.variables = {{"AWS_WEB_IDENTITY_TOKEN_FILE", "/t"}};
  EXPECT_TRUE(Has(aws.Key(), "no role to assume"));
  aws.variables["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/r";
  aws.variables["AWS_ROLE_SESSION_NAME"] = "me";
  EXPECT_TRUE(Has(aws.Key(), "/t: not there"));
  aws.files["/t"] = "SECRET+token";
  EXPECT_EQ(aws.Search().code(), Code::kUnavailable);
  aws.answers[kSts] = {200, {}, StsAnswer("AssumeRoleWithWebIdentity", "W")};
  const auto found = aws.Search();
  ASSERT_TRUE(found.ok() && *found) << found.status().ToString();
  EXPECT_EQ((*found)->access_key, "W");
  EXPECT_EQ((*found)->secret_key, "s&s");
  EXPECT_EQ((*found)->session_token, "t/+=");
  EXPECT_EQ(*(*found)->expires, aws.now + Duration::Hours(1));
  EXPECT_TRUE(Hushed((*found)->source));
  const HttpRequest& request = aws.asked.back().second;
  EXPECT_EQ(request.body,
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3A"
            "role%2Fr&RoleSessionName=me&WebIdentityToken=SECRET%2Btoken");
  EXPECT_EQ(FindHeader(request.headers, "Authorization"), nullptr);
  // The same in a profile, which needs no variable.
  aws.variables = {{"AWS_REGION", "eu-west-1"}};
  aws.Config("[default]\nweb_identity_token_file=/t\nrole_arn=arn:x\n");
  aws.answers["POST https://sts.eu-west-1.amazonaws.com /"] = {
      200, {}, StsAnswer("AssumeRoleWithWebIdentity", "V")};
  EXPECT_EQ(aws.Key(), "V");
}

TEST(Role, IsAssumedWithItsSourceProfile) {
  FakeAws aws;
  aws.Config(
      "[default]\nrole_arn=arn:top\nsource_profile=mid\nexternal_id=x/1\n"
      "duration_seconds=900\nregion=cn-north-1\n"
      "[profile mid]\nrole_arn=arn:mid\nsource_profile=user\n");
  aws.Keys("[user]\naws_access_key_id=U\naws_secret_access_key=hush\n");
  const std::string sts = "POST https://sts.cn-north-1.amazonaws.com.cn /";
  aws.answers[sts] = {200, {}, StsAnswer("AssumeRole", "R")};
  const auto found = aws.Search();
  ASSERT_TRUE(found.ok() && *found) << found.status().ToString();
  EXPECT_EQ((*found)->access_key, "R");
  ASSERT_EQ(aws.asked.size(), 2u);
  const auto authorization = [&](int i) {
    return *FindHeader(aws.asked[i].second.headers, "Authorization");
  };
  EXPECT_TRUE(Has(aws.asked[0].second.body, "RoleArn=arn%3Amid"));
  EXPECT_TRUE(Has(authorization(0), "Credential=U/20260101/cn-north-1/sts/aws4_request"));
  EXPECT_TRUE(Has(aws.asked[1].second.body, "RoleArn=arn%3Atop"));
  EXPECT_TRUE(Has(aws.asked[1].second.body, "ExternalId=x%2F1&DurationSeconds=900"));
  EXPECT_TRUE(Has(authorization(1), "Credential=R/"));
  EXPECT_EQ(*FindHeader(aws.asked[1].second.headers, "x-amz-security-token"), "t/+=");
  EXPECT_TRUE(Has((*found)->source, "role arn:top of profile 'default'"));
}

TEST(Role, SaysWhatStsSaid) {
  FakeAws aws;
  aws.Config("[default]\nrole_arn=arn:r\nsource_profile=default\n");  // its own keys
  aws.Keys("[default]\naws_access_key_id=U\naws_secret_access_key=hush\n");
  aws.answers[kSts] = {403,
                       {},
                       "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code>"
                       "<Message>not you\x1b[2J</Message></Error></ErrorResponse>"};
  EXPECT_EQ(aws.Search().code(), Code::kDenied);
  EXPECT_TRUE(Has(aws.Key(), "STS answered 403: AccessDenied: not you")) << aws.Key();
  EXPECT_FALSE(Has(aws.Key(), "\x1b"));
  aws.answers[kSts] = {503, {}, "<html>"};
  EXPECT_EQ(aws.Search().code(), Code::kUnavailable);
  const std::string whole = StsAnswer("AssumeRole", "R");
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "<a>";
  for (const std::string& bad :
       {std::string(), std::string("hush"), whole.substr(0, 200), StsAnswer("AssumeRole", ""),
        StsAnswer("Other", "R"), StsAnswer("AssumeRole", "R", "hush"), deep}) {
    aws.answers[kSts] = {200, {}, bad};
    EXPECT_EQ(aws.Search().code(), Code::kCorrupt) << bad.substr(0, 300);
    EXPECT_TRUE(Hushed(aws.Key()));
  }
}

TEST(Role, RefusesWhatCannotWork) {
  FakeAws aws;
  aws.Keys("[user]\naws_access_key_id=U\naws_secret_access_key=hush\n");
  const auto error = [&](const std::string& lines) {
    aws.Config("[default]\nrole_arn=arn:r\n" + lines);
    EXPECT_EQ(aws.Search().code(), Code::kInvalid) << lines;
    return aws.Key();
  };
  EXPECT_TRUE(Has(error(""), "nobody to assume it with"));
  EXPECT_TRUE(Has(error("source_profile=user\ncredential_source=Environment\n"), "has both"));
  EXPECT_TRUE(Has(error("source_profile=gone\n"), "'gone', which is not there"));
  EXPECT_TRUE(Has(error("source_profile=default\n"), "default -> default"));
  EXPECT_TRUE(Has(error("source_profile=b\n[profile b]\nrole_arn=x\nsource_profile=default\n"),
                  "default -> b -> default"));
  EXPECT_TRUE(Has(error("source_profile=b\n[profile b]\nregion=x\n"), "has no credentials"));
  EXPECT_TRUE(Has(error("source_profile=user\nmfa_serial=arn:mfa\n"), "MFA"));
  EXPECT_TRUE(Has(error("credential_source=Moon\n"), "unknown credential_source 'Moon'"));
  EXPECT_TRUE(Has(error("credential_source=Environment\n"), "AWS_ACCESS_KEY_ID is not set"));
  EXPECT_TRUE(Has(error("source_profile=user\nregion=evil.example/\n"), "not an AWS region"));
}

TEST(Role, IsAssumedWithACredentialSource) {
  FakeAws aws;
  aws.answers[kSts] = {200, {}, StsAnswer("AssumeRole", "R")};
  GiveInstanceRole(&aws);
  aws.Config("[default]\nrole_arn=arn:r\ncredential_source=Ec2InstanceMetadata\n");
  EXPECT_EQ(aws.Key(), "R");
  EXPECT_TRUE(
      Has(*FindHeader(aws.asked.back().second.headers, "Authorization"), "Credential=IMDS"));
  aws.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2?id=1";
  aws.answers["GET http://169.254.170.2 /v2?id=1"] = {200, {}, JsonAnswer("ECS")};
  aws.Config("[default]\nrole_arn=arn:r\ncredential_source=EcsContainer\n");
  EXPECT_EQ(aws.Key(), "R");
  EXPECT_TRUE(Has(*FindHeader(aws.asked.back().second.headers, "Authorization"), "Credential=ECS"));
}

TEST(Sso, UsesTheLoginThatIsThere) {
  FakeAws aws;
  const std::string profile = "[default]\nsso_account_id=12\nsso_role_name=Ad min\n";
  aws.Config(profile);
  EXPECT_TRUE(Has(aws.Key(), "has no sso_start_url"));
  aws.Config(profile + "sso_session=corp\n");
  EXPECT_TRUE(Has(aws.Key(), "'corp', which is not there"));
  const std::string session =
      "[sso-session corp]\nsso_region=eu-west-1\nsso_start_url=https://c.awsapps.com/start\n";
  aws.Config(profile + "sso_session=corp\nsso_region=us-east-1\n" + session);
  EXPECT_TRUE(Has(aws.Key(), "disagree about sso_region"));
  aws.Config(profile + "sso_session=corp\n" + session);
  EXPECT_TRUE(Has(aws.Key(), "Run 'aws sso login --profile default'"));
  // sha1("corp")
  std::string& login =
      aws.files["/home/u/.aws/sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json"];
  for (const char* bad : {"hush", "{}", R"({"accessToken":"SECRET","expiresAt":"hush"})",
                          R"({"accessToken":"SECRET","expiresAt":"2025-12-31T23:59:59Z"})"}) {
    login = bad;
    EXPECT_EQ(aws.Search().code(), Code::kDenied);
    EXPECT_TRUE(Hushed(aws.Key())) << aws.Key();
  }
  login = R"({"accessToken":"SECRET","expiresAt":"2026-01-01T08:00:00UTC"})";
  HttpResponse& answer = aws.answers
                             ["GET https://portal.sso.eu-west-1.amazonaws.com "
                              "/federation/credentials?role_name=Ad%20min&account_id=12"];
  answer = {200, {}, R"({"roleCredentials":{"accessKeyId":"S","secretAccessKey":"hush",
                         "sessionToken":"T","expiration":1767229200000}})"};
  const auto found = aws.Search();
  ASSERT_TRUE(found.ok() && *found) << found.status().ToString();
  EXPECT_EQ((*found)->access_key, "S");
  EXPECT_EQ(*(*found)->expires, aws.now + Duration::Hours(1));
  EXPECT_EQ(*FindHeader(aws.asked.back().second.headers, "x-amz-sso_bearer_token"), "SECRET");
  answer.body = R"({"roleCredentials":{"accessKeyId":"S"}})";
  EXPECT_TRUE(Has(aws.Key(), "has no secretAccessKey"));
  answer.body = R"({"roleCredentials":[]})";
  EXPECT_EQ(aws.Search().code(), Code::kCorrupt);
  answer = {401, {}, "hush"};
  EXPECT_EQ(aws.Search().code(), Code::kDenied);
  // The older form has all in the profile, and the cache goes by the start URL.
  aws.Config(profile + "sso_region=eu-west-1\nsso_start_url=corp\n");
  answer = {500, {}, ""};
  EXPECT_EQ(aws.Search().code(), Code::kUnavailable);
}

TEST(Container, IsAskedWhereItMayBe) {
  FakeAws aws;
  aws.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1:99/creds";
  HttpResponse& answer = aws.answers["GET http://127.0.0.1:99 /creds"];
  answer = {200, {}, JsonAnswer("C")};
  EXPECT_EQ(aws.Key(), "C");
  EXPECT_EQ(FindHeader(aws.asked.back().second.headers, "Authorization"), nullptr);
  aws.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "SECRET";
  EXPECT_EQ(aws.Key(), "C");
  EXPECT_EQ(*FindHeader(aws.asked.back().second.headers, "Authorization"), "SECRET");
  aws.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = "/tok";
  EXPECT_EQ(aws.Search().code(), Code::kNotFound);
  aws.files["/tok"] = "SECRET\r\nX: y";
  EXPECT_EQ(aws.Search().code(), Code::kInvalid);
  aws.files["/tok"] = "from-file";
  EXPECT_EQ(aws.Key(), "C");
  EXPECT_EQ(*FindHeader(aws.asked.back().second.headers, "Authorization"), "from-file");
  answer = {200, {}, R"({"AccessKeyId":"C","SecretAccessKey":"hush","Token":"T"})"};
  EXPECT_TRUE(Has(aws.Key(), "has no Expiration"));
  answer = {404, {}, "hush"};
  EXPECT_EQ(aws.Search().code(), Code::kDenied);
  EXPECT_TRUE(Hushed(aws.Key()));
  const size_t before = aws.asked.size();
  for (const char* bad :
       {"http://169.254.169.254/x", "http://example.com/", "http://127.0.0.1.evil.example/",
        "http://127.evil/", "file:///etc/passwd", "http://localhost@evil/"}) {
    aws.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = bad;
    EXPECT_EQ(aws.Search().code(), Code::kInvalid) << bad;
  }
  EXPECT_EQ(aws.asked.size(), before);
  for (const char* good : {"https://example.com/c", "http://localhost/c", "http://[::1]:80/c",
                           "http://[fd00:ec2::23]/v1", "http://169.254.170.23/v1"}) {
    aws.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = good;
    EXPECT_EQ(aws.Search().code(), Code::kUnavailable) << good;
  }
}

TEST(Instance, SpeaksVersionTwo) {
  FakeAws aws;
  EXPECT_EQ(aws.Key(), "none");
  EXPECT_TRUE(Has(aws.tried.back(), "no metadata service"));
  GiveInstanceRole(&aws);
  EXPECT_EQ(aws.Key(), "IMDS");
  EXPECT_EQ(*FindHeader(aws.asked.back().second.headers, "X-aws-ec2-metadata-token"), "TOKEN");
  EXPECT_EQ(*(**aws.Search()).expires, aws.now + Duration::Hours(6));
  // It cannot renew them for now: they count as good for a while.
  const std::string base = kImds;
  HttpResponse& keys = aws.answers["GET " + base + " " + kRoles + "trainer"];
  keys.body = JsonAnswer("OLD", "2025-12-31T23:00:00Z");
  EXPECT_EQ(*(**aws.Search()).expires, aws.now + Duration::Minutes(25));
  keys.body = R"({"Code":"AssumeRoleUnauthorizedAccess","Message":"no"})";
  EXPECT_EQ(aws.Key(), "none");
  EXPECT_TRUE(Has(aws.tried.back(), "AssumeRoleUnauthorizedAccess"));
  keys.body = R"({"Code":"Success"})";
  EXPECT_EQ(aws.Search().code(), Code::kCorrupt);
  aws.answers["GET " + base + " " + kRoles] = {404, {}, ""};
  EXPECT_EQ(aws.Key(), "none");
  EXPECT_TRUE(Has(aws.tried.back(), "the instance has none"));
  aws.answers["PUT " + base + " /latest/api/token"] = {403, {}, ""};
  EXPECT_EQ(aws.Key(), "none");
  aws.variables["AWS_EC2_METADATA_DISABLED"] = "TRUE";
  const size_t before = aws.asked.size();
  EXPECT_EQ(aws.Key(), "none");
  EXPECT_EQ(aws.asked.size(), before);
  aws.variables = {{"AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:5000/"}};
  EXPECT_EQ(aws.Key(), "none");
  EXPECT_EQ(aws.asked.size(), before);
  aws.silent.insert("http://127.0.0.1:5000");
  EXPECT_EQ(aws.Search().code(), Code::kUnavailable);
  EXPECT_EQ(aws.asked.back().first, "http://127.0.0.1:5000");
  EXPECT_EQ(aws.asked.back().second.target, "/latest/api/token");
}

// A service that is there and has a bad moment is not one that has nothing.
TEST(Instance, WhatIsOutOfOrderIsAskedAgainLater) {
  const std::string base = kImds;
  for (const std::string& at : {"PUT " + base + " /latest/api/token", "GET " + base + " " + kRoles,
                                "GET " + base + " " + kRoles + "trainer"}) {
    FakeAws aws;
    GiveInstanceRole(&aws);
    for (const int status : {429, 500, 503}) {
      aws.answers[at] = {status, {}, "hush"};
      EXPECT_EQ(aws.Search().code(), Code::kUnavailable) << at;
      EXPECT_TRUE(Hushed(aws.Key()) && Has(aws.Key(), std::to_string(status))) << at;
    }
    aws.answers.erase(at);
    EXPECT_EQ(aws.Search().code(), Code::kUnavailable) << at;
  }
}

TEST(Everywhere, FollowsBotocoresOrder) {
  FakeAws aws;
  GiveInstanceRole(&aws);
  EXPECT_EQ(aws.Key(), "IMDS");
  aws.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/c";
  aws.answers["GET http://169.254.170.2 /c"] = {200, {}, JsonAnswer("CONTAINER")};
  EXPECT_EQ(aws.Key(), "CONTAINER");
  std::string config = "[default]\naws_access_key_id=CONFIG\naws_secret_access_key=hush\n";
  aws.Config(config);
  EXPECT_EQ(aws.Key(), "CONFIG");
  aws.Config(config += "credential_process=p\n");
  aws.programs["p"] = {0, R"({"Version":1,"AccessKeyId":"PROCESS","SecretAccessKey":"s"})", ""};
  EXPECT_EQ(aws.Key(), "PROCESS");
  aws.Config(config += "login_session=x\n");
  EXPECT_TRUE(Has(aws.Key(), "login_session"));
  aws.Keys("[default]\naws_access_key_id=FILE\naws_secret_access_key=hush\n");
  EXPECT_EQ(aws.Key(), "FILE");
  aws.variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/t";
  aws.variables["AWS_ROLE_ARN"] = "arn:r";
  aws.files["/t"] = "t";
  aws.answers[kSts] = {200, {}, StsAnswer("AssumeRoleWithWebIdentity", "WEB")};
  EXPECT_EQ(aws.Key(), "WEB");
  aws.Config(config += "role_arn=arn:r\nsource_profile=default\n");
  aws.answers[kSts] = {200, {}, StsAnswer("AssumeRole", "ROLE")};
  aws.variables.erase("AWS_WEB_IDENTITY_TOKEN_FILE");
  EXPECT_EQ(aws.Key(), "ROLE");
  aws.variables["AWS_ACCESS_KEY_ID"] = "VARIABLES";
  aws.variables["AWS_SECRET_ACCESS_KEY"] = "hush";
  EXPECT_EQ(aws.Key(), "VARIABLES");
}

}  // namespace
}  // namespace stoker
