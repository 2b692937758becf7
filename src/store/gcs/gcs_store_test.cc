// SPDX-License-Identifier: Apache-2.0
// How the adapter takes what emulators do not do: cuts, lost answers, refused tokens, limits.
// test/contract runs it on a server that others wrote.
#include "store/gcs/gcs_store.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "test/kit/gcs.h"
#include "test/kit/rounds.h"

namespace stoker {
namespace {

class GcsCutTest : public GcsStoreTest {
 protected:
  GcsCutTest() : GcsStoreTest(Duration::Ms(100)) {}
};

TEST_F(GcsStoreTest, NamesAreOneSegmentOfThePath) {
  ASSERT_TRUE(store_->Put("a b/c?d#é%2F+&", "data").ok());
  EXPECT_EQ(model_.objects.begin()->first, "team/a b/c?d#é%2F+&");
  EXPECT_EQ(store_->Get("a b/c?d#é%2F+&")->data, "data");
  EXPECT_EQ(Heard(),
            "POST /upload/storage/v1/b/bucket/o?uploadType=multipart"
            "&name=team%2Fa%20b%2Fc%3Fd%23%C3%A9%252F%2B%26\n"
            "GET /storage/v1/b/bucket/o/team%2Fa%20b%2Fc%3Fd%23%C3%A9%252F%2B%26?alt=media\n");
  EXPECT_EQ(store_->Put("a\nb", "").code(), Code::kInvalid);
}

TEST_F(GcsStoreTest, WhatFailsInPassingIsSentAgain) {
  Meet({Fault::kRefused, Fault::kBusy, Fault::kForgotten});
  ASSERT_TRUE(store_->Put("a", "data").ok());
  EXPECT_EQ(model_.requests.size(), 4u);
  model_.fault = [](const HttpRequest&) { return Fault::kRefused; };
  model_.requests.clear();
  EXPECT_EQ(store_->Get("a").code(), Code::kUnavailable);
  EXPECT_LE(model_.requests.size(), 8u);
}

// Whether it took effect, only what is there can tell: sent again, it would be refused by itself.
TEST_F(GcsStoreTest, AConditionIsSentAgainOnlyWhereItHadNoEffect) {
  Meet({Fault::kForgotten});
  EXPECT_EQ(store_->Put("a", "x", Condition::Absent()).code(), Code::kUnavailable);
  EXPECT_EQ(model_.requests.size(), 1u);
  EXPECT_EQ(model_.writes, 1);
  Meet({Fault::kBusy, Fault::kBusy});
  const auto info = store_->Head("a");
  const auto put = store_->Put("a", "y", Condition::Match(info->version));
  ASSERT_TRUE(put.ok()) << put.status().ToString();
  EXPECT_EQ(store_->Put("a", "z", Condition::Match(info->version)).code(), Code::kConflict);
  EXPECT_EQ(store_->Put("a", "z", Condition::Absent()).code(), Code::kExists);
  EXPECT_EQ(store_->Put("gone", "z", Condition::Match(info->version)).code(), Code::kNotFound);
  // What is no generation is none that there is; 0 would mean that there is nothing.
  for (const std::string odd : {"", "0", "-1", "x&name=b", "1e3"}) {
    EXPECT_EQ(store_->Put("a", "z", Condition::Match(odd)).code(), Code::kConflict) << odd;
    EXPECT_EQ(store_->Put("gone", "z", Condition::Match(odd)).code(), Code::kNotFound) << odd;
  }
  EXPECT_EQ(store_->Get("a")->data, "y");
}

TEST_F(GcsStoreTest, ARefusedTokenIsRenewedOnce) {
  model_.token = "top-secret-1";
  ASSERT_TRUE(store_->Put("a", "x").ok());
  EXPECT_EQ(refused_, 1);
  EXPECT_EQ(*FindHeader(model_.requests[1].headers, "x-goog-user-project"), "billed");
  model_.token = "never";
  model_.requests.clear();
  const auto denied = store_->Get("a");
  EXPECT_EQ(denied.code(), Code::kDenied);
  EXPECT_EQ(model_.requests.size(), 2u);
  EXPECT_EQ(denied.status().ToString().find("top-secret"), std::string::npos);
  // In the middle of an upload too.
  model_.token = "top-secret-2";
  const int before = refused_;
  model_.fault = [this](const HttpRequest& request) {
    if (request.method == "PUT") model_.token = "top-secret-" + std::to_string(refused_ + 1);
    return Fault::kNone;
  };
  EXPECT_TRUE(Send("b", std::string(900'000, 'b'), false, {}).ok());
  EXPECT_GT(refused_, before);
}

TEST_F(GcsStoreTest, ChunksAreSentInOrder) {
  ASSERT_TRUE(Send("a", std::string(600'000, 'x'), true, Condition::Absent()).ok());
  EXPECT_EQ(Heard(),
            "POST /upload/storage/v1/b/bucket/o?uploadType=resumable&name=team%2Fa"
            "&ifGenerationMatch=0\n"
            "PUT /upload/s?upload_id=1 bytes 0-262143/*\n"
            "PUT /upload/s?upload_id=1 bytes 262144-524287/*\n"
            "PUT /upload/s?upload_id=1 bytes 524288-599999/600000\n");
  // Refused when it begins: nothing of it is sent.
  model_.requests.clear();
  EXPECT_EQ(Send("a", std::string(600'000, 'y'), true, Condition::Absent()).code(), Code::kExists);
  EXPECT_EQ(model_.requests.size(), 1u);
  EXPECT_EQ(Send("b", std::string(600'000, 'y'), false, Condition::Match("77")).code(),
            Code::kNotFound);
  // And when it ends, somebody else having been quicker.
  auto upload = store_->BeginUpload("c", Condition::Absent());
  ASSERT_TRUE((*upload)->Write(std::string(600'000, 'y')).ok());
  ASSERT_TRUE(store_->Put("c", "quicker").ok());
  EXPECT_EQ((*upload)->Commit().code(), Code::kExists);
  EXPECT_EQ(store_->Get("c")->data, "quicker");
}

TEST_F(GcsStoreTest, ALostAnswerAtTheEndIsToldApart) {
  Meet({Fault::kNone, Fault::kForgotten, Fault::kNone, Fault::kNone, Fault::kForgotten});
  const auto made = Send("a", std::string(400'000, 'x'), false, Condition::Absent());
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  EXPECT_EQ(model_.writes, 1);
  EXPECT_EQ(*made, store_->Head("a")->version);
  EXPECT_EQ(model_.chunk_bytes, 400'000 + (256 << 10) / 2);  // what was lost on the way
}

TEST_F(GcsStoreTest, AnUploadThatIsNotCommittedIsCancelled) {
  {
    auto upload = store_->BeginUpload("a");
    ASSERT_TRUE((*upload)->Write(std::string(300'000, 'x')).ok());
  }
  EXPECT_TRUE(EndsWith(Heard(), "DELETE /upload/s?upload_id=1\n")) << Heard();
  EXPECT_EQ(store_->Head("a").code(), Code::kNotFound);
}

// Whatever happens on the way, what is there at the end is whole, and was made once.
TEST_F(GcsStoreTest, UploadsSurviveWhatHappensToThem) {
  Prng prng(4);
  int ended = 0;
  for (int i = 0; i < Rounds(120); ++i) {
    const std::string key = "k" + std::to_string(i);
    std::string data(static_cast<size_t>(prng.Between(0, 1'500'000)), '\0');
    for (char& c : data) c = static_cast<char>(prng.Between(0, 255));
    model_.fault = [&prng](const HttpRequest& request) {
      // Conditional uploads in one request are not sent again.
      if (request.target.find("uploadType=multipart") != std::string::npos) return Fault::kNone;
      const int64_t dice = prng.Between(0, 19);
      return dice == 0   ? Fault::kRefused
             : dice == 1 ? Fault::kBusy
             : dice < 4  ? Fault::kForgotten
                         : Fault::kNone;
    };
    const int64_t writes = model_.writes;
    const auto made = Send(key, data, prng.Between(0, 1) == 0, Condition::Absent());
    model_.fault = [](const HttpRequest&) { return Fault::kNone; };
    if (!made.ok()) {
      EXPECT_TRUE(made.status().transient()) << made.status().ToString();
      continue;
    }
    ++ended;
    EXPECT_EQ(model_.writes, writes + 1);
    const auto got = store_->Get(key);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_TRUE(got->data == data) << key;
    EXPECT_EQ(got->info.version, *made);
  }
  EXPECT_GT(ended, Rounds(120) * 11 / 12);
}

TEST_F(GcsStoreTest, TimesAreWholeSecondsAndLookedUpWhereTheyAreMissing) {
  ASSERT_TRUE(store_->Put("a", "x").ok());
  const auto got = store_->Get("a");
  EXPECT_EQ(FormatRfc3339(got->info.last_modified), "2026-11-22T09:00:00.000Z");
  EXPECT_EQ(FormatRfc3339(got->store_now), "2026-11-22T10:00:00.000Z");
  EXPECT_EQ(store_->Head("a")->last_modified, got->info.last_modified);
  model_.says_modified = false;
  EXPECT_EQ(store_->Get("a")->info.last_modified, got->info.last_modified);
}

TEST_F(GcsCutTest, ADownloadGoesOnWithTheSameGeneration) {
  std::string data;
  for (int i = 0; data.size() < 100'000; ++i) data += std::to_string(i);
  ASSERT_TRUE(store_->Put("a", data).ok());
  model_.cut_after = 40'000;
  const auto got = store_->Get("a");
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_TRUE(got->data == data);
  EXPECT_NE(model_.requests.back().target.find("generation=" + got->info.version),
            std::string::npos);
  auto download = store_->OpenDownload("a");
  ASSERT_TRUE(store_->Put("a", data + "other").ok());
  std::string read(200'000, '\0');
  Status status;
  while (status.ok()) status = (*download)->Read(read.data(), 30'000).status();
  EXPECT_EQ(status.code(), Code::kConflict) << status.ToString();
}

TEST_F(GcsCutTest, WhatWasReplacedMeanwhileIsReadAnew) {
  model_.objects["team/a"] = {std::string(1000, 'x'), 7};
  model_.cut_after = 400;
  model_.fault = [this](const HttpRequest& request) {
    if (request.target.find("generation=7") != std::string::npos) {
      model_.cut_after = 0;
      model_.objects["team/a"] = {"other", 8};
    }
    return Fault::kNone;
  };
  const auto got = store_->Get("a");
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(got->data, "other");
  EXPECT_EQ(got->info.version, "8");
}

TEST_F(GcsStoreTest, DamageOnTheWayIsNotAccepted) {
  model_.objects["team/a"] = {"data", 5};
  model_.damaged = 2;
  EXPECT_EQ(store_->Get("a")->data, "data");
  EXPECT_EQ(model_.requests.size(), 3u);
  model_.damaged = 1000;
  EXPECT_EQ(store_->Get("a").code(), Code::kCorrupt);
}

// An answer that was damaged on its way says nothing of the object, which may be all there is.
TEST_F(GcsStoreTest, NothingIsDeletedForAnAnswerWithAnotherChecksum) {
  for (const Condition& condition : {Condition::None(), Condition::Absent()}) {
    const std::string key = condition.kind == Condition::Kind::kNone ? "a" : "b";
    model_.damaged_sums = 1;
    const auto put = store_->Put(key, "data", condition);
    ASSERT_TRUE(put.ok()) << put.status().ToString();
    EXPECT_EQ(store_->Head(key)->version, *put);
    model_.damaged_sums = 1000;
    const bool any = condition.kind == Condition::Kind::kNone;
    const auto unknown = store_->Put(key, "more", any ? condition : Condition::Match(*put));
    EXPECT_EQ(unknown.code(), any ? Code::kCorrupt : Code::kUnavailable);
    model_.damaged_sums = 0;
    EXPECT_EQ(store_->Get(key)->data, "more") << "read back, it is there";
  }
}

// Its hashes may come in a header each.
TEST_F(GcsStoreTest, TheChecksumIsFoundWhereverItIs) {
  server_.reset();
  server_ = *HttpServer::Start({}, [](const HttpRequest&) {
    return HttpResponse{200,
                        {{"x-goog-generation", "5"},
                         {"Last-Modified", GcsModel::kDate},
                         {"x-goog-hash", "md5=x"},
                         {"x-goog-hash", "crc32c=" + Crc32cText(Crc32c("data"))}},
                        "dada"};
  });
  GcsStoreOptions options;
  options.client.bucket = "bucket";
  options.client.endpoint = "http://127.0.0.1:" + std::to_string(server_->port());
  options.client.now = [] { return WallTime{}; };
  options.retry.longest = Duration::Ms(4);
  options.client.token = []() -> Result<GoogleToken> { return GoogleToken(); };
  const auto other = *GcsStore::Open(options);
  EXPECT_EQ(other->Get("a").code(), Code::kCorrupt);
}

}  // namespace
}  // namespace stoker
