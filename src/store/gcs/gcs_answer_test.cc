// SPDX-License-Identifier: Apache-2.0
#include "store/gcs/gcs_answer.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace stoker::gcs {
namespace {

Status Failed(int status, const std::string& body) {
  return FailureStatus("GET gs://b/k", {status, {}, body});
}

TEST(GcsAnswer, FailuresHaveTheirMeaning) {
  const auto reason = [](const std::string& word) {
    return R"({"error":{"code":403,"message":"m","errors":[{"reason":")" + word + "\"}]}}";
  };
  const std::vector<std::tuple<int, std::string, Code>> cases = {
      {401, "", Code::kDenied},
      {403, reason("forbidden"), Code::kDenied},
      {403, reason("rateLimitExceeded"), Code::kBusy},
      {404, reason("notFound"), Code::kNotFound},
      {404, "The specified bucket does not exist.", Code::kInvalid},
      {408, "", Code::kUnavailable},
      {409, "", Code::kBusy},
      {410, "", Code::kNotFound},
      {412, reason("conditionNotMet"), Code::kConflict},
      {416, "", Code::kInvalid},
      {429, "", Code::kBusy},
      {500, "", Code::kUnavailable},
      {503, "", Code::kUnavailable},
      {400, "{", Code::kInvalid},
  };
  for (const auto& [status, body, code] : cases) {
    EXPECT_EQ(Failed(status, body).code(), code) << status << " " << body;
  }
  EXPECT_EQ(Failed(403, reason("forbidden")).message(),
            "GET gs://b/k: the store answers 403 forbidden: m");
  EXPECT_EQ(Failed(500, "\x1b[31mred").message(), "GET gs://b/k: the store answers 500: red");
  for (const char* odd : {R"({"error":"x"})", R"({"error":{"errors":[7]}})", R"({"error":[]})"}) {
    EXPECT_EQ(Failed(500, odd).code(), Code::kUnavailable) << odd;
  }
}

constexpr char kObject[] =
    R"({"name":"t/a","size":"3","generation":"17","timeCreated":"2026-11-22T09:00:00.750Z",)"
    R"("crc32c":"AAAAAA=="})";

TEST(GcsAnswer, PagesAreChecked) {
  const auto page =
      ParsePage("LIST", std::string(R"({"items":[)") + kObject + R"(],"nextPageToken":"n"})", "t/");
  ASSERT_TRUE(page.ok()) << page.status().ToString();
  EXPECT_EQ(page->listing.objects.at(0).key, "a");
  EXPECT_EQ(page->listing.objects.at(0).size, 3);
  EXPECT_EQ(page->listing.objects.at(0).version, "17");
  EXPECT_EQ(page->page_token, "n");
  EXPECT_TRUE(ParsePage("LIST", "{}", "t/")->listing.objects.empty());
  EXPECT_EQ(ParsePage("LIST", std::string(R"({"items":[)") + kObject + "]}", "u/").code(),
            Code::kCorrupt);
  for (const char* bad : {"", "[]", R"({"items":{}})", R"({"items":[7]})", R"({"items":[{}]})"}) {
    EXPECT_EQ(ParsePage("LIST", bad, "").code(), Code::kCorrupt) << bad;
  }
}

TEST(GcsAnswer, ObjectsLackNothing) {
  EXPECT_EQ(ParseResource("x", kObject)->crc32c, "AAAAAA==");
  for (const char* name : {"name", "size", "generation", "timeCreated"}) {
    std::string without = kObject;
    without.replace(without.find(name), 1, "X");
    EXPECT_EQ(ParseResource("x", without).code(), Code::kCorrupt) << name;
  }
  EXPECT_EQ(*ParseStored("x", {{"Range", "bytes=0-262143"}}), 262144);
  EXPECT_EQ(*ParseStored("x", {}), 0);
  for (const char* bad : {"bytes=1-2", "bytes=0-", "bytes=0--1", "0-5", "bytes=0-5x"}) {
    EXPECT_EQ(ParseStored("x", {{"Range", bad}}).code(), Code::kCorrupt) << bad;
  }
}

// Damaged answers are an error or an object, and nothing worse.
TEST(GcsAnswer, DamagedAnswersDoNoHarm) {
  Prng prng(1);
  const std::string whole =
      std::string(R"({"items":[)") + kObject + "," + kObject + R"(],"nextPageToken":"n"})";
  for (int i = 0; i < 5'000; ++i) {
    std::string text = whole;
    for (int64_t n = prng.Between(1, 4); n > 0; --n) {
      const auto at = static_cast<size_t>(prng.Between(0, static_cast<int64_t>(text.size()) - 1));
      text[at] = static_cast<char>(prng.Between(0, 255));
    }
    const auto page = ParsePage("LIST", text, "t/");
    EXPECT_TRUE(page.ok() || page.status().Is(Code::kCorrupt)) << text;
    EXPECT_FALSE(Failed(500, text).ok());
  }
}

}  // namespace
}  // namespace stoker::gcs
