// SPDX-License-Identifier: Apache-2.0
#include "client/open/ledger_proof.h"

#include <gtest/gtest.h>

#include "ledger/paths.h"
#include "ledger/records.h"
#include "test/contract/ledger_kit.h"

namespace stoker::client {
namespace {

class ProveTest : public ::testing::Test {
 protected:
  // A job whose `requests` were made by the ledger `id`.
  void Add(const std::string& name, const std::string& id, int requests, int64_t opened) {
    Job job = kit_.MakeJob(name, "digits");
    for (int i = 0; i < requests; ++i) {
      Request& request = AppendRequest(job, {0});
      request.opened = WallTime{opened + i};
      request.token = RequestToken(id, job, request);
    }
    ASSERT_TRUE(CreateJob(*kit_.ledger, job, "").ok());
  }
  LedgerProof Prove(const std::vector<std::string>& ids) {
    return ProveLedger(kit_.memory, ids).value();
  }
  LedgerKit kit_;
};

TEST_F(ProveTest, TheIdOfWhoeverMadeTheNewestRequest) {
  EXPECT_FALSE(HasRecords(kit_.memory).value());
  Add("aaa1", "lold", 1, 1000);
  Add("aaa2", "lnew", 2, 5000);
  Add("aaa3", "lold", 1, 2000);
  Add("aaa4", "lold", 0, 0);
  EXPECT_TRUE(HasRecords(kit_.memory).value());
  const LedgerProof proof = Prove({"lx", "lold", "lnew"});
  EXPECT_EQ(proof.id, "lnew");
  EXPECT_EQ(proof.job, "aaa2");
  EXPECT_EQ(proof.requests, 4);
  EXPECT_EQ(Prove({"lold"}).id, "lold");
  EXPECT_EQ(Prove({"lx"}).id, "") << "an id that is only remembered is not taken";
  EXPECT_EQ(Prove({"lx"}).requests, 4);
}

TEST_F(ProveTest, WhatCannotBeReadIsPassedOver) {
  Add("aaa1", "lold", 1, 1000);
  ASSERT_TRUE(kit_.memory.Put(paths::Record("aaa0"), "{").ok());
  EXPECT_EQ(Prove({"lold"}).id, "lold");
}

}  // namespace
}  // namespace stoker::client
