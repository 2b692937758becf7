// SPDX-License-Identifier: Apache-2.0
#include "ledger/scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/prng.h"
#include "base/text.h"
#include "ledger/paths.h"
#include "test/contract/ledger_kit.h"
#include "test/kit/counted.h"

namespace stoker {
namespace {

// A store whose requests cost something, as a bucket's do.
class Dear : public ForwardingStore {
 public:
  explicit Dear(ObjectStore& inner) : ForwardingStore(inner) { traits_.requests_are_free = false; }
  const StoreTraits& traits() const override { return traits_; }

 private:
  StoreTraits traits_;
};

class ScanTest : public testing::Test {
 protected:
  void Put(const std::string& key) { ASSERT_TRUE(memory.Put(key, "x").ok()); }
  // A job with `reports` reports.
  void Job(const std::string& id, int reports) {
    for (int i = 0; i < reports; ++i) Put(paths::Report(id, 1, i));
  }
  // What is found, as "<prefix> <count>" of those that are dealt with.
  std::map<std::string, int> Scan(std::vector<std::string> prefixes, size_t worth) {
    std::sort(prefixes.begin(), prefixes.end());
    std::map<std::string, std::set<std::string>> found;
    const auto result = ListWhileDense(counted, paths::AllReports(), prefixes, worth,
                                       [&](size_t index, const Listed& one) {
                                         EXPECT_LT(index, prefixes.size());
                                         EXPECT_TRUE(StartsWith(one.object.key, prefixes[index]));
                                         EXPECT_GT(one.now.ms, 0);
                                         found[prefixes[index]].insert(one.object.key);
                                       });
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    done = *result;
    std::map<std::string, int> counts;
    for (size_t i = 0; i < done; ++i) {
      counts[prefixes[i]] = static_cast<int>(found[prefixes[i]].size());
    }
    return counts;
  }

  MemoryStore memory;
  Dear dear{memory};
  CountedStore counted{dear};
  size_t done = 0;
};

TEST_F(ScanTest, FindsWhatIsThereAndOnlyThat) {
  Job("a", 3);
  Job("a-b", 2);
  Job("b", 1);
  Job("d", 4);
  const std::map<std::string, int> expected = {
      {"reports/a-b/", 2}, {"reports/a/", 3}, {"reports/c/", 0}, {"reports/d/", 4}};
  EXPECT_EQ(Scan({"reports/a/", "reports/a-b/", "reports/c/", "reports/d/"}, 1), expected);
  EXPECT_EQ(counted.counts().list, 1);
  EXPECT_TRUE(Scan({}, 1).empty());
  EXPECT_EQ(counted.counts().list, 1) << "nothing is asked for nothing";
}

TEST_F(ScanTest, AsksOnceForAThousandObjects) {
  std::vector<std::string> prefixes;
  for (int i = 0; i < 2'500; ++i) {
    const std::string id = "job" + std::to_string(10'000 + i);
    Job(id, 2);
    prefixes.push_back(paths::Reports(id));
  }
  EXPECT_EQ(Scan(prefixes, 4).size(), 2'500U);
  EXPECT_EQ(counted.counts().list, 5);
}

TEST_F(ScanTest, LeapsOverWhatLiesBetween) {
  std::vector<std::string> prefixes;
  for (int i = 0; i < 8; ++i) {
    const std::string id = "job" + std::to_string(i);
    Job(id, 5);
    prefixes.push_back(paths::Reports(id));
    Job(id + "-of-others", 4'000);
  }
  const auto found = Scan(prefixes, 1);
  EXPECT_EQ(found.size(), 8U);
  for (const auto& [prefix, count] : found) EXPECT_EQ(count, 5) << prefix;
  EXPECT_LE(counted.counts().list, 8);
}

TEST_F(ScanTest, StopsWhereItIsNotWorthIt) {
  std::vector<std::string> prefixes;
  for (int i = 0; i < 100; ++i) {
    const std::string id = "job" + std::to_string(1'000 + i);
    Job(id, 5);
    prefixes.push_back(paths::Reports(id));
    if (i == 49) Job(id + "-of-others", 4'000);
  }
  const auto found = Scan(prefixes, 60);
  EXPECT_EQ(found.size(), 49U) << "the one before the gap may have more on the next page";
  EXPECT_EQ(counted.counts().list, 1);
  for (const auto& [prefix, count] : found) EXPECT_EQ(count, 5) << prefix;
}

TEST_F(ScanTest, OneJobThatFillsPagesEndsTheScan) {
  Job("a", 2'500);
  Job("b", 1);
  EXPECT_TRUE(Scan({"reports/a/", "reports/b/"}, 1).empty());
  EXPECT_EQ(counted.counts().list, 1);
}

TEST_F(ScanTest, AsksNothingWhereRequestsAreFree) {
  Job("a", 1);
  size_t found = 0;
  class Free : public ForwardingStore {
   public:
    explicit Free(ObjectStore& inner) : ForwardingStore(inner) { traits_.requests_are_free = true; }
    const StoreTraits& traits() const override { return traits_; }

   private:
    StoreTraits traits_;
  } free(counted);
  const auto result =
      ListWhileDense(free, "reports/", {"reports/a/"}, 1, [&](size_t, const Listed&) { ++found; });
  EXPECT_EQ(*result, 0U);
  EXPECT_EQ(found, 0U);
  EXPECT_EQ(counted.counts().list, 0);
}

// Against what a list of everything says.
TEST_F(ScanTest, RandomOnesFindTheSameAsEachAlone) {
  Prng prng(3);
  for (int round = 0; round < 40; ++round) {
    MemoryStore store;
    Dear paid(store);
    std::map<std::string, int> expected;
    std::vector<std::string> prefixes;
    const auto jobs = static_cast<int>(prng.Between(1, 60));
    for (int i = 0; i < jobs; ++i) {
      const std::string id = prng.Base32(3);
      const auto reports =
          static_cast<int>(prng.Chance(1, 8) ? prng.Between(0, 1'500) : prng.Between(0, 40));
      if (expected.contains(paths::Reports(id))) continue;
      for (int r = 0; r < reports; ++r) ASSERT_TRUE(store.Put(paths::Report(id, 1, r), "").ok());
      if (!prng.Chance(1, 2)) continue;
      prefixes.push_back(paths::Reports(id));
      expected[prefixes.back()] = reports;
    }
    std::sort(prefixes.begin(), prefixes.end());
    const size_t worth = prng.Between(1, 6);
    std::map<std::string, int> found;
    const auto result =
        ListWhileDense(paid, paths::AllReports(), prefixes, worth,
                       [&](size_t index, const Listed&) { ++found[prefixes[index]]; });
    ASSERT_TRUE(result.ok());
    for (size_t i = 0; i < *result; ++i) {
      EXPECT_EQ(found[prefixes[i]], expected[prefixes[i]]) << prefixes[i];
    }
  }
}

}  // namespace
}  // namespace stoker
