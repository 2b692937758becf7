// SPDX-License-Identifier: Apache-2.0
// The contract of the store port on a bucket of a server that is there already: s3_contract.py
// starts one and says where in $STOKER_TEST_S3 (endpoint), $STOKER_TEST_BUCKET, AWS_ACCESS_KEY_ID
// and AWS_SECRET_ACCESS_KEY.
#include "ledger/probe.h"
#include "store/s3/s3_store.h"
#include "test/contract/bucket_subject.h"

namespace stoker::contract {
namespace {

// versitygw: it verifies signatures and checksums, knows when an upload was begun, and keeps
// objects as files. moto does none of this.
bool OnVersity() { return Variable("STOKER_TEST_SERVER") == "versity"; }

S3StoreOptions OptionsFor(const std::string& prefix) {
  S3StoreOptions options;
  options.client.bucket = Variable("STOKER_TEST_BUCKET");
  options.client.endpoint = Variable("STOKER_TEST_S3");
  options.client.now = Now;
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

class S3Subject : public BucketSubject {
 public:
  S3Subject()
      : BucketSubject([](const std::string& prefix) -> Result<std::unique_ptr<ObjectStore>> {
          STOKER_ASSIGN(auto store, S3Store::Open(OptionsFor(prefix)));
          return std::unique_ptr<ObjectStore>(std::move(store));
        }) {}
  bool versions_name_contents() const override { return true; }
  bool shares_names() const override { return !OnVersity(); }
  bool knows_the_last_page() const override { return !OnVersity(); }
  // moto answers one at a time (moto_s3.py).
  int writes_between_listings() const override { return OnVersity() ? 0 : 10; }
};

TEST_F(BucketTest, HonoursConditions) {
  auto store = S3Store::Open(OptionsFor("probe"));
  const Status status = ProbeConditions(**store, "probe/x");
  EXPECT_TRUE(status.ok()) << status.ToString();
  const auto left = (*store)->List("");
  ASSERT_TRUE(left.ok()) << left.status().ToString();
  EXPECT_TRUE(left->objects.empty());
}

// Of a writer that was killed; other prefixes of the bucket are other people's.
TEST_F(BucketTest, UnfinishedUploadsAreSwept) {
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

TEST_F(BucketTest, WhatIsWrongIsSaid) {
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
  options.retry.longest = Duration::Ms(10);
  auto nobody = S3Store::Open(options);
  EXPECT_EQ((*nobody)->Put("a", "b").code(), Code::kUnavailable);
}

// Refused for what is wrong, and not let in for what is not looked at; no secret is told.
TEST_F(BucketTest, WhatIsSignedWronglyIsRefused) {
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
TEST_F(BucketTest, AClockThatIsWrongIsNoticed) {
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

std::unique_ptr<Subject> FreshSubject() { return std::make_unique<S3Subject>(); }
size_t LargeObjectBytes() { return 17 << 20; }

}  // namespace stoker::contract
