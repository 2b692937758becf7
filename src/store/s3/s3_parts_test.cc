// SPDX-License-Identifier: Apache-2.0
// Ranges and parts, on a service that is told what to say; test/contract runs them on real ones.
#include "store/s3/s3_parts.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "store/s3/s3_answer.h"
#include "test/kit/s3.h"

namespace stoker {
namespace {

HttpResponse Range(const std::string& data, int64_t from, const std::string& etag = "\"e\"") {
  const std::string last = std::to_string(from + static_cast<int64_t>(data.size()) - 1);
  return {206,
          {{"Date", kDate},
           {"ETag", etag},
           {"Content-Range", "bytes " + std::to_string(from) + "-" + last + "/100"}},
          data};
}
HttpResponse Sum(const std::string& checksum, const std::string& size = "") {
  HttpResponse answer{200, {{"Date", kDate}, {"ETag", "\"e\""}}, ""};
  if (!checksum.empty()) answer.headers.emplace_back("x-amz-checksum-crc32c", checksum);
  if (!size.empty()) {
    answer.headers.emplace_back("Content-Length", size);
    answer.headers.emplace_back("x-amz-mp-parts-count", "2");
  }
  return answer;
}
HttpResponse Xml(const std::string& text) { return {200, {{"Date", kDate}}, text}; }

class S3PartsTest : public S3StoreTest {
 protected:
  Result<std::string> Read(int64_t offset, int64_t size, int64_t whole) {
    STOKER_ASSIGN(const auto reader, store_->OpenReader({"a", whole, "\"e\"", {}}));
    std::string got;
    STOKER_TRY(reader->Read(offset, size, [&](std::string_view bytes) {
      got += bytes;
      return Status::Ok();
    }));
    return got;
  }
};

TEST_F(S3PartsTest, ARangeIsOfOneVersionAndNoOther) {
  Answer({Range("abc", 10)});
  EXPECT_EQ(Read(10, 3, 100).value_or("?"), "abc");
  EXPECT_EQ(Header(0, "Range"), "bytes=10-12");
  EXPECT_EQ(Header(0, "If-Match"), "\"e\"");
  Answer({Refusal(412, "PreconditionFailed")});
  EXPECT_EQ(Read(10, 3, 100).code(), Code::kConflict);
  // Of services that do not know If-Match with GET.
  Answer({Range("abc", 10, "\"other\"")});
  EXPECT_EQ(Read(10, 3, 100).code(), Code::kConflict);
  Answer({Range("abc", 20)}, true);
  EXPECT_EQ(Read(10, 3, 100).code(), Code::kInvalid);
  Answer({Holding("abc")}, true);
  EXPECT_EQ(Read(10, 3, 100).code(), Code::kInvalid);
}

TEST_F(S3PartsTest, WhatBreaksOffIsAskedForFromThere) {
  Answer({Range("ab", 10), Range("cd", 12)});
  EXPECT_EQ(Read(10, 4, 100).value_or("?"), "abcd");
  EXPECT_EQ(Header(1, "Range"), "bytes=12-13");
  Answer({Range("ab", 10), Refusal(503, "SlowDown"), Range("cd", 12)});
  EXPECT_EQ(Read(10, 4, 100).value_or("?"), "abcd");
}

TEST_F(S3PartsTest, AWholeIsHeldAgainstItsChecksum) {
  Answer({Holding("abc", Crc32cText(Crc32c("abc")))});
  EXPECT_EQ(Read(0, 3, 3).value_or("?"), "abc");
  Answer({Holding("abd", Crc32cText(Crc32c("abc")))}, true);
  EXPECT_EQ(Read(0, 3, 3).code(), Code::kCorrupt);
}

TEST_F(S3PartsTest, PiecesAreHeldAgainstTheObjectsChecksum) {
  const std::string one(60, 'x');
  const std::string two(40, 'y');
  const std::vector<PartSum> read = {{60, Crc32c(one)}, {40, Crc32c(two)}};
  std::string sums;
  for (const PartSum& part : read) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      sums += static_cast<char>((*part.crc32c >> shift) & 0xff);
    }
  }
  const std::string of_parts = Crc32cText(Crc32c(sums)) + "-2";
  const auto confirm = [&](std::deque<HttpResponse> answers) {
    Answer(std::move(answers));
    return (*store_->OpenReader({"a", 100, "\"e\"", {}}))->Confirm(read);
  };
  EXPECT_TRUE(confirm({Sum(Crc32cText(Crc32c(one + two)))}).ok());
  EXPECT_EQ(confirm({Sum(Crc32cText(Crc32c(two + one)))}).code(), Code::kCorrupt);
  EXPECT_TRUE(confirm({Sum("")}).ok());
  // The checksum of the parts' checksums: only where they were cut as ours are.
  EXPECT_TRUE(confirm({Sum(of_parts), Sum("", "60")}).ok());
  EXPECT_EQ(confirm({Sum("4waSgw==-2"), Sum("", "60")}).code(), Code::kCorrupt);
  EXPECT_TRUE(confirm({Sum("4waSgw==-2"), Sum("", "50")}).ok());
  HttpResponse other = Sum("");
  other.headers = {{"Date", kDate}, {"ETag", "\"other\""}};
  EXPECT_EQ(confirm({other}).code(), Code::kConflict);
}

// Else all that was read of a large object would be thrown away for keys that expired meanwhile.
TEST_F(S3PartsTest, KeysMayExpireBeforeTheLastLook) {
  const HttpResponse bare{400, {{"Date", kDate}}, ""};
  const std::vector<PartSum> read = {{60, Crc32c("x")}, {40, Crc32c("y")}};
  Answer({bare, Refusal(400, "ExpiredToken"), Sum("")});
  EXPECT_TRUE((*store_->OpenReader({"a", 100, "\"e\"", {}}))->Confirm(read).ok());
  EXPECT_EQ(refused_, 1);
}

// A checksum without "-<parts>" of an object of several parts may be of anything.
TEST_F(S3PartsTest, AnOddChecksumIsNotBelieved) {
  HttpHeaders headers = {{"ETag", "\"abc-2\""}, {"x-amz-checksum-crc32c", "4waSgw=="}};
  EXPECT_EQ(s3::ChecksumOf(headers).text, "");
  headers.emplace_back("x-amz-checksum-type", "FULL_OBJECT");
  EXPECT_EQ(s3::ChecksumOf(headers).text, "4waSgw==");
}

constexpr char kPartList[] =
    "<ListPartsResult><Part><PartNumber>1</PartNumber><ETag>\"p1\"</ETag><Size>1000</Size>"
    "<ChecksumCRC32C>4waSgw==</ChecksumCRC32C></Part><Part><PartNumber>2</PartNumber>"
    "<ETag>\"p2\"</ETag><Size>7</Size></Part><IsTruncated>false</IsTruncated></ListPartsResult>";

TEST_F(S3PartsTest, AnUploadIsGoneOnWith) {
  Answer({Xml(kPartList)});
  auto upload = store_->BeginParts("a", 2500, {}, "1000c:the id");
  ASSERT_TRUE(upload.ok()) << upload.status().ToString();
  EXPECT_EQ(Heard(), "GET /bucket/team/a?uploadId=the%20id\n");
  // Part 2 is of another size than it should be: not ours.
  ASSERT_EQ((*upload)->done().size(), 1u);
  EXPECT_EQ((*upload)->done().at(0).crc32c, 0xe3069283u);
  EXPECT_EQ((*upload)->id(), "1000c:the id");
  EXPECT_EQ((*upload)->Commit().code(), Code::kInternal);  // parts are missing
  const HttpResponse begun = Xml(
      "<InitiateMultipartUploadResult><UploadId>new</UploadId></InitiateMultipartUploadResult>");
  Answer({Refusal(404, "NoSuchUpload"), begun});
  upload = store_->BeginParts("a", 2500, {}, "1000c:gone");
  ASSERT_TRUE(upload.ok()) << upload.status().ToString();
  EXPECT_EQ((*upload)->id(), "1000c:new");
  Answer({begun});
  upload = store_->BeginParts("a", 2500, {}, "500c:of another size");
  EXPECT_EQ((*upload)->id(), "1000c:new");
  EXPECT_EQ(requests_.size(), 1u);
  // A list that is none must not be taken for an empty one.
  Answer({Xml("<html/>")}, true);
  EXPECT_EQ(store_->BeginParts("a", 2500, {}, "1000c:the id").code(), Code::kCorrupt);
}

TEST_F(S3PartsTest, ManyAreDeletedAtOnce) {
  Answer({Xml("<DeleteResult/>")});
  EXPECT_TRUE(store_->DeleteAll({"a<b", "c&d"}).empty());
  EXPECT_EQ(Heard(), "POST /bucket/?delete=\n");
  EXPECT_NE(requests_[0].body.find("<Key>team/a&lt;b</Key>"), std::string::npos);
  EXPECT_EQ(Header(0, "x-amz-checksum-crc32c"), Crc32cText(Crc32c(requests_[0].body)));
  Answer({HttpResponse{204, {{"Date", kDate}}, ""}, Xml("<DeleteResult/>")});
  EXPECT_TRUE(store_->DeleteAll({std::string("a\x01z"), "b"}).empty());
  EXPECT_EQ(Heard(), "DELETE /bucket/team/a%01z\nPOST /bucket/?delete=\n");
  std::vector<std::string> many(2500, "k");
  Answer({Xml("<DeleteResult/>")}, true);
  EXPECT_TRUE(store_->DeleteAll(many).empty());
  EXPECT_EQ(requests_.size(), 3u);
}

HttpResponse NotDeleted(const std::vector<std::pair<std::string, std::string>>& keys) {
  std::string text = "<DeleteResult>";
  for (const auto& [key, code] : keys) {
    text += "<Error><Key>team/" + key + "</Key><Code>" + code + "</Code></Error>";
  }
  return Xml(text + "</DeleteResult>");
}

TEST_F(S3PartsTest, OfManyEachThatIsNotDeletedHasItsReason) {
  Answer(
      {NotDeleted(
           {{"a", "InternalError"}, {"b", "AccessDenied"}, {"c", "SlowDown"}, {"d", "NoSuchKey"}}),
       NotDeleted({{"c", "SlowDown"}}), Xml("<DeleteResult/>")});
  const auto failed = store_->DeleteAll({"a", "b", "c", "d", "e"});
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].key, "b");
  EXPECT_EQ(failed[0].why.code(), Code::kDenied);
  EXPECT_NE(failed[0].why.message().find("DELETE s3://bucket/team/b: "), std::string::npos);
  EXPECT_NE(failed[0].why.next().find("stoker doctor"), std::string::npos);
  // What failed in passing was asked for again, and nothing else.
  ASSERT_EQ(requests_.size(), 3u);
  EXPECT_NE(
      requests_[1].body.find("<Key>team/a</Key></Object><Object><Key>team/c</Key></Object></"),
      std::string::npos);
  EXPECT_EQ(requests_[2].body.find("<Key>team/a<"), std::string::npos);
  // And ends.
  Answer({NotDeleted({{"a", "SlowDown"}})}, true);
  const auto slow = store_->DeleteAll({"a", "b"});
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].why.code(), Code::kBusy);
  EXPECT_LE(requests_.size(), 8u);
  // Damaged, it may name anything.
  Answer({NotDeleted({{"x", "AccessDenied"}}), Xml("<DeleteRes"), Xml("<DeleteResult/>")});
  EXPECT_TRUE(store_->DeleteAll({"a"}).empty());
  EXPECT_EQ(requests_.size(), 3u);
}

TEST_F(S3PartsTest, WhereTheServiceIsAwayTheRestIsNotTried) {
  std::vector<std::string> many;
  for (int i = 0; i < 2500; ++i) many.push_back("k" + std::to_string(i));
  many[2] = "../k";
  Answer({Xml("<DeleteResult/>"), Refusal(403, "AccessDenied")});
  const auto failed = store_->DeleteAll(many);
  ASSERT_EQ(failed.size(), 1500u);
  EXPECT_EQ(failed[0].key, "../k");
  EXPECT_EQ(failed[1].key, "k1001");
  EXPECT_EQ(failed[1499].key, "k2499");
  EXPECT_EQ(failed[1499].why.code(), Code::kDenied);
  EXPECT_EQ(requests_.size(), 2u);
  // Not twice those of which something is known by then.
  Answer({NotDeleted({{"a", "AccessDenied"}, {"b", "SlowDown"}}), Refusal(403, "AccessDenied")});
  EXPECT_EQ(store_->DeleteAll({"a", "b", "c"}).size(), 2u);
}

// Lists do not tell it; the answer that brings the bytes does, and else the service is asked.
TEST_F(S3PartsTest, WhetherItCanBeRunIsMetadata) {
  const std::string name = "x-amz-meta-stoker-executable";
  HttpResponse tool = Holding("abc");
  tool.headers.emplace_back(name, "1");
  for (const bool executable : {true, false}) {
    Answer({executable ? tool : Holding("abc")});
    const auto reader = *store_->OpenReader({"a", 3, "\"e\"", {}});
    ASSERT_TRUE(reader->Read(0, 3, [](std::string_view) { return Status::Ok(); }).ok());
    EXPECT_EQ(reader->Executable().value_or(!executable), executable);
    EXPECT_EQ(Heard(), "GET /bucket/team/a\n");
  }
  Answer({tool});
  EXPECT_TRUE((*store_->OpenReader({"a", 3, "\"e\"", {}}))->Executable().value_or(false));
  EXPECT_EQ(Heard(), "HEAD /bucket/team/a\n");
  Answer({tool, Stored("\"f\"")});
  const auto reader = *store_->OpenReader({"a", 3, "\"e\"", {}});
  ASSERT_TRUE(store_->PutFrom("b", *reader).ok());
  EXPECT_EQ(Header(1, name), "1");
  Answer({Xml("<InitiateMultipartUploadResult><UploadId>u</UploadId>"
              "</InitiateMultipartUploadResult>")},
         true);
  ASSERT_TRUE(store_->BeginParts("b", 3000, {}, "", true).ok());
  EXPECT_EQ(Header(0, name), "1");
  ASSERT_TRUE(store_->BeginParts("b", 3000).ok());
  EXPECT_EQ(Header(1, name), "");
}

}  // namespace
}  // namespace stoker
