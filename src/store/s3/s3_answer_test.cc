// SPDX-License-Identifier: Apache-2.0
#include "store/s3/s3_answer.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace stoker::s3 {
namespace {

constexpr char kList[] = R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>
<Prefix>team/</Prefix><EncodingType>url</EncodingType><MaxKeys>2</MaxKeys>
<IsTruncated>true</IsTruncated>
<Contents><Key>team/a+b%2Bc%20d%C3%A9</Key><LastModified>2026-11-21T10:00:00.123Z</LastModified>
<ETag>&quot;900150983cd24fb0d6963f7d28e17f72&quot;</ETag><Size>3</Size></Contents>
<Contents><Key>team/z</Key><LastModified>2026-11-21T10:00:01.000Z</LastModified>
<ETag>"x-2"</ETag><Size>5368709120</Size></Contents></ListBucketResult>)";

TEST(S3Answer, ReadsListings) {
  const auto page = ParseListing("GET b", kList, "team/");
  ASSERT_TRUE(page.ok()) << page.status().ToString();
  ASSERT_EQ(page->listing.objects.size(), 2u);
  EXPECT_EQ(page->listing.objects[0].key, "a b+c d\xc3\xa9");
  EXPECT_EQ(page->listing.objects[0].version, "\"900150983cd24fb0d6963f7d28e17f72\"");
  EXPECT_EQ(FormatRfc3339(page->listing.objects[0].last_modified), "2026-11-21T10:00:00.123Z");
  EXPECT_EQ(page->listing.objects[1].size, 5'368'709'120);
  EXPECT_EQ(page->listing.next, "z");
}

// versitygw does not know encoding-type, and says so by saying nothing of it.
TEST(S3Answer, DecodesOnlyWhatIsEncoded) {
  std::string plain = kList;
  const std::string said = "<EncodingType>url</EncodingType>";
  plain.replace(plain.find(said), said.size(), "<EncodingType></EncodingType>");
  const auto page = ParseListing("GET b", plain, "team/");
  ASSERT_TRUE(page.ok()) << page.status().ToString();
  EXPECT_EQ(page->listing.objects[0].key, "a+b%2Bc%20d%C3%A9");
}

TEST(S3Answer, RefusesListingsThatAreNone) {
  const std::string good = kList;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return ParseListing("GET b", text, "team/").code();
  };
  EXPECT_EQ(with("<Size>3<", "<Size>-3<"), Code::kCorrupt);
  EXPECT_EQ(with("<Size>3<", "<Size>many<"), Code::kCorrupt);
  EXPECT_EQ(with("team/z", "other/z"), Code::kCorrupt);
  EXPECT_EQ(with("2026-11-21T10:00:00.123Z", "yesterday"), Code::kCorrupt);
  EXPECT_EQ(ParseListing("", good.substr(0, 300), "team/").code(), Code::kCorrupt);
  EXPECT_EQ(ParseListing("", "<Error><Code>X</Code></Error>", "").code(), Code::kCorrupt);
  EXPECT_EQ(ParseListing("", "", "").code(), Code::kCorrupt);
  EXPECT_EQ(ParseListing("", "<html>", "").code(), Code::kCorrupt);
  // More, but nothing that the next page could begin after.
  EXPECT_EQ(
      ParseListing("", "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", "")
          .code(),
      Code::kCorrupt);
}

// Entities that a document defines itself are not expanded, and nothing outside is read.
TEST(S3Answer, LoadsNothingThatADocumentNames) {
  const std::string bomb =
      "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">"
      "<!ENTITY f SYSTEM \"file:///etc/passwd\">]>"
      "<Error><Code>&b;</Code><Message>&f;</Message></Error>";
  const Failure failure = ParseFailure({400, {}, bomb});
  EXPECT_EQ(failure.code.find("aaaa"), std::string::npos);
  EXPECT_EQ(failure.message.find("root"), std::string::npos);
}

TEST(S3Answer, DamagedTextNeverHurts) {
  Prng prng(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = kList;
    for (uint64_t n = prng.Below(8) + 1; n > 0; --n) {
      text[prng.Below(text.size())] = static_cast<char>(prng.Below(256));
    }
    if (prng.Chance(1, 3)) text.resize(prng.Below(text.size()));
    (void)ParseListing("GET b", text, "team/");
    (void)ParseFailure({500, {}, text});
    (void)ParseUploads("GET b", text);
  }
}

TEST(S3Answer, FailuresBecomeWhatToDo) {
  const auto code = [](int status, const std::string& name) {
    return FailureStatus("PUT b/k", status, {name, "", ""}).code();
  };
  EXPECT_EQ(code(503, "SlowDown"), Code::kBusy);
  EXPECT_EQ(code(409, "ConditionalRequestConflict"), Code::kBusy);
  EXPECT_EQ(code(412, "PreconditionFailed"), Code::kConflict);
  EXPECT_EQ(code(404, "NoSuchKey"), Code::kNotFound);
  EXPECT_EQ(code(404, ""), Code::kNotFound);
  EXPECT_EQ(code(404, "NoSuchBucket"), Code::kInvalid);
  EXPECT_EQ(code(403, "AccessDenied"), Code::kDenied);
  EXPECT_EQ(code(403, "RequestTimeTooSkewed"), Code::kBusy);
  EXPECT_EQ(code(400, "ExpiredToken"), Code::kBusy);
  EXPECT_EQ(code(400, "RequestTimeout"), Code::kUnavailable);
  EXPECT_EQ(code(400, "BadDigest"), Code::kUnavailable);
  EXPECT_EQ(code(500, "InternalError"), Code::kUnavailable);
  EXPECT_EQ(code(502, ""), Code::kUnavailable);
  EXPECT_EQ(code(503, ""), Code::kUnavailable);  // of whoever stands between: it may have happened
  EXPECT_EQ(code(501, "NotImplemented"), Code::kInvalid);
  EXPECT_EQ(code(400, "InvalidArgument"), Code::kInvalid);
  const Status archived =
      FailureStatus("GET b/k", 403,
                    ParseFailure({403,
                                  {},
                                  "<Error><Code>InvalidObjectState</Code><Message>m</Message>"
                                  "<StorageClass>DEEP_ARCHIVE</StorageClass></Error>"}));
  EXPECT_EQ(archived.code(), Code::kInvalid) << "no right is missing";
  EXPECT_NE(archived.message().find("is archived in DEEP_ARCHIVE"), std::string::npos);
  EXPECT_NE(archived.next().find("restore-object"), std::string::npos);
  const Status hostile =
      FailureStatus("PUT b/k", 400, {"X", "a\x1b[31mred\n" + std::string(9999, 'x'), ""});
  EXPECT_EQ(hostile.message().find('\x1b'), std::string::npos);
  EXPECT_LT(hostile.message().size(), 500u);
}

}  // namespace
}  // namespace stoker::s3
