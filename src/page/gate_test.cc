// SPDX-License-Identifier: Apache-2.0
#include "page/gate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "page/files.h"
#include "page/series.h"

namespace stoker::page {
namespace {

HttpRequest Ask(const std::string& target, HttpHeaders headers = {}) {
  headers.push_back({"Host", "127.0.0.1:80"});
  return {"GET", target, std::move(headers), ""};
}

TEST(Gate, TheTokenIsExchangedOnce) {
  Gate gate(80, {"once", "session", "change"});
  EXPECT_EQ(gate.Stop(Ask("/?token=other"), false)->status, 403);
  const auto first = gate.Stop(Ask("/?token=once"), false);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->status, 200);
  const std::string* cookie = FindHeader(first->headers, "Set-Cookie");
  ASSERT_NE(cookie, nullptr);
  EXPECT_EQ(cookie->find("stoker_80=session; HttpOnly; SameSite=Strict"), 0u);
  EXPECT_EQ(gate.Stop(Ask("/?token=once"), false)->status, 403);
}

TEST(Gate, HeadSpendsNothing) {
  Gate gate(80, {"once", "session", "change"});
  HttpRequest head = Ask("/?token=once");
  head.method = "HEAD";
  const auto looked = gate.Stop(head, false);
  EXPECT_EQ(looked->status, 200);
  EXPECT_EQ(FindHeader(looked->headers, "Set-Cookie"), nullptr);
  EXPECT_NE(FindHeader(gate.Stop(Ask("/?token=once"), false)->headers, "Set-Cookie"), nullptr);
}

TEST(Gate, ALaterLinkIsGoodOnceToo) {
  int left = 1;
  Gate gate(80, {"once", "session", "change",
                 [&](const std::string& token) { return token == "later" && left-- > 0; }});
  EXPECT_EQ(gate.Stop(Ask("/?token=later"), false)->status, 200);
  const auto spent = gate.Stop(Ask("/?token=later"), false);
  EXPECT_EQ(spent->status, 403);
  EXPECT_NE(spent->body.find("stoker ui --link"), spent->body.npos);
  EXPECT_EQ(gate.Stop(Ask("/?token=once"), false)->status, 200) << "the first is its own";
}

TEST(Gate, ACookieAmongOthersLetsIn) {
  Gate gate(80, {"once", "session", "change"});
  EXPECT_FALSE(gate.Stop(Ask("/x", {{"Cookie", "a=b; stoker_80=session; c=d"}}), false));
  EXPECT_EQ(gate.Stop(Ask("/x", {{"Cookie", "xstoker_80=session"}}), false)->status, 401);
  EXPECT_EQ(gate.Stop(Ask("/x", {{"Cookie", "stoker_80="}}), false)->status, 401);
}

TEST(Gate, ALinkOfAnotherSiteGoesOnByItself) {
  Gate gate(80, {"once", "session", "change"});
  const auto first = gate.Stop(Ask("/", {{"Sec-Fetch-Site", "cross-site"}}), false);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->status, 200);
  EXPECT_NE(first->body.find("again.js"), first->body.npos);
  EXPECT_EQ(FindHeader(first->headers, "Set-Cookie"), nullptr);
  EXPECT_EQ(gate.Stop(Ask("/again.js"), false)->status, 200);
  // From there without the cookie: nobody is let in, and nobody goes round in circles.
  const auto second = gate.Stop(Ask("/?again=1", {{"Sec-Fetch-Site", "same-origin"}}), false);
  EXPECT_EQ(second->status, 401);
  EXPECT_EQ(gate.Stop(Ask("/app.js", {{"Sec-Fetch-Site", "cross-site"}}), false)->status, 403);
}

TEST(Gate, PathsAreDecodedOnce) {
  EXPECT_EQ(PathOf("/api/jobs?since=1"), "/api/jobs");
  EXPECT_EQ(PathOf("/a%2Db"), "/a-b");
  for (const char* trick : {"", "*", "api", "//x", "/../x", "/%2e%2e/x", "/a%2fb", "/a\\b",
                            "/a%5cb", "/a%00", "/a%252e", "/a/./b", "/a/", "http://x/"}) {
    EXPECT_FALSE(PathOf(trick)) << trick;
  }
}

TEST(Gate, QueriesAreFoundByWholeNames) {
  EXPECT_EQ(QueryOf("/x?aid=1&id=a%26b&id=2", "id"), "a&b");
  EXPECT_EQ(QueryOf("/x?token", "token"), "");
  EXPECT_EQ(QueryOf("/x", "id"), "");
}

TEST(Files, IndexIsFirstAndNamesTheOthers) {
  const File& index = Files().front();
  EXPECT_EQ(index.name, "index.html");
  for (const File& file : Files()) {
    EXPECT_FALSE(file.type.empty() || file.text.empty()) << file.name;
    if (&file == &index) continue;
    EXPECT_NE(index.text.find(file.name), index.text.npos) << file.name;
  }
}

std::vector<metrics::CurveEntry> Points(int count) {
  std::vector<metrics::CurveEntry> curve;
  for (int i = 0; i < count; ++i) {
    metrics::CurveEntry at;
    at.entry = metrics::EntryOf(i, WallTime{1000 + i}, i == 7 ? 99 : 1);
    at.attempt = i < count / 2 ? 1 : 2;
    curve.push_back(at);
  }
  return curve;
}

TEST(Series, NoMoreThanAScreenShowsAndNoExtremeLost) {
  SeriesRange range;
  range.pixels = 10;
  const auto few = Condense(Points(1000), range);
  EXPECT_LE(few.size(), 20u);
  int64_t count = 0;
  double most = 0;
  for (const auto& at : few) {
    count += at.entry.count;
    most = std::max(most, at.entry.max);
  }
  EXPECT_EQ(count, 1000);
  EXPECT_EQ(most, 99);
}

TEST(Series, ARangeHasItsNeighbours) {
  SeriesRange range;
  range.from = 100;
  range.to = 102;
  const auto some = Condense(Points(1000), range);
  ASSERT_EQ(some.size(), 5u);
  EXPECT_EQ(some.front().entry.first_step, 99);
  EXPECT_EQ(some.back().entry.first_step, 103);
}

TEST(Series, WhatIsNotFiniteIsText) {
  metrics::CurveEntry at;
  at.entry = metrics::EntryOf(1, WallTime{1}, std::nan(""));
  EXPECT_EQ(SeriesJson("x", {at})["last"][0], "nan");
}

TEST(Series, AUsageThatIsNoneIsNull) {
  for (const char* text : {"", "{}", "[]", "{\"format\":1,\"samples\":[1]}", "{\"format\":2}"}) {
    EXPECT_TRUE(UsageColumns(text, 1, 0).is_null()) << text;
  }
  const auto good = UsageColumns(
      R"({"format":1,"samples":[{"at_ms":0,"cpu_seconds":0},{"at_ms":30,"cpu_seconds":0.9},
          {"at_ms":2500,"cpu_seconds":2,"cpu_at_ms":1000,"sent_bytes":5},
          {"at_ms":3500,"cpu_seconds":0,"sent_bytes":7,"work_bytes":9}]})",
      1, 0);
  EXPECT_EQ(good["cpu_cores"].dump(), "[null,null,2.0,0.0]");
  EXPECT_EQ(good["sent_per_s"].dump(), "[null,null,null,2.0]");
  EXPECT_EQ(good["work_bytes"].dump(), "[null,null,null,9.0]");
  EXPECT_EQ(good["received_per_s"].dump(), "[null,null,null,null]");
}

}  // namespace
}  // namespace stoker::page
