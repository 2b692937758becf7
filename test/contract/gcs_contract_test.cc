// SPDX-License-Identifier: Apache-2.0
// The contract of the store port on a bucket of a server that is there already: gcs_contract.py
// starts one and says where in $STOKER_TEST_GCS (endpoint) and $STOKER_TEST_BUCKET.
//
// fake-gcs-server judges no condition of a composition: that the condition of an upload in parts
// does not hold is seen here by the look before it. The composition's own is tried on the model in
// src/store/gcs_parts_test.cc.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>

#include "store/gcs_store.h"
#include "sys/file.h"
#include "test/contract/object_store_suite.h"

namespace stoker::contract {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name << " is not set: run test/contract/gcs_contract.py";
  return value == nullptr ? "" : value;
}

GcsStoreOptions OptionsFor(const std::string& prefix) {
  GcsStoreOptions options;
  options.client.bucket = Variable("STOKER_TEST_BUCKET");
  options.client.endpoint = Variable("STOKER_TEST_GCS");
  options.client.now = [] {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return WallTime{std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
  };
  options.client.token = []() -> Result<GoogleToken> { return GoogleToken(); };
  options.prefix = prefix;
  // Small, so that objects of tests have several.
  options.chunk_bytes = 256 << 10;
  options.part_bytes = 5 << 20;
  return options;
}

class GcsSubject : public Subject {
 public:
  GcsSubject() {
    static std::atomic<int> count = 0;
    prefix_ = "contract/" + std::to_string(getpid()) + "-" + std::to_string(++count);
    store_ = Open();
  }
  ObjectStore& store() override { return *store_; }
  std::unique_ptr<ObjectStore> Reopen() override { return Open(); }

 private:
  std::unique_ptr<ObjectStore> Open() const {
    auto store = GcsStore::Open(OptionsFor(prefix_));
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    return store.ok() ? std::move(*store) : nullptr;
  }
  std::string prefix_;
  std::unique_ptr<ObjectStore> store_;
};

class GcsContract : public ::testing::TestWithParam<Check> {};

TEST_P(GcsContract, Holds) {
  GcsSubject subject;
  Findings findings;
  GetParam().run(subject, findings);
  for (const std::string& finding : findings.all()) ADD_FAILURE() << finding;
}

INSTANTIATE_TEST_SUITE_P(All, GcsContract, ::testing::ValuesIn(AllChecks()),
                         [](const ::testing::TestParamInfo<Check>& one) { return one.param.name; });

class GcsStore_ : public ::testing::Test {
 protected:
  GcsSubject subject_;
  ObjectStore& store_ = subject_.store();
};

// In parts, from a file and from memory, under every condition.
TEST_F(GcsStore_, LargeObjectsComeBackAsTheyWere) {
  std::string data;
  for (int64_t i = 0; data.size() < (1900u << 10); ++i) data += std::to_string(i * 7919);
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
TEST_F(GcsStore_, UnfinishedUploadsAreSwept) {
  GcsSubject other;
  const std::string data(6u << 20, 'x');
  const auto write = [&data](ObjectStore& store) {
    EXPECT_TRUE(store.Put("source", data).ok());
    const auto from = store.OpenReader(store.Head("source").value()).value();
    const auto upload = store.BeginParts("large", static_cast<int64_t>(data.size())).value();
    EXPECT_TRUE(upload->WritePart(0, *from).ok());
    EXPECT_TRUE(upload->WritePart(1, *from).ok());
  };
  for (int i = 0; i < 3; ++i) write(store_);
  write(other.store());
  EXPECT_EQ(store_.SweepUnfinished(Duration::Hours(1)).value(), 0);
  const Duration now = Duration::Seconds(-2);  // times are whole seconds
  EXPECT_EQ(store_.SweepUnfinished(now).value(), 3);
  EXPECT_EQ(store_.SweepUnfinished(now).value(), 0);
  EXPECT_EQ(other.store().SweepUnfinished(now).value(), 1);
  EXPECT_EQ(store_.List("")->objects.size(), 1u);
}

TEST_F(GcsStore_, WhatIsWrongIsSaid) {
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
}  // namespace stoker::contract
