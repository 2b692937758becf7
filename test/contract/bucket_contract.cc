// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "sys/file.h"
#include "test/contract/bucket_subject.h"

namespace stoker::contract {
namespace {

std::string FreshPrefix() {
  static std::atomic<int> count = 0;
  return "contract/" + std::to_string(getpid()) + "-" + std::to_string(++count);
}

// These servers look through all that a bucket holds for each answer: what a check leaves makes
// every later one slow.
void Empty(ObjectStore& store) {
  std::vector<std::string> left;
  const Status listed = ListAll(store, "", [&](const ObjectInfo& info) {
    left.push_back(info.key);
    return Status::Ok();
  });
  EXPECT_TRUE(listed.ok()) << listed.ToString();
  for (const std::string& key : left) EXPECT_TRUE(store.Delete(key).ok()) << key;
}

class BucketContract : public ::testing::TestWithParam<Check> {};

TEST_P(BucketContract, Holds) {
  const auto subject = FreshSubject();
  Findings findings;
  GetParam().run(*subject, findings);
  for (const std::string& finding : findings.all()) ADD_FAILURE() << finding;
  Empty(subject->store());
}

INSTANTIATE_TEST_SUITE_P(All, BucketContract, ::testing::ValuesIn(AllChecks()),
                         [](const ::testing::TestParamInfo<Check>& one) { return one.param.name; });

// In several requests, from a file and from memory, under every condition.
TEST_F(BucketTest, LargeObjectsComeBackAsTheyWere) {
  std::string data;
  for (int64_t i = 0; data.size() < LargeObjectBytes(); ++i) data += std::to_string(i * 7919);
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

}  // namespace

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name << " is not set: run the script of this contract";
  return value == nullptr ? "" : value;
}

WallTime Now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return WallTime{std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

BucketSubject::BucketSubject(Opener open) : open_(std::move(open)), prefix_(FreshPrefix()) {
  store_ = Reopen();
}

std::unique_ptr<ObjectStore> BucketSubject::Reopen() {
  auto store = open_(prefix_);
  EXPECT_TRUE(store.ok()) << store.status().ToString();
  return store.ok() ? std::move(*store) : nullptr;
}

BucketTest::BucketTest() : subject_(FreshSubject()), store_(subject_->store()) {}

}  // namespace stoker::contract
