// SPDX-License-Identifier: Apache-2.0
#include "provider/left_behind.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

class Other : public Provider {
 public:
  const ProviderTraits& traits() const override { return traits_; }
  LaunchAnswer Launch(const LaunchRequest&) override { return std::vector<std::string>{"i-1"}; }
  Result<InstancesSeen> Describe(const std::string&, const std::string&) override {
    ++asked;
    if (!answer.ok()) return answer;
    return InstancesSeen();
  }
  Status Terminate(const std::string&) override { return Status::Ok(); }
  Status Interrupt(const std::string&, Duration) override { return Status::Ok(); }

  Status answer;
  int asked = 0;

 private:
  ProviderTraits traits_;
};

Job OfferedAt(std::initializer_list<const char*> providers) {
  Job job;
  for (const char* name : providers) {
    job.offers.emplace_back();
    job.offers.back().ask.place.provider = name;
  }
  return job;
}

class LeftBehindTest : public testing::Test {
 protected:
  // As a pass does: false, where it is left to others.
  bool Look(const std::string& name = "ec2") {
    Provider* const provider = left_.ToAsk(name, &other_);
    if (provider == nullptr) return false;
    (void)provider->Describe("ledger", "job");
    return left_.ToAsk(name, &other_) != nullptr;
  }

  Other other_;
  LeftBehind left_{"gce"};
};

TEST_F(LeftBehindTest, WhatRefusesIsAskedNoMoreOnceTheJobHasLeft) {
  other_.answer = Status(Code::kDenied, "no AWS credentials were found");
  left_.Heard(OfferedAt({"gce"}));
  EXPECT_FALSE(Look());
  EXPECT_FALSE(Look());
  EXPECT_EQ(other_.asked, 1);
}

TEST_F(LeftBehindTest, WhereTheJobCanStillHaveMachinesARefusalIsTold) {
  other_.answer = Status(Code::kDenied, "no AWS credentials were found");
  EXPECT_TRUE(Look());  // nothing of the job is known yet
  left_.Heard(OfferedAt({"gce", "ec2"}));
  EXPECT_TRUE(Look());
  EXPECT_TRUE(left_.ToAsk("ec2", &other_)->Launch({}).ok());
  Job moving = OfferedAt({"gce"});
  moving.move.emplace();
  moving.move->offers = OfferedAt({"ec2"}).offers;
  left_.Heard(moving);
  EXPECT_TRUE(Look());
  left_.Heard(OfferedAt({"gce"}));
  EXPECT_FALSE(Look());
  left_.Heard(moving);  // back there
  other_.answer = Status::Ok();
  EXPECT_TRUE(Look());
  left_.Heard(OfferedAt({"gce"}));
  EXPECT_TRUE(Look());
}

TEST_F(LeftBehindTest, WhatAnswersOrMayAnswerLaterIsAsked) {
  left_.Heard(OfferedAt({"gce"}));
  EXPECT_TRUE(Look());
  other_.answer = Status(Code::kUnavailable, "no answer");
  EXPECT_TRUE(Look());
  other_.answer = Status(Code::kDenied, "of its own");
  EXPECT_TRUE(Look("gce"));
  EXPECT_EQ(left_.ToAsk("gce", &other_), &other_);
  EXPECT_EQ(left_.ToAsk("slurm", nullptr), nullptr);
}

}  // namespace
}  // namespace stoker
