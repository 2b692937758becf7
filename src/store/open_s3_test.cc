// SPDX-License-Identifier: Apache-2.0
#include "store/open_s3.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "store/s3/s3_client.h"
#include "sys/file.h"

namespace stoker {
namespace {

// What the user's files and variables say, which are put back afterwards.
class OpenS3Test : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CA_BUNDLE", "AWS_PROFILE",
          "AWS_DEFAULT_PROFILE", "AWS_USE_DUALSTACK_ENDPOINT", "AWS_USE_FIPS_ENDPOINT",
          "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION"}) {
      const char* value = std::getenv(name);
      kept_.emplace_back(name, value == nullptr ? "" : value);
      unsetenv(name);
    }
    Set("AWS_CONFIG_FILE", folder_.path() + "/config");
    Set("AWS_SHARED_CREDENTIALS_FILE", folder_.path() + "/none");
  }
  void TearDown() override {
    for (const auto& [name, value] : kept_) {
      value.empty() ? unsetenv(name.c_str()) : Set(name, value);
    }
  }
  static int Set(const std::string& name, const std::string& value) {
    return setenv(name.c_str(), value.c_str(), 1);
  }
  void Config(const std::string& text) {
    ASSERT_TRUE(sys::WriteFileAtomic(folder_.path() + "/config", "[default]\n" + text).ok());
  }
  static s3::Options Found() {
    auto options = FindS3Options("s3://bucket/a");
    EXPECT_TRUE(options.ok()) << options.status().ToString();
    return options->client;
  }

  const sys::TempDir folder_{*sys::TempDir::Make("open-s3")};
  std::vector<std::pair<std::string, std::string>> kept_;
};

TEST_F(OpenS3Test, TrustsWhatTheProfileTrusts) {
  EXPECT_EQ(Found().http.ca_file, "");
  Config("ca_bundle = /profile.pem\n");
  EXPECT_EQ(Found().http.ca_file, "/profile.pem");
  Set("AWS_CA_BUNDLE", "/variable.pem");
  EXPECT_EQ(Found().http.ca_file, "/variable.pem");
}

TEST_F(OpenS3Test, GoesToTheAddressesThatAreWanted) {
  Config("region = eu-west-1\nuse_dualstack_endpoint = true\n");
  EXPECT_TRUE(Found().variant.dualstack);
  EXPECT_FALSE(Found().variant.fips);
  Set("AWS_USE_FIPS_ENDPOINT", "true");
  EXPECT_TRUE(Found().variant.fips);
  EXPECT_TRUE(s3::Client::Make(Found()).ok());
  Config("region = cn-north-1\n");
  EXPECT_EQ(s3::Client::Make(Found()).code(), Code::kInvalid);
  Set("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9");  // which has no variants
  EXPECT_TRUE(s3::Client::Make(Found()).ok());
}

}  // namespace
}  // namespace stoker
