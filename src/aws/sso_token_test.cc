// SPDX-License-Identifier: Apache-2.0
// Logins that are renewed. test/aws/credentials_botocore.py compares them with botocore's.
#include "aws/sso_token.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "test/kit/aws_environment.h"

namespace stoker {
namespace {

constexpr char kOidc[] = "POST https://oidc.eu-west-1.amazonaws.com /token";
// SHA-1 of "corp".
constexpr char kCache[] = "/home/u/.aws/sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json";

class SsoToken : public testing::Test {
 protected:
  void SetUp() override {
    aws_.Config(
        "[default]\nsso_session=corp\nsso_account_id=12\nsso_role_name=Admin\n"
        "[sso-session corp]\nsso_region=eu-west-1\nsso_start_url=https://corp\n");
    aws_.answers
        ["GET https://portal.sso.eu-west-1.amazonaws.com "
         "/federation/credentials?role_name=Admin&account_id=12"] = {
        200,
        {},
        R"({"roleCredentials":{"accessKeyId":"S","secretAccessKey":"hush","sessionToken":"T",)"
        R"("expiration":1767229200000}})"};
    Answer(R"({"accessToken":"hush new","expiresIn":3600,"refreshToken":"hush next",)"
           R"("tokenType":"Bearer"})");
    Login("2025-12-31T23:00:00Z");
  }
  void Login(const std::string& until, const std::string& registered = "2026-02-01T00:00:00Z") {
    aws_.files[kCache] =
        R"({"startUrl":"https://corp","region":"eu-west-1","accessToken":"hush old",)"
        R"("clientId":"id","clientSecret":"hush secret","refreshToken":"hush refresh",)"
        R"("expiresAt":")" +
        until + R"(","registrationExpiresAt":")" + registered + "\"}";
  }
  void Answer(const std::string& body, int status = 200) {
    aws_.answers[kOidc] = {status, {}, body};
  }
  // The bearer token that the portal was shown last, or the error.
  std::string Shown() {
    const std::string key = aws_.Key();
    EXPECT_EQ(key.find("hush"), std::string::npos) << key;
    if (key != "S") return key;
    return *FindHeader(aws_.asked.back().second.headers, "x-amz-sso_bearer_token");
  }
  nlohmann::json Cached() { return nlohmann::json::parse(aws_.files[kCache]); }

  FakeAws aws_;
};

TEST_F(SsoToken, IsRenewedAfterItsEnd) {
  EXPECT_EQ(Shown(), "hush new");
  const HttpRequest& asked = aws_.asked.at(0).second;
  EXPECT_EQ(*FindHeader(asked.headers, "Content-Type"), "application/json");
  EXPECT_EQ(nlohmann::json::parse(asked.body), nlohmann::json({{"grantType", "refresh_token"},
                                                               {"clientId", "id"},
                                                               {"clientSecret", "hush secret"},
                                                               {"refreshToken", "hush refresh"}}));
  EXPECT_EQ(Cached(), nlohmann::json({{"startUrl", "https://corp"},
                                      {"region", "eu-west-1"},
                                      {"accessToken", "hush new"},
                                      {"expiresAt", "2026-01-01T01:00:00Z"},
                                      {"clientId", "id"},
                                      {"clientSecret", "hush secret"},
                                      {"registrationExpiresAt", "2026-02-01T00:00:00Z"},
                                      {"refreshToken", "hush next"}}));
  // It lasts now: nobody is asked for another one.
  aws_.answers.erase(kOidc);
  EXPECT_EQ(Shown(), "hush new");
  EXPECT_EQ(aws_.asked.size(), 3u);
}

TEST_F(SsoToken, IsRenewedShortlyBeforeItsEnd) {
  Login("2026-01-01T00:15:00Z");
  EXPECT_EQ(Shown(), "hush old");
  Login("2026-01-01T00:14:59Z");
  EXPECT_EQ(Shown(), "hush new");
  // While it lasts, nothing is lost when that fails.
  for (const int status : {400, 500}) {
    Login("2026-01-01T00:14:59Z");
    Answer(R"({"error":"invalid_grant"})", status);
    EXPECT_EQ(Shown(), "hush old");
  }
  aws_.answers.erase(kOidc);
  EXPECT_EQ(Shown(), "hush old");
}

TEST_F(SsoToken, WhatRefusesItIsTold) {
  Answer(R"({"error":"invalid_grant","error_description":"hush"})", 400);
  EXPECT_NE(Shown().find("the login has expired at 2025-12-31T23:00:00.000Z, and was not renewed: "
                         "AWS answered 400 (invalid_grant). Run 'aws sso login --profile default'"),
            std::string::npos)
      << Shown();
  EXPECT_EQ(aws_.Search().code(), Code::kDenied);
  for (const char* odd :
       {"hush", "{}", R"({"accessToken":"hush"})", R"({"accessToken":"hush","expiresIn":-1})",
        R"({"accessToken":"hush\r\nX: y","expiresIn":60})"}) {
    Answer(odd);
    EXPECT_EQ(aws_.Search().code(), Code::kDenied) << odd;
    EXPECT_NE(Shown().find("without accessToken or expiresIn"), std::string::npos) << odd;
  }
  Answer("hush", 503);
  EXPECT_EQ(aws_.Search().code(), Code::kUnavailable);
  EXPECT_NE(Shown().find("renewing the login: AWS answered 503"), std::string::npos) << Shown();
  aws_.answers.erase(kOidc);
  EXPECT_EQ(aws_.Search().code(), Code::kUnavailable);
}

TEST_F(SsoToken, IsNotRenewedWithoutARegistration) {
  Login("2025-12-31T23:00:00Z", "2025-12-31T00:00:00UTC");
  EXPECT_EQ(aws_.Search().code(), Code::kDenied);
  EXPECT_EQ(Shown().find("not renewed"), std::string::npos);
  aws_.files[kCache] = R"({"accessToken":"hush old","expiresAt":"2025-12-31T23:00:00Z",
                           "registrationExpiresAt":"2026-02-01T00:00:00Z"})";
  EXPECT_EQ(aws_.Search().code(), Code::kDenied);
  // Nor the older form, which has no session.
  Login("2025-12-31T23:00:00Z");
  aws_.Config(
      "[default]\nsso_account_id=12\nsso_role_name=Admin\nsso_region=eu-west-1\n"
      "sso_start_url=corp\n");
  EXPECT_EQ(aws_.Search().code(), Code::kDenied);
  EXPECT_TRUE(aws_.asked.empty());
}

// Two programs renew at once: the second is refused, and finds what the first has left.
TEST_F(SsoToken, WhatAnotherProgramRenewedIsTaken) {
  AwsEnvironment environment = aws_.Environment();
  environment.http = [this](const std::string& base, const HttpRequest& request) {
    if (request.target == "/token") Login("2026-01-01T08:00:00Z");
    return aws_.Send(base, request);
  };
  Answer(R"({"error":"invalid_grant"})", 400);
  const AwsConfig config = *ReadAwsConfig(environment);
  const auto token = FindSsoToken({environment, config, &aws_.tried}, "default",
                                  {"corp", "https://corp", "eu-west-1", "12", "Admin"});
  ASSERT_TRUE(token.ok()) << token.status().ToString();
  EXPECT_EQ(*token, "hush old");
}

TEST_F(SsoToken, IsAskedForWhereTheUserWants) {
  aws_.variables["AWS_ENDPOINT_URL_SSO_OIDC"] = "http://127.0.0.1:9/p/";
  aws_.answers["POST http://127.0.0.1:9 /p/token"] = {
      200, {}, R"({"accessToken":"hush near","expiresIn":60})"};
  EXPECT_EQ(Shown(), "hush near");
  EXPECT_FALSE(Cached().contains("refreshToken"));
}

}  // namespace
}  // namespace stoker
