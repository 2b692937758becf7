// SPDX-License-Identifier: Apache-2.0
#include "store/bucket_check.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "store/rights.h"

namespace stoker {
namespace {

using Level = BucketFinding::Level;

const BucketFinding& Of(const BucketCheck& facts, const std::string& what) {
  for (const BucketFinding& fact : facts.facts) {
    if (fact.what == what) return fact;
  }
  static const BucketFinding none{Level::kBad, "", "there is no such fact"};
  return none;
}

TEST(BucketCheck, VersionsStayUntilARuleClearsThemAway) {
  BucketCheck facts;
  ReadVersioning(std::string("<VersioningConfiguration><Status>Enabled</Status>"
                             "</VersioningConfiguration>"),
                 &facts);
  EXPECT_EQ(Of(facts, "versioning").level, Level::kNote);
  EXPECT_LT(facts.keeps_deleted_days, 0);
  ReadLifecycle(std::string("<LifecycleConfiguration><Rule><Status>Enabled</Status>"
                            "<NoncurrentVersionExpiration><NoncurrentDays>30</NoncurrentDays>"
                            "</NoncurrentVersionExpiration><AbortIncompleteMultipartUpload>"
                            "<DaysAfterInitiation>7</DaysAfterInitiation>"
                            "</AbortIncompleteMultipartUpload></Rule></LifecycleConfiguration>"),
                "a", &facts);
  EXPECT_EQ(Of(facts, "lifecycle").level, Level::kOk);
  EXPECT_EQ(facts.facts.back().text, "unfinished uploads go by a rule");
  EXPECT_EQ(facts.keeps_deleted_days, 30);
}

TEST(BucketCheck, ABucketAsItIsMadeKeepsNothing) {
  BucketCheck facts;
  ReadVersioning(std::string("<VersioningConfiguration/>"), &facts);
  ReadLifecycle(Status(Code::kNotFound, "NoSuchLifecycleConfiguration"), "", &facts);
  EXPECT_EQ(Of(facts, "versioning").level, Level::kOk);
  EXPECT_EQ(Of(facts, "lifecycle").level, Level::kNote);
  EXPECT_EQ(facts.keeps_deleted_days, 0);
}

// A rule that is off counts for nothing; one that deletes objects is told of.
TEST(BucketCheck, ARuleThatWouldDeleteTheLedgerIsTold) {
  BucketCheck facts;
  ReadLifecycle(std::string("<LifecycleConfiguration><Rule><Status>Enabled</Status><Expiration>"
                            "<Days>90</Days></Expiration></Rule><Rule><Status>Disabled</Status>"
                            "<AbortIncompleteMultipartUpload/></Rule></LifecycleConfiguration>"),
                "", &facts);
  EXPECT_NE(Of(facts, "lifecycle").text.find("90 days"), std::string::npos);
  EXPECT_EQ(Of(facts, "lifecycle").level, Level::kNote);
}

TEST(BucketCheck, VersionsFromBeforeTheyWereSuspendedAreThere) {
  BucketCheck facts;
  ReadVersioning(std::string("<VersioningConfiguration><Status>Suspended</Status>"
                             "</VersioningConfiguration>"),
                 &facts);
  EXPECT_EQ(Of(facts, "versioning").level, Level::kNote);
  EXPECT_NE(Of(facts, "versioning").text.find("suspended"), std::string::npos);
  EXPECT_EQ(facts.keeps_deleted_days, 0);
}

TEST(BucketCheck, RulesOfGoogleAreTold) {
  BucketCheck facts;
  ReadGcsBucket(std::string(R"({"versioning":{"enabled":true},
                                "softDeletePolicy":{"retentionDurationSeconds":"604800"},
                                "lifecycle":{"rule":[
    {"action":{"type":"Delete"},"condition":{"age":30,"matchesPrefix":["b/","a/x"]}},
    {"action":{"type":"Delete"},"condition":{"daysSinceNoncurrentTime":3}}]}})"),
                "a", &facts);
  EXPECT_EQ(facts.keeps_deleted_days, 10);
  EXPECT_NE(Of(facts, "versioning").text.find("after 3 days"), std::string::npos);
  EXPECT_EQ(Of(facts, "lifecycle").level, Level::kNote);
  EXPECT_EQ(Of(facts, "lifecycle").text.find("a rule deletes what begins with 'a/x', 30 days"), 0u);
}

TEST(BucketCheck, SoftDeleteOfGoogleIsReadAndCounted) {
  BucketCheck facts;
  ReadGcsBucket(std::string(R"({"location":"US","storageClass":"STANDARD",
                                "softDeletePolicy":{"retentionDurationSeconds":"604800"},
                                "versioning":{"enabled":false}})"),
                "a", &facts);
  EXPECT_EQ(facts.keeps_deleted_days, 7);
  EXPECT_NE(Of(facts, "soft delete").text.find("--clear-soft-delete"), std::string::npos);
  EXPECT_EQ(Of(facts, "versioning").level, Level::kOk);
  ReadGcsBucket(std::string(R"({"versioning":{"enabled":true}})"), "a", &facts);
  EXPECT_LT(facts.keeps_deleted_days, 0);
}

TEST(BucketCheck, WhatCannotBeReadIsANote) {
  const std::string deep(200'000, '[');
  const std::string end(200'000, ']');
  for (const Result<std::string>& answer :
       {Result<std::string>(R"({"location":)" + deep + end + "}"),
        Result<std::string>(Status(Code::kDenied, "AccessDenied")),
        Result<std::string>(std::string("<html")), Result<std::string>(std::string("[1,2"))}) {
    BucketCheck facts;
    ReadVersioning(answer, &facts);
    ReadLifecycle(answer, "a", &facts);
    ReadGcsBucket(answer, "a", &facts);
    ASSERT_EQ(facts.facts.size(), 3u);
    for (const BucketFinding& fact : facts.facts) EXPECT_EQ(fact.level, Level::kNote) << fact.text;
  }
}

TEST(Rights, NameThePartOfTheCloud) {
  for (const auto& [region, begin] : std::vector<std::pair<std::string, std::string>>{
           {"", "arn:aws:s3:::ours"},
           {"us-gov-west-1", "arn:aws-us-gov:s3:::ours"},
           {"cn-north-1", "arn:aws-cn:s3:::ours"}}) {
    auto rights = RightsFor("s3://ours", region);
    ASSERT_TRUE(rights.ok());
    const auto policy = nlohmann::json::parse(*rights->Find(kNodeFile));
    EXPECT_EQ(policy["Statement"][0]["Resource"], begin + "/*");
    EXPECT_EQ(policy["Statement"][1]["Resource"], begin);
    EXPECT_NE(rights->how.find("kms:GenerateDataKey"), std::string::npos);
  }
}

TEST(Rights, ArePoliciesOfTheBucketAndItsPrefix) {
  auto rights = RightsFor("s3://ours/team/a", "eu-west-1");
  ASSERT_TRUE(rights.ok());
  for (const std::string& text : {*rights->Find(kSubmitterFile), *rights->Find(kNodeFile)}) {
    const auto policy = nlohmann::json::parse(text);
    EXPECT_EQ(policy["Statement"][0]["Resource"], "arn:aws:s3:::ours/team/a/*");
    EXPECT_EQ(policy["Statement"][1]["Condition"]["StringLike"]["s3:prefix"], "team/a/*");
    EXPECT_EQ(text.find("\"*\""), std::string::npos);
  }
  EXPECT_EQ(RightsFor("/folder", "").code(), Code::kInvalid);
  auto google = RightsFor("gs://ours/a", "");
  ASSERT_TRUE(google.ok());
  EXPECT_EQ(nlohmann::json::parse(*google->Find(kBucketNodeFile))["includedPermissions"].size(),
            4u);
}

}  // namespace
}  // namespace stoker
