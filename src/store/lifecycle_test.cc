// SPDX-License-Identifier: Apache-2.0
#include "store/lifecycle.h"

#include <gtest/gtest.h>

#include <pugixml.hpp>

#include "base/json.h"

namespace stoker {
namespace {

using Deletes = std::vector<std::string>;

// Of one rule that is on, in a store below "a/b".
Lifecycle S3(const std::string& rule) {
  pugi::xml_document document;
  EXPECT_TRUE(document.load_string(("<LifecycleConfiguration><Rule><Status>Enabled</Status>" +
                                    rule + "</Rule></LifecycleConfiguration>")
                                       .c_str()));
  return ReadS3Lifecycle(document.child("LifecycleConfiguration"), "a/b");
}

// The same of Google's.
Lifecycle Gcs(const std::string& condition, const std::string& type = "Delete") {
  return ReadGcsLifecycle(nlohmann::json::parse(R"({"rule":[{"action":{"type":")" + type +
                                                R"("},"condition":)" + condition + "}]}"),
                          "a/b");
}

constexpr char kAborts[] =
    "<AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation>"
    "</AbortIncompleteMultipartUpload>";
constexpr char kClears[] =
    "<NoncurrentVersionExpiration><NoncurrentDays>5</NoncurrentDays></NoncurrentVersionExpiration>";
constexpr char kDeletes[] = "<Expiration><Days>9</Days></Expiration>";

TEST(LifecycleOfS3, CountsWhereItsPrefixReaches) {
  for (const std::string all :
       {"", "<Filter/>", "<Filter><Prefix/></Filter>", "<Filter><Prefix>a</Prefix></Filter>",
        "<Prefix>a/b/</Prefix>", "<Filter><And><Prefix>a/</Prefix></And></Filter>"}) {
    const Lifecycle out = S3(all + kAborts + kClears + kDeletes);
    EXPECT_TRUE(out.aborts) << all;
    EXPECT_EQ(out.clears_versions, 5) << all;
    EXPECT_EQ(out.deletes, Deletes{"everything in the store, 9 days after it was written"}) << all;
  }
  for (const std::string none :
       {"<Filter><Prefix>other/</Prefix></Filter>", "<Prefix>a/bc</Prefix>",
        "<Filter><Tag><Key>k</Key></Tag></Filter>",
        "<Filter><And><Prefix>a/</Prefix><Tag><Key>k</Key></Tag></And></Filter>"}) {
    const Lifecycle out = S3(none + kAborts + kClears + kDeletes);
    EXPECT_FALSE(out.aborts) << none;
    EXPECT_FALSE(out.clears_versions) << none;
    EXPECT_TRUE(out.deletes.empty()) << none;
  }
  const Lifecycle part =
      S3(std::string("<Filter><Prefix>a/b/tmp</Prefix></Filter>") + kAborts + kClears + kDeletes);
  EXPECT_FALSE(part.aborts);
  EXPECT_FALSE(part.clears_versions);
  EXPECT_EQ(part.deletes, Deletes{"what begins with 'a/b/tmp', 9 days after it was written"});
}

TEST(LifecycleOfS3, ReadsDatesSizesAndVersionsThatStay) {
  EXPECT_EQ(S3("<Expiration><Date>2027-01-01T00:00:00Z</Date></Expiration>").deletes,
            Deletes{"everything in the store, from 2027-01-01T00:00:00Z on"});
  EXPECT_TRUE(S3("<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker>"
                 "</Expiration>")
                  .deletes.empty());
  const Lifecycle large =
      S3(std::string("<Filter><ObjectSizeGreaterThan>5</ObjectSizeGreaterThan></Filter>") +
         kDeletes + kClears);
  EXPECT_EQ(large.deletes, Deletes{"everything in the store, on further conditions, 9 days after "
                                   "it was written"});
  EXPECT_FALSE(large.clears_versions);
  EXPECT_FALSE(S3("<NoncurrentVersionExpiration><NoncurrentDays>5</NoncurrentDays>"
                  "<NewerNoncurrentVersions>1</NewerNoncurrentVersions>"
                  "</NoncurrentVersionExpiration>")
                   .clears_versions);
  for (const char* days : {"", "x", "5x", "5.5", "-5", "0", "99999999999999999999"}) {
    EXPECT_FALSE(S3("<NoncurrentVersionExpiration><NoncurrentDays>" + std::string(days) +
                    "</NoncurrentDays></NoncurrentVersionExpiration>")
                     .clears_versions)
        << days;
  }
}

TEST(LifecycleOfGoogle, DeletesWhatIsLive) {
  EXPECT_EQ(Gcs(R"({"age":30})").deletes,
            Deletes{"everything in the store, 30 days after it was written"});
  EXPECT_EQ(Gcs(R"({"age":30,"isLive":true})").deletes.size(), 1u);
  EXPECT_EQ(Gcs(R"({"createdBefore":"2026-01-01","matchesPrefix":["c","a/b/x"]})").deletes,
            Deletes{"what begins with 'a/b/x', written before 2026-01-01"});
  EXPECT_EQ(Gcs(R"({"age":1,"matchesSuffix":[".log"]})").deletes,
            Deletes{"everything in the store, on further conditions, 1 days after it was written"});
  for (const char* spared :
       {R"({"age":30,"isLive":false})", R"({"daysSinceNoncurrentTime":3})",
        R"({"numNewerVersions":2})", R"({"daysSinceCustomTime":3})", R"({"customTimeBefore":"x"})",
        R"({"noncurrentTimeBefore":"2026-01-01"})", R"({"age":30,"matchesPrefix":["other/"]})"}) {
    EXPECT_TRUE(Gcs(spared).deletes.empty()) << spared;
  }
  EXPECT_TRUE(Gcs(R"({"age":30})", "SetStorageClass").deletes.empty());
  EXPECT_TRUE(Gcs(R"({"age":30})", "AbortIncompleteMultipartUpload").deletes.empty());
}

TEST(LifecycleOfGoogle, ClearsVersionsWhereNoneStays) {
  EXPECT_EQ(Gcs(R"({"daysSinceNoncurrentTime":3})").clears_versions, 3);
  EXPECT_EQ(Gcs(R"({"age":9,"isLive":false,"daysSinceNoncurrentTime":3})").clears_versions, 9);
  EXPECT_EQ(Gcs(R"({"age":30,"matchesPrefix":["a/"]})").clears_versions, 30);
  for (const char* not_all :
       {R"({"age":30,"isLive":true})", R"({"daysSinceNoncurrentTime":3,"numNewerVersions":2})",
        R"({"daysSinceNoncurrentTime":3,"matchesStorageClass":["NEARLINE"]})",
        R"({"daysSinceNoncurrentTime":3,"matchesPrefix":["a/b/x"]})",
        R"({"noncurrentTimeBefore":"2026-01-01"})", R"({"age":3,"createdBefore":"2026-01-01"})"}) {
    EXPECT_FALSE(Gcs(not_all).clears_versions) << not_all;
  }
}

TEST(LifecycleOfGoogle, WhatIsOddIsPassedOver) {
  for (const char* odd : {"null", "[]", R"({"rule":7})", R"({"rule":[7,{},{"action":1}]})",
                          R"({"rule":[{"action":{"type":"Delete"},"condition":[]}]})"}) {
    const Lifecycle out = ReadGcsLifecycle(nlohmann::json::parse(odd), "");
    EXPECT_TRUE(out.deletes.empty() && !out.clears_versions) << odd;
  }
}

}  // namespace
}  // namespace stoker
