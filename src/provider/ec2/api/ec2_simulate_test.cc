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
  EXPECT_EQ(
      Read("<member><EvalActionName>s3:GetObject</EvalActionName>"
           "<EvalDecision>implicitDeny</EvalDecision><ResourceSpecificResults><member>"
           "<EvalResourceDecision>implicitDeny</EvalResourceDecision><MissingContextValues>" +
           missing + "</MissingContextValues></member></ResourceSpecificResults></member>" + put)
          .outcome,
      Outcome::kUnclear);
  const std::string of_endpoint =
      "<SimulatePrincipalPolicyResponse><SimulatePrincipalPolicyResult>"
      "<EvaluationResults>" +
      Member("s3:PutObject", "implicitDeny", missing) +
      "</EvaluationResults></SimulatePrincipalPolicyResult>"
      "</SimulatePrincipalPolicyResponse>";
  EXPECT_EQ(ReadSimulation(of_endpoint, {"s3:PutObject"}, {"aws:SourceVpce"}).outcome,
            Outcome::kNoPolicy);
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

TEST(Questions, HaveNamesForPatternsAndValuesForConditions) {
  const auto all = AskedOf(R"({"Version": "2012-10-17", "Statement": [
      {"Sid": "A", "Effect": "Allow", "Action": ["ec2:TerminateInstances", "ec2:CreateTags"],
       "Resource": ["arn:aws:ec2:*:*:instance/*", "arn:aws:ec2:*:*:volume/*"],
       "Condition": {"Null": {"aws:ResourceTag/stoker-ledger": "false"}}},
      {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "arn:aws:s3:::ours",
       "Condition": {"StringLike": {"s3:prefix": "a/*"},
                     "StringEquals": {"ec2:CreateAction": ["RunInstances", "Other"]}}},
      {"Effect": "Allow", "Action": "ec2:RunInstances", "Resource": "*"}]})",
                           "eu-west-1", "123");
  ASSERT_TRUE(all.ok()) << all.status().ToString();
  ASSERT_EQ(all->size(), 3U);
  EXPECT_EQ((*all)[0].actions,
            (std::vector<std::string>{"ec2:TerminateInstances", "ec2:CreateTags"}));
  EXPECT_EQ((*all)[0].resource, "arn:aws:ec2:eu-west-1:123:instance/trial");
  using Context = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ((*all)[0].context, (Context{{"aws:ResourceTag/stoker-ledger", "trial"}}));
  EXPECT_EQ((*all)[0].absent, (std::vector<std::string>{"ec2:CreateAction", "s3:prefix"}));
  EXPECT_EQ((*all)[1].resource, "arn:aws:s3:::ours");
  EXPECT_EQ((*all)[1].context,
            (Context{{"ec2:CreateAction", "RunInstances"}, {"s3:prefix", "a/trial"}}));
  EXPECT_EQ((*all)[2].resource, "*");
}

TEST(Questions, ThatCannotBeAskedAreNoSilence) {
  for (const char* policy :
       {"", "{}", R"({"Statement": ["x"]})",
        R"({"Statement": [{"Effect": "Deny", "Action": "a:B", "Resource": "*"}]})",
        R"({"Statement": [{"Effect": "Allow", "Action": "a:B", "Resource": "*",
            "Condition": {"NumericLessThan": {"a:c": "3"}}}]})"}) {
    EXPECT_TRUE(AskedOf(policy, "r", "1").status().Is(Code::kInvalid)) << policy;
  }
}

}  // namespace
}  // namespace stoker::ec2
