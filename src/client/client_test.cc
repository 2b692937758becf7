// SPDX-License-Identifier: Apache-2.0
// What is done without a command line: with a caller that only listens.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/text.h"
#include "client/cancel.h"
#include "client/clear/rm.h"
#include "client/preempt.h"
#include "client/retry.h"
#include "client/submit/submit.h"
#include "ledger/records.h"
#include "provider/local/local_private.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

constexpr char kSpec[] = "run: 'true'\n";

class Heard : public Caller {
 public:
  void Say(const std::string& text) override { said.push_back(text); }
  void Progress(const std::string& /*text*/) override {}
  bool Confirm(const std::string& /*question*/) override { return false; }
  void Heed(const Settings& /*settings*/) override {}
  std::vector<std::string> said;
};

// A machine of its own, with nothing on it.
class ClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"}) {
      ::setenv(name, folder_.path().c_str(), 1);
    }
    client_ = std::make_unique<Client>(heard_);
  }

  std::string Submit() {
    Ledger& ledger = **client_->ledger_or_new();
    Job job;
    job.id = ledger.NewJobId();
    job.name = "train";
    job.spec_digest = Sha256Hex(kSpec);
    job.created = client_->clock().Wall();
    job.offers.emplace_back().ask.place.provider = "elsewhere";  // nobody starts a machine
    EXPECT_TRUE(CreateJob(ledger, job, kSpec).ok());
    return job.id;
  }
  std::vector<std::string> Cancel(const std::vector<std::string>& words) {
    std::vector<std::string> told;
    auto jobs = FindRunning(*client_, words);
    CancelJobs(
        *client_, true,
        [&](const Cancelled& one) {
          told.push_back(one.failed.ok() ? CancelledText(one) : one.failed.message());
        },
        &jobs);
    return told;
  }

  sys::TempDir folder_ = *sys::TempDir::Make("stoker-client");
  Heard heard_;
  std::unique_ptr<Client> client_;
};

TEST_F(ClientTest, WhereNobodyUsedAStoreThereIsNone) {
  EXPECT_TRUE(client_->ledger().status().Is(Code::kNotFound));
  EXPECT_TRUE(client_->no_store_yet());
  EXPECT_TRUE(heard_.said.empty());
  EXPECT_TRUE(client_->ledger_or_new().ok());
  ASSERT_EQ(heard_.said.size(), 1U);
  EXPECT_TRUE(StartsWith(heard_.said[0], "made a new store in ")) << heard_.said[0];
}

TEST_F(ClientTest, EachCancelledJobIsToldOnce) {
  const std::string one = Submit();
  const std::string other = Submit();
  const auto told = Cancel({one, "nobodys", other});
  ASSERT_EQ(told.size(), 3U);
  EXPECT_NE(told[0].find("nobodys"), std::string::npos) << told[0];
  EXPECT_EQ(told[1], "train (" + one + ") Cancelled");
  EXPECT_EQ(told[2], "train (" + other + ") Cancelled");
}

TEST_F(ClientTest, ANoticeOfMoreThanAWeekIsRefusedForItsLength) {
  const std::string job = Submit();
  EXPECT_EQ(Preempt(*client_, {job, -1, Duration::Hours(7 * 24 + 1)}).code(), Code::kUsage);
  EXPECT_EQ(Preempt(*client_, {job, -1, Duration::Hours(7 * 24)}).code(), Code::kInvalid)
      << "it has no machine yet";
}

TEST_F(ClientTest, WhatHasNotEndedIsNeitherRemovedNorBegunAgain) {
  const std::string id = Submit();
  RetryWish again;
  again.job = id;
  const Status refused = Retry(*client_, again).status();
  EXPECT_NE(refused.message().find("has not ended"), std::string::npos) << refused.message();
  const auto jobs = FindRemovable(*client_, {id});
  ASSERT_TRUE(jobs.ok());
  EXPECT_TRUE(jobs->ids.empty());
  EXPECT_EQ(jobs->refused.size(), 1U);
}

TEST_F(ClientTest, WhatHasEndedGoesInAnHourOrNow) {
  const std::string id = Submit();
  Cancel({id});
  auto jobs = FindRemovable(*client_, {id});
  ASSERT_TRUE(jobs.ok());
  EXPECT_EQ(jobs->ids, std::set<std::string>{id});
  EXPECT_EQ(RemoveJobs(*client_, false, &*jobs)->goes.count(id), 1U);
  EXPECT_EQ(RemoveJobs(*client_, true, &*jobs)->removed.jobs, std::vector<std::string>{id});
}

TEST_F(ClientTest, OfARefusedSubmitNoSecretStays) {
  Ledger& ledger = **client_->ledger_or_new();
  const std::string records = ledger.store().url() + "/records";
  SubmitRequest request;
  request.spec.run = "true";
  request.spec.resources.infra = "local";
  request.spec.secrets.push_back({"HF_TOKEN", ""});
  request.secret_values = {{"HF_TOKEN", "hunter2"}};
  request.shell_env = false;
  request.before_record = [&] {
    (void)sys::RemoveTree(records);
    ASSERT_TRUE(sys::WriteFileAtomic(records, "no folder").ok());
  };
  const auto refused = client::Submit(*client_, request);
  ASSERT_FALSE(refused.ok());
  EXPECT_FALSE(refused.status().transient()) << refused.status().ToString();
  EXPECT_TRUE(ListLocalPrivate(client_->places().state, ledger.id()).empty());
}

TEST_F(ClientTest, WhatHasEndedHasNoMachineToTake) {
  const std::string id = Submit();
  Cancel({id});
  PreemptWish wish;
  wish.job = id;
  EXPECT_TRUE(Preempt(*client_, wish).status().Is(Code::kInvalid));
}

}  // namespace
}  // namespace stoker::client
