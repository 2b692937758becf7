// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "images/role/role_login.h"
#include "images/role/role_registry.h"

namespace stoker {
namespace {

TEST(RoleRegistry, IsKnownByItsHost) {
  const auto region = [](const std::string& host) -> std::string {
    const auto found = FindRoleRegistry(host);
    if (!found) return "none";
    return found->of == RoleRegistry::Of::kGoogle ? "google" : found->region;
  };
  EXPECT_EQ(region("123456789012.dkr.ecr.us-east-1.amazonaws.com"), "us-east-1");
  EXPECT_EQ(region("123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn"), "cn-north-1");
  EXPECT_EQ(region("123456789012.dkr.ecr-fips.us-gov-west-1.amazonaws.com"), "us-gov-west-1");
  for (const char* google :
       {"us-docker.pkg.dev", "europe-west4-docker.pkg.dev", "gcr.io", "eu.gcr.io"}) {
    EXPECT_EQ(region(google), "google") << google;
  }
  // Whoever else has a name like it gets no token.
  for (const char* other :
       {"docker.io", "public.ecr.aws", "123456789012.dkr.ecr.us-east-1.amazonaws.com.example.org",
        "123456789012.dkr.ecr.us-east-1.evil.org/.amazonaws.com",
        "1234.dkr.ecr.us-east-1.amazonaws.com", "123456789012.dkr.ecr..amazonaws.com",
        "x.123456789012.dkr.ecr.a.amazonaws.com", "us-docker.pkg.dev.evil.org", "us-python.pkg.dev",
        "-docker.pkg.dev", "notgcr.io", ".gcr.io", "us-docker.pkg.dev:444", "gcr.io:5000",
        "localhost:5000", ""}) {
    EXPECT_EQ(region(other), "none") << other;
  }
}

class Ecr : public ::testing::Test {
 protected:
  Result<RegistryLogin> Ask(int status, const std::string& body) {
    ec2::AwsApiOptions options;
    options.credentials = [] { return AwsCredentials{"key", "secret", "", {}, ""}; };
    options.url = [](const std::string& service, const std::string& region) {
      return Result<std::string>("https://" + service + "." + region);
    };
    options.now = [] { return WallTime{1'000}; };
    options.retry = {1, Duration::Ms(1), Duration::Ms(1)};
    options.http = [&](const HttpUrl&, const HttpRequest& request) -> Result<HttpResponse> {
      asked_ = request;
      return HttpResponse{status, {}, body};
    };
    ec2::AwsApi api(options);
    return AskEcr(api, "eu-west-1");
  }
  HttpRequest asked_;
};

TEST_F(Ecr, GivesALogin) {
  // "AWS:pass:word"
  const auto login =
      Ask(200, R"({"authorizationData":[{"authorizationToken":"QVdTOnBhc3M6d29yZA=="}]})");
  ASSERT_TRUE(login.ok()) << login.status().ToString();
  EXPECT_EQ(login->user, "AWS");
  EXPECT_EQ(login->secret, "pass:word");
  EXPECT_EQ(*FindHeader(asked_.headers, "X-Amz-Target"),
            "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken");
}

TEST_F(Ecr, RefusalsNameTheRight) {
  const std::string said = "User: a is not authorized to perform: ecr:GetAuthorizationToken";
  const auto denied =
      Ask(400, R"({"__type":"AccessDeniedException","message":")" + said + R"( on resource: *"})");
  EXPECT_TRUE(denied.status().Is(Code::kDenied));
  EXPECT_NE(denied.status().message().find("ecr:GetAuthorizationToken"), std::string::npos);
  for (const char* odd : {"{}", R"({"authorizationData":[]})", R"({"authorizationData":[{}]})",
                          R"({"authorizationData":[{"authorizationToken":"%%"}]})",
                          R"({"authorizationData":[{"authorizationToken":"QVdT"}]})", "no JSON"}) {
    EXPECT_TRUE(Ask(200, odd).status().Is(Code::kUnavailable)) << odd;
  }
}

}  // namespace
}  // namespace stoker
