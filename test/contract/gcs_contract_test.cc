// SPDX-License-Identifier: Apache-2.0
// The contract of the store port on a bucket of a server that is there already: gcs_contract.py
// starts one and says where in $STOKER_TEST_GCS (endpoint) and $STOKER_TEST_BUCKET.
//
// fake-gcs-server judges no condition of a composition: that the condition of an upload in parts
// does not hold is seen here by the look before it. The composition's own is tried on the model in
// src/store/gcs/gcs_parts_test.cc.
#include "store/gcs/gcs_store.h"
#include "test/contract/bucket_subject.h"

namespace stoker::contract {
namespace {

GcsStoreOptions OptionsFor(const std::string& prefix) {
  GcsStoreOptions options;
  options.client.bucket = Variable("STOKER_TEST_BUCKET");
  options.client.endpoint = Variable("STOKER_TEST_GCS");
  options.client.now = Now;
  options.client.token = []() -> Result<GoogleToken> { return GoogleToken(); };
  options.prefix = prefix;
  // Small, so that objects of tests have several.
  options.chunk_bytes = 256 << 10;
  options.part_bytes = 5 << 20;
  return options;
}

// Of a writer that was killed; other prefixes of the bucket are other people's.
TEST_F(BucketTest, UnfinishedUploadsAreSwept) {
  const auto other = FreshSubject();
  const std::string data(6u << 20, 'x');
  const auto write = [&data](ObjectStore& store) {
    EXPECT_TRUE(store.Put("source", data).ok());
    const auto from = store.OpenReader(store.Head("source").value()).value();
    const auto upload = store.BeginParts("large", static_cast<int64_t>(data.size())).value();
    EXPECT_TRUE(upload->WritePart(0, *from).ok());
    EXPECT_TRUE(upload->WritePart(1, *from).ok());
  };
  for (int i = 0; i < 3; ++i) write(store_);
  write(other->store());
  EXPECT_EQ(store_.SweepUnfinished(Duration::Hours(1)).value(), 0);
  const Duration now = Duration::Seconds(-2);  // times are whole seconds
  EXPECT_EQ(store_.SweepUnfinished(now).value(), 3);
  EXPECT_EQ(store_.SweepUnfinished(now).value(), 0);
  EXPECT_EQ(other->store().SweepUnfinished(now).value(), 1);
  EXPECT_EQ(store_.List("")->objects.size(), 1u);
}

TEST_F(BucketTest, WhatIsWrongIsSaid) {
  GcsStoreOptions options = OptionsFor("x");
  options.client.bucket = "no-such-bucket";
  auto missing = GcsStore::Open(options);
  EXPECT_EQ((*missing)->Put("a", "b").code(), Code::kInvalid);
  EXPECT_EQ((*missing)->BeginUpload("a").value()->Commit().code(), Code::kInvalid);
  EXPECT_EQ((*missing)->List("").code(), Code::kInvalid);
  const std::string said = (*missing)->List("").status().ToString();
  EXPECT_NE(said.find("Make the bucket first"), std::string::npos) << said;
  for (const std::string bucket : {"", "a", "A/b", "a..b", "a b", "a?b"}) {
    options.client.bucket = bucket;
    EXPECT_EQ(GcsStore::Open(options).code(), Code::kInvalid) << bucket;
  }
  options = OptionsFor("a/../b");
  EXPECT_EQ(GcsStore::Open(options).code(), Code::kInvalid);
  options = OptionsFor("x");
  options.client.endpoint = "http://127.0.0.1:1";
  options.retry.longest = Duration::Ms(10);
  auto nobody = GcsStore::Open(options);
  EXPECT_EQ((*nobody)->Put("a", "b").code(), Code::kUnavailable);
}

}  // namespace

std::unique_ptr<Subject> FreshSubject() {
  return std::make_unique<BucketSubject>(
      [](const std::string& prefix) -> Result<std::unique_ptr<ObjectStore>> {
        STOKER_ASSIGN(auto store, GcsStore::Open(OptionsFor(prefix)));
        return std::unique_ptr<ObjectStore>(std::move(store));
      });
}

size_t LargeObjectBytes() { return 1900 << 10; }

}  // namespace stoker::contract
