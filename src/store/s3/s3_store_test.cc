// SPDX-License-Identifier: Apache-2.0
// How the adapter takes what a service may answer, on a server that is told what to say.
// test/contract runs it on servers that others wrote.
#include "store/s3/s3_store.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "base/text.h"
#include "test/kit/s3.h"

namespace stoker {
namespace {

TEST_F(S3StoreTest, WhatFailsInPassingIsSentAgain) {
  Answer({Refusal(503, "SlowDown"), Refusal(500, "InternalError"), Stored("\"e\"")});
  const auto put = store_->Put("a b+c", "data");
  ASSERT_TRUE(put.ok()) << put.status().ToString();
  EXPECT_EQ(*put, "\"e\"");
  EXPECT_EQ(Heard(),
            "PUT /bucket/team/a%20b%2Bc\nPUT /bucket/team/a%20b%2Bc\n"
            "PUT /bucket/team/a%20b%2Bc\n");
  EXPECT_EQ(Header(0, "x-amz-checksum-crc32c"), Crc32cText(Crc32c("data")));
  // And ends.
  Answer({Refusal(503, "SlowDown")}, true);
  EXPECT_EQ(store_->Get("a").code(), Code::kBusy);
  EXPECT_LE(requests_.size(), 8u);
  Answer({Refusal(403, "AccessDenied")}, true);
  EXPECT_EQ(store_->Get("a").code(), Code::kDenied);
  EXPECT_EQ(requests_.size(), 1u);
}

// Whether it took effect, only what is there can tell: sent again, it would be refused by itself.
TEST_F(S3StoreTest, AConditionIsSentAgainOnlyWhereItHadNoEffect) {
  Answer({Refusal(500, "InternalError"), Refusal(412, "PreconditionFailed")});
  EXPECT_EQ(store_->Put("a", "x", Condition::Absent()).code(), Code::kUnavailable);
  EXPECT_EQ(requests_.size(), 1u);
  Answer({Refusal(409, "ConditionalRequestConflict"), Stored("\"n\"")});
  EXPECT_TRUE(store_->Put("a", "x", Condition::Match("\"e\"")).ok());
  EXPECT_EQ(Header(1, "If-Match"), "\"e\"");
  Answer({Refusal(412, "PreconditionFailed")});
  EXPECT_EQ(store_->Put("a", "x", Condition::Absent()).code(), Code::kExists);
  EXPECT_EQ(Header(0, "If-None-Match"), "*");
  Answer({Refusal(412, "PreconditionFailed")});
  EXPECT_EQ(store_->Put("a", "x", Condition::Match("\"e\"")).code(), Code::kConflict);
  Answer({Refusal(404, "NoSuchKey")});
  EXPECT_EQ(store_->Put("a", "x", Condition::Match("\"e\"")).code(), Code::kNotFound);
  Answer({});
  EXPECT_EQ(store_->Put("a", "x", Condition::Match("e\r\nX: y")).code(), Code::kConflict);
  EXPECT_TRUE(requests_.empty());
}

TEST_F(S3StoreTest, AWrongClockIsSetByTheServices) {
  now_ = now_ - Duration::Minutes(20);
  Answer({Refusal(403, "RequestTimeTooSkewed"), Stored("\"e\"")});
  ASSERT_TRUE(store_->Put("a", "x").ok());
  EXPECT_EQ(Header(0, "x-amz-date"), "20261122T094000Z");
  EXPECT_EQ(Header(1, "x-amz-date"), "20261122T100000Z");
}

TEST_F(S3StoreTest, ExpiredKeysAreRenewed) {
  Answer({Refusal(400, "ExpiredToken"), Stored("\"e\"")});
  ASSERT_TRUE(store_->Put("a", "x").ok());
  EXPECT_NE(Header(0, "Authorization").find("AK0"), std::string::npos);
  EXPECT_NE(Header(1, "Authorization").find("AK1"), std::string::npos);
}

// HEAD has no body that could name the reason.
TEST_F(S3StoreTest, AHeadThatIsRefusedIsAskedForItsReason) {
  const HttpResponse bare400{400, {{"Date", kDate}}, ""};
  const HttpResponse bare403{403, {{"Date", kDate}}, ""};
  const std::string asked = "HEAD /bucket/team/a\nGET /bucket/team/a\nHEAD /bucket/team/a\n";
  Answer({bare400, Refusal(400, "ExpiredToken"), Holding("data")});
  auto head = store_->Head("a");
  ASSERT_TRUE(head.ok()) << head.status().ToString();
  EXPECT_EQ(Heard(), asked);
  EXPECT_EQ(Header(1, "Range"), "bytes=0-0");
  EXPECT_NE(Header(2, "Authorization").find("AK1"), std::string::npos);
  // The refusal's own Date has set the clock: the GET is allowed.
  now_ = now_ - Duration::Minutes(20);
  Answer({bare403, Holding("d"), Holding("data")});
  head = store_->Head("a");
  ASSERT_TRUE(head.ok()) << head.status().ToString();
  EXPECT_EQ(Heard(), asked);
  EXPECT_EQ(Header(2, "x-amz-date"), "20261122T100000Z");
  now_ = now_ + Duration::Minutes(20);
  Answer({bare403, Refusal(416, "InvalidRange"), Holding("")});
  EXPECT_TRUE(store_->Head("a").ok());
  // What is denied is denied, at once; also where it is only HEAD that is.
  Answer({bare403, Refusal(403, "AccessDenied")});
  head = store_->Head("a");
  EXPECT_EQ(head.code(), Code::kDenied);
  EXPECT_NE(head.status().message().find("HEAD s3://bucket/team/a"), std::string::npos);
  EXPECT_NE(head.status().message().find("AccessDenied"), std::string::npos);
  EXPECT_EQ(requests_.size(), 2u);
  Answer({bare403, Holding("d"), bare403, Holding("d")});
  EXPECT_EQ(store_->Head("a").code(), Code::kDenied);
  EXPECT_EQ(requests_.size(), 4u);
  Answer({{404, {{"Date", kDate}}, ""}});
  EXPECT_EQ(store_->Head("a").code(), Code::kNotFound);
  EXPECT_EQ(requests_.size(), 1u);
}

TEST_F(S3StoreTest, TheBucketsRegionIsTakenFromTheAnswer) {
  Answer({Refusal(400, "AuthorizationHeaderMalformed", "<Region>eu-central-1</Region>"),
          Stored("\"e\""), Stored("\"e\"")});
  ASSERT_TRUE(store_->Put("a", "x").ok());
  ASSERT_TRUE(store_->Put("a", "x").ok());
  EXPECT_NE(Header(0, "Authorization").find("/us-east-1/s3"), std::string::npos);
  EXPECT_NE(Header(1, "Authorization").find("/eu-central-1/s3"), std::string::npos);
  EXPECT_NE(Header(2, "Authorization").find("/eu-central-1/s3"), std::string::npos);
}

TEST_F(S3StoreTest, DamageOnTheWayIsNotAccepted) {
  Answer({Holding("data", Crc32cText(Crc32c("data")))});
  EXPECT_EQ(store_->Get("a")->data, "data");
  Answer({Holding("dada", Crc32cText(Crc32c("data")))}, true);
  EXPECT_EQ(store_->Get("a").code(), Code::kCorrupt);
  // Damage passes: what is read at once is read again.
  const std::string sum = Crc32cText(Crc32c("data"));
  Answer({Holding("dada", sum), Holding("dat", sum), Holding("data", sum)});
  EXPECT_EQ(store_->Get("a").value_or({}).data, "data");
  EXPECT_EQ(requests_.size(), 3u);
  const HttpResponse list{200, {{"Date", kDate}}, "<ListBucketResult></ListBucketResult>"};
  const HttpResponse torn{200, {{"Date", kDate}}, "<ListBucketResult></ListBu"};
  Answer({torn, torn, list});
  EXPECT_TRUE(store_->List("").ok());
  EXPECT_EQ(requests_.size(), 3u);
  // An answer that is damaged may have said anything: it is not believed.
  Answer(
      {{403, {{"Date", kDate}}, "<?xml version=\"1.0\"?><Error><Code>Req"}, Holding("data", sum)});
  EXPECT_EQ(store_->Get("a").value_or({}).data, "data");
  // The checksum of an object of several parts is not over its bytes.
  Answer({Holding("data", "AAAAAA==-2")});
  EXPECT_EQ(store_->Get("a")->data, "data");
}

TEST_F(S3StoreTest, PartsAreCommittedOrAborted) {
  const std::string begun =
      "<InitiateMultipartUploadResult><UploadId>u/1</UploadId></InitiateMultipartUploadResult>";
  const std::string done =
      "<CompleteMultipartUploadResult><ETag>&quot;x-2&quot;</ETag></CompleteMultipartUploadResult>";
  Answer({{200, {}, begun},
          Stored("\"1\""),
          Refusal(500, "InternalError"),
          Stored("\"2\""),
          {200, {}, done}});
  {
    auto upload = store_->BeginUpload("a", Condition::Absent());
    ASSERT_TRUE((*upload)->Write(std::string(1500, 'x')).ok());
    const auto version = (*upload)->Commit();
    ASSERT_TRUE(version.ok()) << version.status().ToString();
    EXPECT_EQ(*version, "\"x-2\"");
  }
  EXPECT_EQ(Heard(),
            "POST /bucket/team/a?uploads=\n"
            "PUT /bucket/team/a?partNumber=1&uploadId=u%2F1\n"
            "PUT /bucket/team/a?partNumber=2&uploadId=u%2F1\n"
            "PUT /bucket/team/a?partNumber=2&uploadId=u%2F1\n"
            "POST /bucket/team/a?uploadId=u%2F1\n");
  EXPECT_EQ(Header(4, "If-None-Match"), "*");
  // The failure of a completion comes with status 200.
  Answer({{200, {}, begun},
          Stored("\"1\""),
          Stored("\"2\""),
          {200, {}, "<Error><Code>PreconditionFailed</Code></Error>"},
          {204, {}, ""}});
  {
    auto upload = store_->BeginUpload("a", Condition::Absent());
    ASSERT_TRUE((*upload)->Write(std::string(1500, 'x')).ok());
    EXPECT_EQ((*upload)->Commit().code(), Code::kExists);
  }
  EXPECT_TRUE(EndsWith(Heard(), "DELETE /bucket/team/a?uploadId=u%2F1\n")) << Heard();
  Answer({{200, {}, begun}, Stored("\"1\""), {204, {}, ""}});
  {
    auto upload = store_->BeginUpload("a");
    ASSERT_TRUE((*upload)->Write(std::string(1500, 'x')).ok());
  }
  EXPECT_TRUE(EndsWith(Heard(), "DELETE /bucket/team/a?uploadId=u%2F1\n")) << Heard();
}

// "A 200 OK response can contain either a success or an error": that may come once the service has
// begun to answer with blanks, so that the connection stays open.
TEST_F(S3StoreTest, ACompletionThatFailsAfterItsStatusIsSentAgain) {
  const std::string begun =
      "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>";
  const std::string done =
      "<CompleteMultipartUploadResult><ETag>&quot;x-2&quot;</ETag></CompleteMultipartUploadResult>";
  const auto late = [](const std::string& code) {
    return HttpResponse{200,
                        {{"Date", kDate}},
                        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n   \n<Error><Code>" + code +
                            "</Code></Error>"};
  };
  const auto commit = [&](std::deque<HttpResponse> answers, const Condition& condition) {
    answers.insert(answers.begin(), {{200, {}, begun}, Stored("\"1\""), Stored("\"2\"")});
    Answer(std::move(answers));
    auto upload = store_->BeginUpload("a", condition);
    EXPECT_TRUE((*upload)->Write(std::string(1500, 'x')).ok());
    return (*upload)->Commit();
  };
  const HttpResponse aborted{204, {}, ""};
  EXPECT_EQ(commit({late("InternalError"), late("SlowDown"), {200, {}, done}}, {}).value_or(""),
            "\"x-2\"");
  EXPECT_EQ(requests_.size(), 6u);
  // What sending it again cannot change stands.
  EXPECT_EQ(commit({late("InvalidPart"), aborted}, {}).code(), Code::kInvalid);
  const auto denied = commit({late("AccessDenied"), aborted}, {});
  EXPECT_EQ(denied.code(), Code::kDenied);
  EXPECT_NE(denied.status().next().find("stoker doctor"), std::string::npos);
  // On a condition: whether it took effect is not known, unless it says that it did not.
  EXPECT_EQ(commit({late("InternalError"), aborted}, Condition::Absent()).code(),
            Code::kUnavailable);
  EXPECT_TRUE(commit({late("SlowDown"), {200, {}, done}}, Condition::Absent()).ok());
}

// The whole has a checksum over its bytes, which whoever reads it checks.
TEST_F(S3StoreTest, PartsHaveOneChecksum) {
  const HttpResponse begun{
      200,
      {{"x-amz-checksum-type", "FULL_OBJECT"}},
      "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"};
  const std::string data(1500, 'x');
  const std::string sum = Crc32cText(Crc32c(data));
  HttpResponse there = Holding(data, sum);
  const auto commit = [&](HttpResponse head) {
    Answer({begun,
            Stored("\"1\""),
            Stored("\"2\""),
            Refusal(500, "InternalError"),
            Refusal(404, "NoSuchUpload"),
            std::move(head),
            {204, {}, ""}});
    auto upload = store_->BeginUpload("a");
    EXPECT_TRUE((*upload)->Write(data).ok());
    return (*upload)->Commit();
  };
  // The answer was lost, and the upload is done: so says what is there.
  EXPECT_EQ(commit(there).value_or(""), "\"e\"");
  EXPECT_EQ(Header(0, "x-amz-checksum-type"), "FULL_OBJECT");
  EXPECT_EQ(Header(3, "x-amz-checksum-crc32c"), sum);
  EXPECT_EQ(requests_.size(), 6u);
  EXPECT_EQ(commit(Holding(data, "AAAAAA==")).code(), Code::kInvalid);
  EXPECT_EQ(commit(Holding(data + "x", sum)).code(), Code::kInvalid);
  EXPECT_EQ(commit(Refusal(404, "")).code(), Code::kInvalid);
  // A completion on a condition is not sent again: it would be refused for what it did itself.
  Answer({begun, Stored("\"1\""), Stored("\"2\""), Refusal(500, "InternalError"), {204, {}, ""}});
  auto upload = store_->BeginUpload("a", Condition::Absent());
  ASSERT_TRUE((*upload)->Write(data).ok());
  EXPECT_EQ((*upload)->Commit().code(), Code::kUnavailable);
  EXPECT_EQ(Header(3, "If-None-Match"), "*");
}

// Of services that know no checksum over all bytes, the ETag tells.
TEST_F(S3StoreTest, ALostCompletionIsFoundByItsEtag) {
  const std::string begun =
      "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>";
  const std::string data = std::string(1000, 'x') + std::string(500, 'y');
  const auto commit = [&](const std::string& first, const std::string& etag, size_t size) {
    HttpResponse there = Holding(std::string(size, 'z'));
    there.headers[1].second = etag;
    Answer({{200, {}, begun},
            Stored(first),
            Stored("\"0244f7b1811d982dd932dd7de01465ac\""),
            Refusal(500, "InternalError"),
            Refusal(404, "NoSuchUpload"),
            there,
            {204, {}, ""}});
    auto upload = store_->BeginUpload("a");
    EXPECT_TRUE((*upload)->Write(data).ok());
    return (*upload)->Commit();
  };
  // md5(unhex(md5("x" * 1000)) + unhex(md5("y" * 500))), by Python's hashlib.
  const std::string first = "\"398533d48111e9f664b1f64cb10c4b63\"";
  const std::string whole = "\"062e27c4b80be911969d5fd07de509bb-2\"";
  EXPECT_EQ(commit(first, whole, 1500).value_or(""), whole);
  EXPECT_EQ(commit(first, whole, 1499).code(), Code::kInvalid);
  EXPECT_EQ(commit(first, "\"0123456789abcdef0123456789abcdef-2\"", 1500).code(), Code::kInvalid);
  EXPECT_EQ(commit("\"of its own\"", whole, 1500).code(), Code::kInvalid);
  EXPECT_EQ(commit("\"of its own\"", "", 1500).code(), Code::kInvalid);
}

// Services that pass over what was deleted may have nothing for a whole page.
TEST_F(S3StoreTest, APageMayBeEmptyThoughThereIsMore) {
  const auto list = [](const std::string& in) {
    return HttpResponse{200, {{"Date", kDate}}, "<ListBucketResult>" + in + "</ListBucketResult>"};
  };
  const auto more = [&](const std::string& token) {
    return list("<IsTruncated>true</IsTruncated><NextContinuationToken>" + token +
                "</NextContinuationToken>");
  };
  const std::string last =
      "<Contents><Key>team/k</Key><LastModified>2026-11-21T10:00:00.123Z</LastModified>"
      "<ETag>\"e\"</ETag><Size>3</Size></Contents>";
  Answer({more("a/1"), more("b"), list(last)});
  const auto listing = store_->List("", "c", 10);
  ASSERT_TRUE(listing.ok()) << listing.status().ToString();
  ASSERT_EQ(listing->objects.size(), 1u);
  EXPECT_EQ(listing->objects[0].key, "k");
  const std::string same = "GET /bucket/?list-type=2&encoding-type=url&max-keys=10&prefix=team%2F";
  EXPECT_EQ(Heard(), same + "&start-after=team%2Fc\n" + same + "&continuation-token=a%2F1\n" +
                         same + "&continuation-token=b\n");
  Answer({more("a")}, true);
  EXPECT_EQ(store_->List("").code(), Code::kCorrupt);
  EXPECT_EQ(requests_.size(), 2u);
}

TEST_F(S3StoreTest, OnlyOldUploadsOfThisPrefixAreSwept) {
  const auto upload = [](const std::string& key, const std::string& id, const std::string& begun) {
    return "<Upload><Key>" + key + "</Key><UploadId>" + id + "</UploadId><Initiated>" + begun +
           "</Initiated></Upload>";
  };
  const auto list = [](const std::string& uploads) {
    return HttpResponse{200,
                        {{"Date", kDate}},
                        "<ListMultipartUploadsResult><EncodingType>url</EncodingType>" + uploads +
                            "</ListMultipartUploadsResult>"};
  };
  Answer({list(upload("team/a%2Bb", "1", "2026-11-22T06:00:00.000Z") +
               upload("team/c", "2", "2026-11-22T09:30:00.000Z") +
               "<IsTruncated>true</IsTruncated><NextKeyMarker>team/c</NextKeyMarker>"
               "<NextUploadIdMarker>2</NextUploadIdMarker>"),
          {204, {}, ""},
          list(upload("other/x", "3", "2026-11-20T06:00:00.000Z") +
               upload("team/d", "4", "2026-11-20T06:00:00.000Z")),
          Refusal(404, "NoSuchUpload")});
  const auto swept = store_->SweepUnfinished(Duration::Hours(1));
  ASSERT_TRUE(swept.ok()) << swept.status().ToString();
  EXPECT_EQ(*swept, 1);
  EXPECT_EQ(Heard(),
            "GET /bucket/?uploads=&encoding-type=url&prefix=team%2F\n"
            "DELETE /bucket/team/a%2Bb?uploadId=1\n"
            "GET /bucket/?uploads=&encoding-type=url&prefix=team%2F&key-marker=team%2Fc"
            "&upload-id-marker=2\n"
            "DELETE /bucket/team/d?uploadId=4\n");
  // Only what is asked for, and only counted.
  const auto all = list(upload("team/mine", "5", "2026-11-20T06:00:00.000Z") +
                        upload("team/not", "6", "2026-11-20T06:00:00.000Z"));
  Sweep sweep{[](const std::string& key) { return key == "mine"; }, true};
  Answer({all}, true);
  EXPECT_EQ(store_->SweepUnfinished(Duration::Hours(1), sweep).value(), 1);
  EXPECT_EQ(Heard().find("DELETE"), std::string::npos);
  sweep.dry_run = false;
  Answer({all, {204, {}, ""}});
  EXPECT_EQ(store_->SweepUnfinished(Duration::Hours(1), sweep).value(), 1);
  EXPECT_NE(Heard().find("DELETE /bucket/team/mine?uploadId=5"), std::string::npos);
  EXPECT_EQ(Heard().find("team/not?"), std::string::npos);
}

// What others have written may have names as long as the service takes.
TEST_F(S3StoreTest, KeysAreAsLongAsTheServiceTakesThem) {
  const std::string longest(1024 - std::string("team/").size(), 'k');
  Answer({Stored("\"e\"")});
  EXPECT_TRUE(store_->Put(longest, "x").ok());
  EXPECT_EQ(store_->Put(longest + "k", "x").code(), Code::kInvalid);
  EXPECT_EQ(requests_.size(), 1u);
}

TEST_F(S3StoreTest, NoSecretIsInAnyMessage) {
  for (const int status : {400, 403, 500}) {
    Answer({Refusal(status, "SignatureDoesNotMatch")}, true);
    const auto got = store_->Get("a");
    EXPECT_EQ(got.status().ToString().find("top secret"), std::string::npos);
    EXPECT_EQ(got.status().ToString().find("Signature="), std::string::npos);
  }
}

}  // namespace
}  // namespace stoker
