// SPDX-License-Identifier: Apache-2.0
#include "ledger/envs/kept_envs.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/digest.h"
#include "ledger/paths.h"
#include "test/kit/memory_store.h"

namespace stoker {
namespace {

class KeptEnvsTest : public ::testing::Test {
 protected:
  EnvPart Part(const std::string& path, const std::string& content) {
    return {path, Sha256Hex(content), static_cast<int64_t>(content.size())};
  }
  bool Put(const std::string& content, bool again = false) {
    size_t at = 0;
    const auto read = [&](char* buffer, int64_t size) -> Result<int64_t> {
      const size_t n = std::min(static_cast<size_t>(size), content.size() - at);
      std::memcpy(buffer, content.data() + at, n);
      at += n;
      return static_cast<int64_t>(n);
    };
    return PutEnvPart(memory_, Part("", content), again, read).value();
  }
  bool Has(const std::string& key) { return memory_.Head(key).ok(); }

  WallTime now_{1'767'225'600'000};
  MemoryStore memory_{[this] { return now_; }};
  const std::string env_ = Sha256Hex("what it is built from");
  const EnvManifest manifest_{
      "3.11.2", "x86_64", "", {Part("", "rest"), Part("lib/torch", "torch")}};
};

TEST_F(KeptEnvsTest, ReadsWhatItWrites) {
  const auto back = ParseEnv("x", EncodeEnv(manifest_));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(EncodeEnv(*back), EncodeEnv(manifest_));
  EXPECT_EQ(back->Bytes(), 9);
}

TEST_F(KeptEnvsTest, RefusesWhatCannotBeOne) {
  EnvManifest bad = manifest_;
  bad.parts[1].path = "../out";
  EXPECT_TRUE(ParseEnv("x", EncodeEnv(bad)).status().Is(Code::kCorrupt));
  bad = manifest_;
  bad.parts[0].sha256 = "blobs/x";
  EXPECT_TRUE(ParseEnv("x", EncodeEnv(bad)).status().Is(Code::kCorrupt));
  bad = manifest_;
  bad.parts.clear();
  EXPECT_TRUE(ParseEnv("x", EncodeEnv(bad)).status().Is(Code::kCorrupt));
  EXPECT_TRUE(ParseEnv("x", R"({"format":2,"parts":[]})").status().Is(Code::kTooNew));
}

TEST_F(KeptEnvsTest, TheFirstManifestCountsAndADamagedOneIsReplaced) {
  EXPECT_FALSE(FindEnv(memory_, env_)->has_value());
  EXPECT_TRUE(*PutEnv(memory_, env_, manifest_, {}));
  EXPECT_FALSE(*PutEnv(memory_, env_, {}, {}));
  ASSERT_TRUE(memory_.Put(paths::EnvManifest(env_), "{").ok());
  const auto found = *FindEnv(memory_, env_);
  ASSERT_TRUE(found && !found->manifest);
  EXPECT_TRUE(found->why.Is(Code::kCorrupt));
  EXPECT_TRUE(*PutEnv(memory_, env_, manifest_, found->version));
  EXPECT_FALSE(*PutEnv(memory_, env_, manifest_, found->version)) << "another was quicker";
  EXPECT_TRUE((*FindEnv(memory_, env_))->manifest);
}

TEST_F(KeptEnvsTest, PartsAreSentOnceAndAgainWhereTheyAreOldOrDamaged) {
  EXPECT_TRUE(Put("torch"));
  EXPECT_FALSE(Put("torch"));
  EXPECT_TRUE(Put("torch", true));
  now_ = now_ + kEnvPartAge;
  EXPECT_TRUE(Put("torch"));
}

TEST_F(KeptEnvsTest, IsMarkedOnceADay) {
  ASSERT_TRUE(MarkEnvUsed(memory_, env_).ok());
  const Version first = memory_.Head(paths::EnvUsed(env_))->version;
  now_ = now_ + Duration::Hours(23);
  ASSERT_TRUE(MarkEnvUsed(memory_, env_).ok());
  EXPECT_EQ(memory_.Head(paths::EnvUsed(env_))->version, first);
  now_ = now_ + Duration::Hours(2);
  ASSERT_TRUE(MarkEnvUsed(memory_, env_).ok());
  EXPECT_NE(memory_.Head(paths::EnvUsed(env_))->version, first);
}

TEST_F(KeptEnvsTest, GoesByItsLastUseAndPartsWithTheLastThatNamesThem) {
  const std::string other = Sha256Hex("another");
  Put("rest");
  Put("torch");
  Put("alone");
  ASSERT_TRUE(*PutEnv(memory_, env_, manifest_, {}));
  ASSERT_TRUE(*PutEnv(memory_, other, {"", "", "", {Part("", "torch")}}, {}));
  now_ = now_ + Duration::Hours(24 * 29);
  ASSERT_TRUE(MarkEnvUsed(memory_, other).ok());
  EXPECT_EQ(ClearOldEnvs(memory_, false)->envs, 0);
  now_ = now_ + Duration::Hours(24);
  EXPECT_EQ(ClearOldEnvs(memory_, true)->envs, 1);
  EXPECT_TRUE(Has(paths::EnvManifest(env_))) << "dry run";
  const auto cleared = *ClearOldEnvs(memory_, false);
  EXPECT_EQ(cleared.envs, 1);
  EXPECT_EQ(cleared.parts, 2);
  EXPECT_FALSE(Has(paths::EnvManifest(env_)));
  EXPECT_FALSE(Has(paths::EnvPart(Sha256Hex("rest"))));
  EXPECT_TRUE(Has(paths::EnvPart(Sha256Hex("torch")))) << "the other has it";
}

TEST_F(KeptEnvsTest, NoPartGoesWhileAManifestCannotBeRead) {
  Put("torch");
  now_ = now_ + kEnvAge;
  ASSERT_TRUE(memory_.Put(paths::EnvManifest(env_), "{").ok());
  EXPECT_EQ(ClearOldEnvs(memory_, false)->parts, 0);
  now_ = now_ + kEnvAge;
  EXPECT_EQ(ClearOldEnvs(memory_, false)->parts, 1);
}

}  // namespace
}  // namespace stoker
