// SPDX-License-Identifier: Apache-2.0
#include "cli/words/job_fields.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sys/real_clock.h"
#include "test/kit/memory_store.h"

namespace stoker::cli {
namespace {

TEST(Where, SaysAtWhichColumnWhatWasExpected) {
  EXPECT_TRUE(ParseWhere("lr<0.1 and state=Succeeded").ok());
  EXPECT_EQ(ParseWhere("name = 'a b'")->at(0).value.text, "a b");
  EXPECT_EQ(ParseWhere("age>1h")->at(0).value.number, 3600.0);
  for (const auto& [text, column] : {std::pair{"", "column 1:"},
                                     {"lr", "column 3:"},
                                     {"lr<", "column 4:"},
                                     {"lr<1 or a=2", "column 6:"},
                                     {"a='x", "column 3:"},
                                     {"a=1 and", "column 8:"},
                                     {"<1", "column 1:"}}) {
    const auto terms = ParseWhere(text);
    ASSERT_FALSE(terms.ok()) << text;
    EXPECT_NE(terms.status().message().find(column), std::string::npos)
        << terms.status().ToString();
  }
}

TEST(Where, ComparesNumbersByValueAndTheRestAsText) {
  const auto holds = [](const std::string& where, const FieldValue& value) {
    return Holds(ParseWhere(where)->at(0), value);
  };
  EXPECT_TRUE(holds("a<10", {"9", 9.0}));
  EXPECT_TRUE(holds("a=1e-2", {"0.01", 0.01}));
  EXPECT_FALSE(holds("a<1", {"nan", std::nan("")}));
  EXPECT_TRUE(holds("a=nan", {"nan", std::nan("")}));
  EXPECT_TRUE(holds("s!=Failed", {"Succeeded", {}}));
  EXPECT_FALSE(Holds(ParseWhere("a!=1")->at(0), std::nullopt));
}

TEST(Where, ATagIsOneOfSeveral) {
  MemoryStore store;
  RealClock clock;
  auto ledger = Ledger::Open(store, clock, 1);
  ASSERT_TRUE(ledger.ok());
  JobFields fields(**ledger, {});
  Summary job;
  const auto holds = [&](const std::string& where) {
    const auto terms = ParseWhere(where);
    return Holds(terms->at(0), fields.Get(job, terms->at(0).name));
  };
  EXPECT_FALSE(holds("tag=best"));
  EXPECT_TRUE(holds("tag!=best"));
  job.said = std::make_shared<SaidOfJob>(SaidOfJob{{"best", "v2"}, "", ""});
  EXPECT_TRUE(holds("tag=best"));
  EXPECT_TRUE(holds("tags=v2"));
  EXPECT_FALSE(holds("tag=v"));
  EXPECT_FALSE(holds("tag!=best"));
}

TEST(SortBy, PutsNumbersFirstAndWhoHasNoneLast) {
  MemoryStore store;
  std::vector<Summary> jobs(4);
  const double values[] = {3, std::nan(""), 1};
  for (size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].id = "job" + std::to_string(i);
    if (i < 3) jobs[i].metrics.push_back({"loss", values[i], 1, values[i], values[i]});
  }
  RealClock clock;
  auto ledger = Ledger::Open(store, clock, 1);
  ASSERT_TRUE(ledger.ok());
  JobFields fields(**ledger, {});
  SortBy(&jobs, "loss", false, fields);
  EXPECT_EQ(jobs[0].id + jobs[1].id + jobs[2].id + jobs[3].id, "job2job0job1job3");
  SortBy(&jobs, "max.loss", true, fields);
  EXPECT_EQ(jobs[0].id + jobs[1].id + jobs[2].id + jobs[3].id, "job0job2job1job3");
}

}  // namespace
}  // namespace stoker::cli
