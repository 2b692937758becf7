// SPDX-License-Identifier: Apache-2.0
#include "google/gcloud_config.h"

#include <gtest/gtest.h>

#include "test/kit/google_environment.h"

namespace stoker {
namespace {

constexpr char kFolder[] = "/home/u/.config/gcloud";

std::string Told(FakeGoogle& google) {
  const auto config = ReadGcloudConfig(google.Environment());
  if (!config.ok()) return config.status().ToString();
  return config->project + " " + config->region + " " + config->zone;
}

TEST(GcloudConfig, IsThatOfTheActiveConfiguration) {
  FakeGoogle google;
  EXPECT_EQ(Told(google), "  ") << "no gcloud here";
  const std::string folder = kFolder;
  google.files[folder + "/configurations/config_default"] =
      "[core]\naccount = somebody@example.org\nproject = of-default\n\n"
      "[compute]\nregion = us-central1\nzone = us-central1-a\n";
  EXPECT_EQ(Told(google), "of-default us-central1 us-central1-a");
  google.files[folder + "/configurations/config_work"] = "[core]\nproject = of-work\n";
  google.files[folder + "/active_config"] = "work\n";
  EXPECT_EQ(Told(google), "of-work  ");
  google.variables["CLOUDSDK_ACTIVE_CONFIG_NAME"] = "default";
  EXPECT_EQ(Told(google), "of-default us-central1 us-central1-a");
  google.variables["CLOUDSDK_CORE_PROJECT"] = "of-variable";
  EXPECT_EQ(Told(google), "of-variable us-central1 us-central1-a");
}

TEST(GcloudConfig, LiesWhereItsVariableSays) {
  FakeGoogle google;
  google.variables["CLOUDSDK_CONFIG"] = "/elsewhere";
  google.files["/elsewhere/configurations/config_default"] = "[core]\nproject = there\n";
  EXPECT_EQ(Told(google), "there  ");
  google.variables["CLOUDSDK_ACTIVE_CONFIG_NAME"] = "../../etc/x";
  EXPECT_EQ(Told(google), "  ") << "no path is made of it";
}

TEST(GcloudConfig, OneThatCannotBeReadIsAnError) {
  FakeGoogle google;
  google.files[std::string(kFolder) + "/configurations/config_default"] = "[core\nwhat is this";
  const auto config = ReadGcloudConfig(google.Environment());
  ASSERT_FALSE(config.ok());
  EXPECT_NE(config.status().ToString().find("config_default"), std::string::npos);
  google.variables["CLOUDSDK_CORE_PROJECT"] = "p";
  google.variables["CLOUDSDK_COMPUTE_REGION"] = "us-central1";
  EXPECT_EQ(Told(google), "p us-central1 ") << "it is not asked";
}

}  // namespace
}  // namespace stoker
