// SPDX-License-Identifier: Apache-2.0
#include "view/ran.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "ledger/paths.h"
#include "test/kit/memory_store.h"

namespace stoker {
namespace {

Ran With(const std::string& driver, std::vector<Package> packages) {
  Ran ran;
  ran.facts.attempt = 1;
  ran.facts.nvidia_driver = driver;
  ran.facts.python_version = "3.11.2";
  ran.packages = std::move(packages);
  return ran;
}

TEST(Ran, NamesWhatWasAddedRemovedAndChanged) {
  const Ran before = With("550", {{"numpy", "1.26", ""}, {"old", "1", ""}, {"same", "1", ""}});
  const Ran after =
      With("560", {{"new", "2", ""}, {"numpy", "1.26", "editable"}, {"same", "1", ""}});
  std::string text;
  for (const FactDifference& one : DifferencesOf(before, after)) {
    text += one.name + ":" + one.before + ">" + one.after + "\n";
  }
  EXPECT_EQ(text, "NVIDIA driver:550>560\nnew:>2\nnumpy:1.26>1.26 (editable)\nold:1>\n");
  EXPECT_TRUE(DifferencesOf(before, before).empty());
}

TEST(Ran, TheSameEnvironmentInTwoFoldersIsTheSame) {
  Ran one = With("550", {});
  one.facts.environment_key = "k";
  Ran other = one;
  one.facts.environment = "/a/k-1";
  one.facts.python = "/a/k-1/bin/python";
  other.facts.environment = "/b/k-2";
  other.facts.python = "/b/k-2/bin/python";
  EXPECT_TRUE(DifferencesOf(one, other).empty());
}

TEST(Ran, TheImageOfAContainerIsAFact) {
  Ran one = With("", {});
  one.facts.python_version = "";
  one.facts.image = "localhost/a:1";
  one.facts.image_id = std::string(64, 'a');
  Ran other = one;
  other.facts.image_id = std::string(64, 'b');
  const auto differences = DifferencesOf(one, other);
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].name, "container");
  EXPECT_EQ(differences[0].after, "localhost/a:1 (bbbbbbbbbbbb)");
  EXPECT_EQ(RanLine(one.facts), "container of localhost/a:1");
}

TEST(Ran, OfVariablesThoseOfShellAndSetupAreHeldAgainstEachOther) {
  Ran ran;
  ran.facts.variables = {{"A", "1", "job", false},
                         {"B", "2", "shell", false},
                         {"C", std::nullopt, "setup", false},
                         {"D", std::nullopt, "secret", true},
                         {"STOKER_ATTEMPT", "1", "stoker", false}};
  EXPECT_EQ(OtherVariables(ran), (Facts{{"B", "2"}, {"C", "(not told)"}, {"D", "(secret)"}}));
}

class RanInStore : public ::testing::Test {
 protected:
  RanInStore() {
    job_.id = "j1";
    Request request;
    request.number = 1;
    request.ask.place = {"aws", "", "us-east-1", "us-east-1a"};
    request.ask.type = "g5.xlarge";
    request.slots = {0};
    job_.requests = {request};
    Launch launch;
    launch.number = launch.request = 1;
    job_.launches = {launch};
    for (int number : {1, 2, 3}) {
      Attempt attempt;
      attempt.number = number;
      attempt.launches = {1};
      job_.attempts.push_back(attempt);
    }
  }
  void Tell(int attempt, const std::string& python) {
    RunFacts facts;
    facts.attempt = attempt;
    facts.python_version = python;
    facts.packages = "d1";
    ASSERT_TRUE(store_.Put(paths::Ran("j1", attempt, 0), EncodeRunFacts(facts)).ok());
  }
  MemoryStore store_;
  Job job_;
  Status trouble_;
};

TEST_F(RanInStore, IsReadByAttempt) {
  ASSERT_TRUE(
      store_.Put(paths::RanPackages("j1", "d1"), EncodePackages({{"numpy", "1", ""}})).ok());
  Tell(1, "3.10.1");
  Tell(2, "3.11.2");
  const auto all = ReadRan(store_, job_, &trouble_);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].machine, "aws us-east-1 us-east-1a, g5.xlarge");
  EXPECT_EQ(all[1].packages, (std::vector<Package>{{"numpy", "1", ""}}));
  EXPECT_EQ(ReadNewestRan(store_, job_, &trouble_)->facts.python_version, "3.11.2");
  EXPECT_TRUE(trouble_.ok());
  const auto json = RanJson(all);
  EXPECT_EQ(json["ran"].size(), 2u);
  EXPECT_EQ(json["packages"]["d1"][0]["version"], "1");
}

TEST_F(RanInStore, IsOneLineOfTheNewest) {
  EXPECT_FALSE(NewestRunFacts(store_, job_).has_value());
  Tell(1, "3.10.1");
  const auto facts = NewestRunFacts(store_, job_);
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(RanLine(*facts), "Python 3.10.1, 0 packages");
  RunFacts more = *facts;
  more.nvidia_driver = "550.54";
  more.cuda = "12.4";
  more.kernel = "6.1.0";
  more.package_count = 1;
  EXPECT_EQ(RanLine(more),
            "Python 3.10.1, 1 package, NVIDIA driver 550.54 (CUDA 12.4), kernel 6.1.0");
}

TEST_F(RanInStore, AnOldJobHasNoneAndADamagedOneIsSaid) {
  EXPECT_TRUE(ReadRan(store_, job_, &trouble_).empty());
  EXPECT_FALSE(ReadNewestRan(store_, job_, &trouble_).has_value());
  EXPECT_TRUE(trouble_.ok());
  ASSERT_TRUE(store_.Put(paths::Ran("j1", 3, 0), "no").ok());
  Tell(1, "3.10.1");
  EXPECT_EQ(ReadNewestRan(store_, job_, &trouble_)->facts.attempt, 1);
  EXPECT_FALSE(trouble_.ok());
}

}  // namespace
}  // namespace stoker
