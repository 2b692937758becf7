// SPDX-License-Identifier: Apache-2.0
#include "ledger/blobs.h"

#include <gtest/gtest.h>

#include "base/digest.h"
#include "ledger/paths.h"
#include "test/contract/ledger_kit.h"

namespace stoker {
namespace {

class BlobsTest : public ::testing::Test {
 protected:
  std::string KeyNow(const std::string& content) {
    return paths::Blob(Sha256Hex(content), BlobPeriod(now_));
  }
  bool Put(const std::string& content) {
    return PutBlobText(*ledger_, Sha256Hex(content), content).value();
  }
  Status Fetch(const std::string& sha256) {
    got_.clear();
    return FetchBlob(*ledger_, sha256, [&](std::string_view piece) {
      got_.append(piece);
      return Status::Ok();
    });
  }

  WallTime now_{1'767'225'600'000};
  MemoryStore memory_{[this] { return now_; }};
  StillClock clock_;
  std::unique_ptr<Ledger> ledger_ = *Ledger::Open(memory_, clock_, 1);
  std::string got_;
};

TEST_F(BlobsTest, AreStoredOnceAndVerified) {
  const std::string content(300'000, 'b');
  const std::string sha256 = Sha256Hex(content);
  EXPECT_TRUE(Put(content));
  EXPECT_FALSE(Put(content));
  ASSERT_TRUE(Fetch(sha256).ok());
  EXPECT_EQ(got_, content);
  // Damage of the same size is found at the end; damage of another size is repaired by the next
  // put.
  ASSERT_TRUE(memory_.Put(KeyNow(content), std::string(300'000, 'x')).ok());
  EXPECT_EQ(Fetch(sha256).code(), Code::kCorrupt);
  ASSERT_TRUE(memory_.Put(KeyNow(content), "cut").ok());
  EXPECT_TRUE(Put(content));
  EXPECT_TRUE(Fetch(sha256).ok());
  EXPECT_EQ(Fetch(std::string(64, '0')).code(), Code::kNotFound);
  EXPECT_EQ(Fetch("../../etc/passwd").code(), Code::kInvalid);
  const auto full = [](std::string_view) { return Status(Code::kNoSpace, "full"); };
  EXPECT_EQ(FetchBlob(*ledger_, sha256, full).code(), Code::kNoSpace);
  EXPECT_EQ(FetchBlob(*ledger_, sha256, full, 299'999).code(), Code::kInvalid) << "nothing is read";
}

TEST_F(BlobsTest, WhatIsNoLongerYoungIsWrittenAgainUnderAnotherName) {
  EXPECT_TRUE(Put("x"));
  const std::string first = KeyNow("x");
  now_ = now_ + kBlobPeriod - Duration::Ms(1);
  EXPECT_FALSE(Put("x"));
  now_ = now_ + Duration::Ms(1);
  EXPECT_TRUE(Put("x"));
  const WallTime written = memory_.Head(first)->last_modified;
  EXPECT_NE(KeyNow("x"), first);
  EXPECT_EQ(memory_.Head(KeyNow("x"))->last_modified, now_);
  // Never: it may be deleted at any time from 30 days of age on.
  EXPECT_EQ(memory_.Head(first)->last_modified, written);
}

TEST_F(BlobsTest, TheNewestCopyCounts) {
  EXPECT_TRUE(Put("x"));
  ASSERT_TRUE(memory_.Put(KeyNow("x"), "y").ok());  // of the right size
  now_ = now_ + kBlobPeriod;
  EXPECT_TRUE(Put("x"));
  EXPECT_TRUE(Fetch(Sha256Hex("x")).ok());
  // A damaged newest copy does not hide behind a good older one: the put would leave it.
  ASSERT_TRUE(memory_.Put(KeyNow("x"), "cut").ok());
  EXPECT_TRUE(Put("x"));
  EXPECT_TRUE(Fetch(Sha256Hex("x")).ok());
}

TEST_F(BlobsTest, NamesOfOthersAndOfTheFutureHideNothing) {
  const std::string sha256 = Sha256Hex("x");
  const int64_t period = BlobPeriod(now_);
  for (const std::string& key :
       {paths::Blobs() + sha256, paths::Blobs() + sha256 + "-", paths::Blobs() + sha256 + "-7",
        paths::Blobs() + sha256 + "-01364x", paths::Blobs() + sha256 + "--0001",
        paths::Blobs() + sha256 + "-99999999999999999999", paths::Blob(sha256, period + 2)}) {
    ASSERT_TRUE(memory_.Put(key, "x").ok());
    EXPECT_EQ(Fetch(sha256).code(), Code::kNotFound) << key;
  }
  EXPECT_TRUE(Put("x"));
  EXPECT_TRUE(Fetch(sha256).ok());
  // One server's clock may be ahead of another's.
  now_ = now_ - kBlobPeriod;
  EXPECT_TRUE(Fetch(sha256).ok());
}

}  // namespace
}  // namespace stoker
