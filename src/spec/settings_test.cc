// SPDX-License-Identifier: Apache-2.0
#include "spec/settings.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace stoker {
namespace {

std::string Message(const std::string& text) {
  const auto settings = ParseSettings(text, "config.yaml", "/home/ada");
  return settings.ok() ? "" : settings.status().message();
}

constexpr char kIdentity[] =
    "projects/123/locations/global/workloadIdentityPools/pool-1/providers/aws1";

TEST(Settings, EveryKey) {
  const auto s = ParseSettings(
      "store: ~/stoker//data/\nresources:\n  infra: local\nrecovery: controller\n"
      "checkpoints: {keep: 7}\nstop_grace: 2m\ncolor: never\n"
      "limits: {kept_size: 5GiB, kept_files: 0}\n",
      "config.yaml", "/home/ada");
  ASSERT_TRUE(s.ok()) << s.status().message();
  EXPECT_EQ(s->store, "/home/ada/stoker/data");
  EXPECT_EQ(s->infra, "local");
  EXPECT_EQ(s->recovery, RecoveryMode::kController);
  EXPECT_EQ(s->keep, 7);
  EXPECT_EQ(s->stop_grace, Duration::Minutes(2));
  EXPECT_EQ(s->color, "never");
  EXPECT_EQ(s->kept_size, 5LL << 30);
  EXPECT_EQ(s->kept_files, 0);
  EXPECT_EQ(*ParseSettings(PrintSettings(*s), "", ""), *s);
}

TEST(Settings, NothingIsFine) {
  for (const char* text : {"", "\n", "# comment\n", "---\n", "{}"}) {
    ASSERT_EQ(Message(text), "") << text;
    EXPECT_EQ(*ParseSettings(text, "c", ""), Settings{}) << text;
  }
  EXPECT_EQ(PrintSettings(Settings{}), "");
}

TEST(Settings, MistakesHavePlaceAndAdvice) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"stroe: /x", "config.yaml:1:1: unknown setting 'stroe'. Did you mean 'store'?"},
      {"store: gs://", "config.yaml:1:8: 'store' names no bucket: 'gs://'. Write gs://"},
      {"store: gs://b//c", "config.yaml:1:8: 'store' names no bucket"},
      {"store: s3://", "config.yaml:1:8: 'store' names no bucket"},
      {"store: s3://b/../c", "config.yaml:1:8: 'store' names no bucket"},
      {"store: s3://user@b/c", "config.yaml:1:8: 'store' names no bucket"},
      {"store: ftp://b", "config.yaml:1:8: 'store' cannot be 'ftp://b'"},
      {"store: data", "config.yaml:1:8: 'store' must be an absolute path"},
      {"store: /", "config.yaml:1:8: 'store' is the whole file system"},
      {"store: /a/../b", "config.yaml:1:8: 'store' holds '..'"},
      {"store: ''", "config.yaml:1:8: 'store' is empty"},
      {"store:", "config.yaml:1:1: 'store' has no value"},
      {"color: pink", "config.yaml:1:8: 'color' cannot be 'pink'. Possible: auto, always, never"},
      {"checkpoints: 3", "config.yaml:1:14: 'checkpoints' must be a map"},
      {"checkpoints:\n  kep: 3",
       "config.yaml:2:3: unknown setting 'checkpoints.kep'. Did you mean"},
      {"checkpoints:\n  keep: x", "config.yaml:2:9: 'checkpoints.keep' must be a whole number"},
      {"resources: {infra: oci}", "config.yaml:1:20: 'resources.infra: oci' is understood but not"},
      {"resources: {cpus: 4}",
       "config.yaml:1:13: 'resources.cpus' is understood but not built yet"},
      {"profiles: {a: b}", "config.yaml:1:1: 'profiles' is understood but not built yet"},
      {"registry: me/a", "config.yaml:1:11: 'registry' names no repository of images: 'me/a'"},
      {"stop_grace: 5", "config.yaml:1:13: 'stop_grace' is not a duration: '5'"},
      {"recovery: me", "config.yaml:1:11: 'recovery' cannot be 'me'"},
      {"[store]", "config.yaml:1:1: settings are a map of keys, not a list"},
      {"store: /a\nstore: /b", "config.yaml:2:1: the key 'store' comes twice"},
      {"store: '/a", "config.yaml:1:8: not YAML: a quote that is not closed"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(Message(text).substr(0, message.size()), message) << text;
  }
}

TEST(Settings, GetSetUnset) {
  Settings s;
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"store", "/data"},
                                                        {"resources.infra", "local"},
                                                        {"recovery", "node"},
                                                        {"checkpoints.keep", "0"},
                                                        {"stop_grace", "5s"},
                                                        {"color", "always"},
                                                        {"registry", "ghcr.io/me/stoker"},
                                                        {"aws.google_identity", kIdentity},
                                                        {"aws.google_account", "a@p.test"}}) {
    EXPECT_EQ(*GetSetting(s, name), "");
    ASSERT_TRUE(SetSetting(&s, name, value, "/home/ada").ok()) << name;
    EXPECT_EQ(*GetSetting(s, name), value);
  }
  const Settings all = s;
  EXPECT_EQ(*ParseSettings(PrintSettings(all), "c", ""), all);
  // A refused value changes nothing.
  EXPECT_EQ(SetSetting(&s, "checkpoints.keep", "-1", "").code(), Code::kUsage);
  EXPECT_EQ(s, all);
  for (const SettingKey& key : SettingKeys()) ASSERT_TRUE(UnsetSetting(&s, key.name).ok());
  EXPECT_EQ(s, Settings{});

  const Status unknown = SetSetting(&s, "checkpoint.keep", "1", "");
  EXPECT_EQ(unknown.code(), Code::kUsage);
  EXPECT_EQ(unknown.next(), "Did you mean 'checkpoints.keep'?");
  EXPECT_EQ(GetSetting(s, "x").code(), Code::kUsage);
  EXPECT_EQ(UnsetSetting(&s, "x").code(), Code::kUsage);
}

TEST(Settings, HowGoogleKnowsMachinesOfEc2) {
  Settings s;
  const std::string good = kIdentity;
  for (const std::string& bad :
       {std::string("pool-1/providers/aws1"), "//iam.googleapis.com/" + good, good + "/",
        good + " x", std::string("projects/my-project") + good.substr(12),
        good.substr(0, good.size() - 2), good.substr(0, good.size() - 1) + "A"}) {
    const Status no = SetSetting(&s, "aws.google_identity", bad, "");
    EXPECT_EQ(no.code(), Code::kUsage) << bad;
    EXPECT_NE(no.message().find("with the project's number"), std::string::npos) << no.message();
  }
  EXPECT_EQ(SetSetting(&s, "aws.google_account", "stoker", "").code(), Code::kUsage);
  EXPECT_EQ(s, Settings{});
}

TEST(Settings, AnyStorePathSurvivesPrinting) {
  Prng prng(7);
  for (int i = 0; i < 2000; ++i) {
    std::string path = "/";
    for (int k = 0; k < 12; ++k) path += static_cast<char>(prng.Between(' ', '~'));
    Settings s;
    if (!SetSetting(&s, "store", path, "").ok()) continue;
    const auto back = ParseSettings(PrintSettings(s), "c", "");
    ASSERT_TRUE(back.ok()) << path << back.status().message();
    EXPECT_EQ(*back, s) << path;
  }
}

TEST(SettingsTest, PoolsAreNamedByTheirOwner) {
  const auto s = ParseSettings(
      "pools:\n  lab: {hosts: [me@box1, box2]}\n  two: [a, b]\n  one: c\nslurm:\n  login: "
      "me@front\n",
      "config.yaml", "/home/me");
  ASSERT_TRUE(s.ok()) << s.status().ToString();
  EXPECT_EQ(s->pools.at("lab"), (std::vector<std::string>{"me@box1", "box2"}));
  EXPECT_EQ(s->pools.at("two"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(s->pools.at("one"), (std::vector<std::string>{"c"}));
  EXPECT_EQ(s->Of("slurm.login"), "me@front");
  const auto again = ParseSettings(PrintSettings(*s), "config.yaml", "");
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(*again, *s);
  EXPECT_EQ(SettingKeys(*s).size(), SettingKeys().size() + 3);
}

TEST(SettingsTest, APoolIsSetAndUnsetByItsName) {
  Settings s;
  ASSERT_TRUE(SetSetting(&s, "pools.lab", "box1, me@box2", "").ok());
  EXPECT_EQ(*GetSetting(s, "pools.lab"), "box1, me@box2");
  ASSERT_TRUE(UnsetSetting(&s, "pools.lab").ok());
  EXPECT_TRUE(s.pools.empty());
  for (const char* bad : {"-oProxyCommand=x", "a,,b", "a,a", "a b"}) {
    EXPECT_FALSE(SetSetting(&s, "pools.lab", bad, "").ok()) << bad;
  }
  EXPECT_FALSE(SetSetting(&s, "pools.a/b", "box", "").ok());
  EXPECT_FALSE(SetSetting(&s, "pools", "box", "").ok());
}

}  // namespace
}  // namespace stoker
