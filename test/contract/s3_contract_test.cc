// SPDX-License-Identifier: Apache-2.0
// The contract of the store port on a bucket of a server that is there already: s3_contract.py
// starts one and says where in $STOKER_TEST_S3 (endpoint), $STOKER_TEST_BUCKET, AWS_ACCESS_KEY_ID
// and AWS_SECRET_ACCESS_KEY.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>

#include "ledger/probe.h"
#include "store/s3_store.h"
#include "sys/file.h"
#include "test/contract/object_store_suite.h"

namespace stoker::contract {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name << " is not set: run test/contract/s3_contract.py";
  return value == nullptr ? "" : value;
}

// versitygw: it verifies signatures and checksums, knows when an upload was begun, and keeps
// objects as files. moto does none of this.
bool OnVersity() { return Variable("STOKER_TEST_SERVER") == "versity"; }

S3StoreOptions OptionsFor(const std::string& prefix) {
  S3StoreOptions options;
  options.client.bucket = Variable("STOKER_TEST_BUCKET");
  options.client.endpoint = Variable("STOKER_TEST_S3");
  options.client.now = [] {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return WallTime{std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
  };
  options.client.credentials = []() -> Result<AwsCredentials> {
    AwsCredentials credentials;
    credentials.access_key = Variable("AWS_ACCESS_KEY_ID");
    credentials.secret_key = Variable("AWS_SECRET_ACCESS_KEY");
    return credentials;
  };
  options.prefix = prefix;
  // Small parts, so that objects of tests have several; not below what the service takes.
  options.part_bytes = 5 << 20;
  return options;
}

class S3Subject : public Subject {
 public:
  S3Subject() {
    static std::atomic<int> count = 0;
    prefix_ = "contract/" + std::to_string(getpid()) + "-" + std::to_string(++count);
    store_ = Open();
  }
  ObjectStore& store() override { return *store_; }
  std::unique_ptr<ObjectStore> Reopen() override { return Open(); }
  bool versions_name_contents() const override { return true; }
  bool shares_names() const override { return !OnVersity(); }
  bool knows_the_last_page() const override { return !OnVersity(); }

 private:
  std::unique_ptr<ObjectStore> Open() const {
    auto store = S3Store::Open(OptionsFor(prefix_));
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    return store.ok() ? std::move(*store) : nullptr;
  }
  std::string prefix_;
  std::unique_ptr<ObjectStore> store_;
};

class S3Contract : public ::testing::TestWithParam<Check> {};

TEST_P(S3Contract, Holds) {
  S3Subject subject;
  Findings findings;
  GetParam().run(subject, findings);
  for (const std::string& finding : findings.all()) ADD_FAILURE() << finding;
}

INSTANTIATE_TEST_SUITE_P(All, S3Contract, ::testing::ValuesIn(AllChecks()),
                         [](const ::testing::TestParamInfo<Check>& one) { return one.param.name; });

class S3Store_ : public ::testing::Test {
 protected:
  S3Subject subject_;
  ObjectStore& store_ = subject_.store();
};

TEST_F(S3Store_, HonoursConditions) {
  auto store = S3Store::Open(OptionsFor("probe"));
  const Status status = ProbeConditions(**store, "probe/x");
  EXPECT_TRUE(status.ok()) << status.ToString();
  const auto left = (*store)->List("");
  ASSERT_TRUE(left.ok()) << left.status().ToString();
  EXPECT_TRUE(left->objects.empty());
}

// In parts, from a file and from memory, under every condition.
TEST_F(S3Store_, LargeObjectsComeBackAsTheyWere) {
  std::string data;
  for (int64_t i = 0; data.size() < (17u << 20); ++i) data += std::to_string(i * 7919);
  const sys::ScopedFd file(memfd_create("large", 0));
  ASSERT_EQ(write(file.get(), data.data(), data.size()), static_cast<ssize_t>(data.size()));
  for (const bool from_file : {true, false}) {
    const std::string key = from_file ? "file" : "memory";
    auto upload = store_.BeginUpload(key, Condition::Absent());
    ASSERT_TRUE(upload.ok());
    const auto size = static_cast<int64_t>(data.size());
    const Status wrote =
        from_file ? (*upload)->WriteFile(file.get(), size) : (*upload)->Write(data);
    ASSERT_TRUE(wrote.ok()) << wrote.ToString();
    EXPECT_FALSE(store_.Head(key).ok());
    const auto version = (*upload)->Commit();
    ASSERT_TRUE(version.ok()) << version.status().ToString();
    EXPECT_EQ(store_.Head(key)->version, *version);
    EXPECT_EQ(store_.Get(key)->data, data);
    auto again = store_.BeginUpload(key, Condition::Absent());
    ASSERT_TRUE((*again)->Write(data).ok());
    EXPECT_EQ((*again)->Commit().code(), Code::kExists);
  }
}

// Of a writer that was killed; other prefixes of the bucket are other people's.
TEST_F(S3Store_, UnfinishedUploadsAreSwept) {
  S3Subject other;
  const auto begin = [](ObjectStore& store) {
    // Never ended: as a process that is gone.
    auto* upload = std::move(*store.BeginUpload("large")).release();
    EXPECT_TRUE(upload->Write(std::string(6u << 20, 'x')).ok());
  };
  for (int i = 0; i < 3; ++i) begin(store_);
  begin(other.store());
  Duration age = Duration::Hours(1);
  // moto says of every upload that it was begun in 2010.
  if (OnVersity()) {
    EXPECT_EQ(store_.SweepUnfinished(age).value(), 0);
    age = Duration::Seconds(-2);  // its Date may lag behind
  }
  EXPECT_EQ(store_.SweepUnfinished(age).value(), 3);
  EXPECT_EQ(store_.SweepUnfinished(age).value(), 0);
  EXPECT_EQ(other.store().SweepUnfinished(age).value(), 1);
}

TEST_F(S3Store_, WhatIsWrongIsSaid) {
  S3StoreOptions options = OptionsFor("x");
  options.client.bucket = "no-such-bucket";
  auto missing = S3Store::Open(options);
  EXPECT_EQ((*missing)->Put("a", "b").code(), Code::kInvalid);
  EXPECT_NE((*missing)->Put("a", "b").status().ToString().find("NoSuchBucket"), std::string::npos);
  for (const std::string bucket : {"", "a", "A/b", "a..b", "a b", "a?b"}) {
    options.client.bucket = bucket;
    EXPECT_EQ(S3Store::Open(options).code(), Code::kInvalid) << bucket;
  }
  options = OptionsFor("a/../b");
  EXPECT_EQ(S3Store::Open(options).code(), Code::kInvalid);
  options = OptionsFor("x");
  options.client.endpoint = "http://127.0.0.1:1";
  auto nobody = S3Store::Open(options);
  EXPECT_EQ((*nobody)->Put("a", "b").code(), Code::kUnavailable);
}

// Refused for what is wrong, and not let in for what is not looked at; no secret is told.
TEST_F(S3Store_, WhatIsSignedWronglyIsRefused) {
  if (!OnVersity()) {
    std::cout << "moto does not verify signatures: the other server's run tries this\n";
    return;
  }
  S3StoreOptions options = OptionsFor("x");
  options.client.credentials = []() -> Result<AwsCredentials> {
    AwsCredentials credentials;
    credentials.access_key = Variable("AWS_ACCESS_KEY_ID");
    credentials.secret_key = "not the right one";
    return credentials;
  };
  const Status wrong = (*S3Store::Open(options))->Put("a", "b").status();
  EXPECT_EQ(wrong.code(), Code::kDenied) << wrong.ToString();
  EXPECT_NE(wrong.ToString().find("SignatureDoesNotMatch"), std::string::npos) << wrong.ToString();
  EXPECT_NE(wrong.next().find("credentials"), std::string::npos) << wrong.next();
  EXPECT_EQ(wrong.ToString().find("not the right one"), std::string::npos);
  EXPECT_EQ(store_.Head("a").code(), Code::kNotFound);
}

// A clock that is wrong costs one answer: from there on the service's own is used.
TEST_F(S3Store_, AClockThatIsWrongIsNoticed) {
  for (const int minutes : {-20, 20, 600}) {
    S3StoreOptions options = OptionsFor("clock" + std::to_string(minutes));
    const auto right = options.client.now;
    options.client.now = [right, minutes] { return right() + Duration::Minutes(minutes); };
    auto store = S3Store::Open(options);
    const auto put = (*store)->Put("a", "b");
    EXPECT_TRUE(put.ok()) << minutes << ": " << put.status().ToString();
    const auto got = (*store)->Get("a");
    ASSERT_TRUE(got.ok()) << minutes << ": " << got.status().ToString();
    EXPECT_LT(std::abs((got->store_now - right()).ms), 60'000) << minutes;
  }
}

}  // namespace
}  // namespace stoker::contract
