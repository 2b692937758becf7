// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/api/ec2_simulate.h"

#include <gtest/gtest.h>

namespace stoker::ec2 {
namespace {

using Outcome = Simulated::Outcome;

std::string Member(const std::string& action, const std::string& decision,
                   const std::string& missing = "") {
  return "<member><MatchedStatements/><MissingContextValues>" + missing +
         "</MissingContextValues><EvalResourceName>arn:aws:s3:::ours/a/x</EvalResourceName>"
         "<EvalActionName>" +
         action + "</EvalActionName><EvalDecision>" + decision + "</EvalDecision></member>";
}

Simulated Read(const std::string& members) {
  return ReadSimulation(
      R"(<SimulatePrincipalPolicyResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/">)"
      "<SimulatePrincipalPolicyResult><IsTruncated>false</IsTruncated><EvaluationResults>" +
          members +
          "</EvaluationResults></SimulatePrincipalPolicyResult><ResponseMetadata/>"
          "</SimulatePrincipalPolicyResponse>",
      {"s3:GetObject", "s3:PutObject"});
}

TEST(Simulation, AllowsWhatEachPolicyAllows) {
  const Simulated told =
      Read(Member("s3:GetObject", "allowed") + Member("s3:PutObject", "allowed"));
  EXPECT_EQ(told.outcome, Outcome::kAllowed);
  EXPECT_TRUE(told.lacks.empty());
}

TEST(Simulation, TellsANoThatIsSureFromOneThatIsNot) {
  const std::string put = Member("s3:PutObject", "allowed");
  EXPECT_EQ(Read(Member("s3:GetObject", "implicitDeny") + put).outcome, Outcome::kNoPolicy);
  EXPECT_EQ(Read(Member("s3:GetObject", "explicitDeny") + put).outcome, Outcome::kDenied);
  // A condition on a key that only a real request has, such as the VPC's endpoint.
  const std::string missing = "<member>aws:SourceVpce</member>";
  EXPECT_EQ(Read(Member("s3:GetObject", "implicitDeny", missing) + put).outcome, Outcome::kUnclear);
  const Simulated both =
      Read(Member("s3:GetObject", "implicitDeny") + Member("s3:PutObject", "explicitDeny"));
  EXPECT_EQ(both.outcome, Outcome::kDenied);
  EXPECT_EQ(both.lacks, (std::vector<std::string>{"s3:GetObject", "s3:PutObject"}));
}

TEST(Simulation, WhatIsNotSaidIsUnclear) {
  EXPECT_EQ(Read(Member("s3:GetObject", "allowed")).outcome, Outcome::kUnclear);
  EXPECT_EQ(Read("").outcome, Outcome::kUnclear);
  EXPECT_EQ(ReadSimulation("no XML", {"s3:GetObject"}).outcome, Outcome::kUnclear);
}

}  // namespace
}  // namespace stoker::ec2
