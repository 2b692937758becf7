// SPDX-License-Identifier: Apache-2.0
// Runs the contract of the store port on every adapter.
#include <gtest/gtest.h>

#include "store/local/local_store.h"
#include "sys/file.h"
#include "test/contract/object_store_suite.h"
#include "test/kit/counted.h"
#include "test/kit/memory_store.h"

namespace stoker::contract {
namespace {

class MemorySubject : public Subject {
 public:
  ObjectStore& store() override { return store_; }
  std::unique_ptr<ObjectStore> Reopen() override { return nullptr; }

 private:
  MemoryStore store_;
};

class LocalSubject : public Subject {
 public:
  explicit LocalSubject(bool durable) : durable_(durable), dir_(*sys::TempDir::Make()) {
    store_ = Open();
  }
  ObjectStore& store() override { return *store_; }
  std::unique_ptr<ObjectStore> Reopen() override { return Open(); }
  bool shares_names() const override { return false; }
  const std::string& path() const { return dir_.path(); }

 private:
  std::unique_ptr<ObjectStore> Open() {
    LocalStore::Options options;
    options.durable = durable_;
    options.part_bytes = 5 << 20;  // so that objects of tests have several
    auto store = LocalStore::Open(dir_.path(), options);
    return store.ok() ? std::move(*store) : nullptr;
  }
  bool durable_;
  sys::TempDir dir_;
  std::unique_ptr<ObjectStore> store_;
};

class CountedSubject : public Subject {
 public:
  ObjectStore& store() override { return counted_; }
  std::unique_ptr<ObjectStore> Reopen() override { return local_.Reopen(); }
  bool shares_names() const override { return false; }

 private:
  LocalSubject local_{false};
  CountedStore counted_{local_.store()};
};

struct Adapter {
  std::string name;
  bool processes;  // also the checks that fork; others would only repeat them
  bool many;       // also the checks that write many objects
  std::function<std::unique_ptr<Subject>()> make;
};

std::vector<Adapter> Adapters() {
  return {{"Memory", false, true, [] { return std::make_unique<MemorySubject>(); }},
          {"Local", true, true, [] { return std::make_unique<LocalSubject>(false); }},
          {"LocalDurable", true, false, [] { return std::make_unique<LocalSubject>(true); }},
          {"CountedLocal", false, false, [] { return std::make_unique<CountedSubject>(); }}};
}

struct Case {
  Adapter adapter;
  Check check;
  std::string name() const { return adapter.name + "_" + check.name; }
};
// For GoogleTest's messages: it would print the bytes.
void PrintTo(const Case& one, std::ostream* out) { *out << one.name(); }

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Adapter& adapter : Adapters()) {
    for (const Check& check : AllChecks()) {
      const bool skipped = (check.processes && !adapter.processes) || (check.many && !adapter.many);
      if (!skipped) cases.push_back({adapter, check});
    }
  }
  return cases;
}

class ObjectStoreContract : public ::testing::TestWithParam<Case> {};

TEST_P(ObjectStoreContract, Holds) {
  const auto subject = GetParam().adapter.make();
  Findings findings;
  GetParam().check.run(*subject, findings);
  for (const std::string& finding : findings.all()) ADD_FAILURE() << finding;
}

INSTANTIATE_TEST_SUITE_P(All, ObjectStoreContract, ::testing::ValuesIn(Cases()),
                         [](const ::testing::TestParamInfo<Case>& one) {
                           return one.param.name();
                         });

}  // namespace
}  // namespace stoker::contract
