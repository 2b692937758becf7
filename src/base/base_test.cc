// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "base/screen.h"
#include "base/status.h"
#include "base/text.h"
#include "base/time.h"

namespace stoker {
namespace {

using Words = std::vector<std::string>;
static_assert(std::is_same_v<decltype(std::declval<Result<Words>>().value()), Words>);
static_assert(std::is_same_v<decltype(*std::declval<Result<Words>>()), Words>);
static_assert(std::is_same_v<decltype(std::declval<Result<Words>>().status()), Status>);
static_assert(std::is_same_v<decltype(*std::declval<Result<Words>&>()), Words&>);
static_assert(std::is_same_v<decltype(*std::declval<const Result<Words>&>()), const Words&>);

Result<Words> TwoWords() { return Words{std::string(100, 'a'), std::string(100, 'b')}; }

TEST(Result, WhatIsLoopedOverOutlivesTheCall) {
  std::string all;
  for (const std::string& word : *TwoWords()) all += word.substr(98);
  for (const std::string& word : TwoWords().value()) all += word.substr(99);
  EXPECT_EQ(all, "aabbab");
  const Status& status = Result<Words>(Status(Code::kBusy, std::string(100, 'c'))).status();
  EXPECT_EQ(status.message(), std::string(100, 'c'));
}

TEST(Time, Rfc3339RoundTrips) {
  for (const int64_t ms :
       {0LL, 1'763'000'000'123LL, -1LL, 951'782'400'000LL, 4'102'444'799'999LL}) {
    const auto back = ParseRfc3339(FormatRfc3339(WallTime{ms}));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->ms, ms);
  }
  EXPECT_EQ(ParseRfc3339("2020-04-24T17:11:44Z")->ms, 1587748304000);
  EXPECT_EQ(ParseRfc3339("2020-04-24T19:11:44.5+02:00")->ms, 1587748304500);
  EXPECT_EQ(ParseRfc3339("2020-02-29 17:11:44.1234567z")->ms, 1582996304123);
}

TEST(Text, WholeNumbers) {
  EXPECT_EQ(WholeNumber("0", 0, 9), 0);
  EXPECT_EQ(WholeNumber("-3", -3, 9), -3);
  EXPECT_EQ(WholeNumber("9223372036854775807", 0, INT64_MAX), INT64_MAX);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "1.5", "1e3", "0x1", "10", "-1", "-",
                           "9223372036854775808", "99999999999999999999"}) {
    EXPECT_EQ(WholeNumber(text, 0, 9), std::nullopt) << text;
  }
}

TEST(Time, RefusesWhatIsNoTime) {
  for (const char* text : {"", "now", "2020-04-24", "2020-04-24T17:11:44", "2020-13-24T17:11:44Z",
                           "2020-04-24x17:11:44Z", "2020-02-30T17:11:44Z", "2021-02-29T17:11:44Z",
                           "2020-04-24T17:11:44.Z", "2020-04-24T17:11:44+24:00",
                           "2020-04-24T17:11:44+02:60", "2020-04-24T17:11:44Z "}) {
    EXPECT_FALSE(ParseRfc3339(text).ok()) << text;
  }
}

TEST(Time, DurationsRoundTripAndRefuse) {
  for (const char* text : {"500ms", "90s", "1m30s", "8h", "2d", "1h30m"}) {
    ASSERT_TRUE(ParseDuration(text).ok()) << text;
    EXPECT_EQ(*ParseDuration(FormatDuration(*ParseDuration(text))), *ParseDuration(text));
  }
  for (const char* text : {"", "5", "-5s", "s", "5 s", "5x", "5s1h", "99999999999d", "1h1h"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
}

TEST(Time, NoTimeForPeopleIsNegative) {
  EXPECT_EQ(HumanDuration(Duration::Seconds(-3)), "0ms");
  EXPECT_EQ(HumanDuration(Duration::Seconds(61)), "1m 1s");
}

TEST(Text, PrintableKeepsTheColoursThatItIsToldTo) {
  const std::string text = "\x1b[31mred\x1b[0m\x1b[8mhidden\x1b[2J\x1b[38;5;9mx\x1b[1";
  EXPECT_EQ(Printable(text, false, Colours::kOwn), "\x1b[31mred\x1b[0mhiddenx");
  EXPECT_EQ(Printable(text, false, Colours::kAll), "\x1b[31mred\x1b[0m\x1b[8mhidden\x1b[38;5;9mx");
}

TEST(Text, JsonLosesNothing) {
  EXPECT_EQ(PrintableJson("{\"a\": \"\xc2\x9b\x7f\xe2\x80\xae\xc3\xa9\"}\n"),
            "{\"a\": \"\\u009b\\u007f\\u202e\xc3\xa9\"}\n");
  EXPECT_EQ(PrintableJson("\xff\xe2"), "\xff\xe2");
}

TEST(Text, PrintableDropsControlSequences) {
  EXPECT_EQ(Printable("\x1b[31mred\x1b[0m \x1b]0;title\x07ok\r\n"), "red ok");
  EXPECT_EQ(Printable("a\xff"
                      "b\xc3\xa9\xc2\x9b"),
            "a?b\xc3\xa9??");
  EXPECT_EQ(Printable("a\nb", true), "a\nb");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m\xc2\x85 a\xe2\x80\xae"
                      "b\xe2\x81\xa9\xd8\x9c"),
            "?"
            "?31m?"
            "? a??"
            "?b??"
            "???");
  EXPECT_EQ(Printable("caf\xc3\xa9 \xe2\x86\x92 \xe2\x80\xa6"),
            "caf\xc3\xa9 \xe2\x86\x92 \xe2\x80\xa6");
}

TEST(Text, NearestFindsTyposOnly) {
  EXPECT_EQ(Nearest("epohcs", {"epochs", "lr"}), "epochs");
  EXPECT_EQ(Nearest("naem", {"name", "run"}), "name");
  EXPECT_EQ(Nearest("zzz", {"epochs", "lr"}), "");
}

TEST(Text, SafeNamesAndPaths) {
  EXPECT_TRUE(IsSafeName("digits-2.x_y"));
  for (const char* bad : {"", "-x", ".x", "a/b", "a b", "a\nb", "é"}) EXPECT_FALSE(IsSafeName(bad));
  EXPECT_TRUE(IsSafeRelativePath("a/b"));
  for (const char* bad : {"", "/a", "a//b", "a/../b", ".", "a/"})
    EXPECT_FALSE(IsSafeRelativePath(bad));
}

TEST(Text, SizesAndQuotes) {
  EXPECT_EQ(*ParseSize("16GiB"), 16LL << 30);
  EXPECT_EQ(*ParseSize("100MB"), 100'000'000);
  EXPECT_FALSE(ParseSize("12 parsecs").ok());
  EXPECT_EQ(ShellQuote("it's"), "'it'\\''s'");
}

TEST(Prng, SameSeedSameDraws) {
  Prng a(7), b(7);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.Next(), b.Next());
  EXPECT_EQ(Prng(1).Base32(8).size(), 8u);
}

}  // namespace
}  // namespace stoker
