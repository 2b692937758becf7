// SPDX-License-Identifier: Apache-2.0
// What the contracts of the adapters of buckets share. Each is a program of its own, on a server
// that its script has started; the script says where in the environment.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "test/contract/object_store_suite.h"

namespace stoker::contract {

// A variable that the script sets; the test fails without it.
std::string Variable(const char* name);
// This machine's clock.
WallTime Now();

// A prefix of its own in the bucket.
class BucketSubject : public Subject {
 public:
  using Opener = std::function<Result<std::unique_ptr<ObjectStore>>(const std::string& prefix)>;
  explicit BucketSubject(Opener open);
  ObjectStore& store() override { return *store_; }
  std::unique_ptr<ObjectStore> Reopen() override;

 private:
  const Opener open_;
  const std::string prefix_;
  std::unique_ptr<ObjectStore> store_;
};

class BucketTest : public ::testing::Test {
 protected:
  BucketTest();
  const std::unique_ptr<Subject> subject_;
  ObjectStore& store_;
};

// ---- each service's own ----

std::unique_ptr<Subject> FreshSubject();
// Of an object that an upload sends in several requests.
size_t LargeObjectBytes();

}  // namespace stoker::contract
