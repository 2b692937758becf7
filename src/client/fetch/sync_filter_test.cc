// SPDX-License-Identifier: Apache-2.0
#include "client/fetch/sync_filter.h"

#include <gtest/gtest.h>

namespace stoker::client {
namespace {

FilterRule Include(const std::string& pattern) { return {true, pattern}; }
FilterRule Exclude(const std::string& pattern) { return {false, pattern}; }

bool Takes(const std::vector<FilterRule>& rules, const std::string& key) {
  const auto filter = SyncFilter::Make(rules);
  EXPECT_TRUE(filter.ok()) << filter.status().ToString();
  return filter.ok() && filter->Takes(key);
}

std::vector<std::string> Remarks(const std::vector<FilterRule>& rules) {
  return SyncFilter::Make(rules)->Remarks({"a.py", "cache/x", "cache/deep/y.py"});
}

// Each of them as Python's fnmatch says.
TEST(SyncFilter, MatchesAsAwsCliDoes) {
  const auto matches = [](const std::string& pattern, const std::string& key) {
    return !Takes({Exclude(pattern)}, key);
  };
  EXPECT_TRUE(matches("*.py", "a.py"));
  EXPECT_TRUE(matches("*.py", "deep/er/a.py")) << "'*' is anything";
  EXPECT_FALSE(matches("a.py", "deep/a.py")) << "the whole key";
  EXPECT_FALSE(matches("cache", "cache/x")) << "the whole key";
  EXPECT_TRUE(matches("cache/*", "cache/deep/x"));
  EXPECT_TRUE(matches("*.git/*", ".git/config"));
  EXPECT_TRUE(matches("*.git/*", "deep/.git/config"));
  EXPECT_TRUE(matches("?", "\xc3\xa9")) << "a character, not a byte";
  EXPECT_TRUE(matches("?", "\xe9")) << "or a byte that is none";
  EXPECT_FALSE(matches("?", "ab"));
  EXPECT_TRUE(matches("?b", "/b"));
  EXPECT_TRUE(matches("[a-c]x", "bx"));
  EXPECT_FALSE(matches("[!a-c]x", "bx"));
  EXPECT_TRUE(matches("[!a-c]x", "dx"));
  EXPECT_TRUE(matches("[]a]x", "]x"));
  EXPECT_TRUE(matches("[^a]x", "^x")) << "'^' is itself";
  EXPECT_TRUE(matches("[a-]x", "-x"));
  EXPECT_FALSE(matches("[z-a]x", "mx"));
  EXPECT_TRUE(matches("[[]a", "[a"));
  EXPECT_TRUE(matches("a\\*", "a\\b")) << "a backslash is itself";
  EXPECT_FALSE(matches("A", "a"));
  EXPECT_TRUE(matches("*a*b*c*", "xxaxxbxxc"));
  EXPECT_FALSE(matches("*a*b*c", "xxaxxbxxcx"));
  EXPECT_TRUE(matches("/cache/", "cache/x"));
  EXPECT_TRUE(matches("", ""));
}

TEST(SyncFilter, TheLastThatMatchesCounts) {
  EXPECT_TRUE(Takes({Exclude("*"), Include("*.py")}, "a.py"));
  EXPECT_FALSE(Takes({Exclude("*"), Include("*.py")}, "a.txt"));
  EXPECT_FALSE(Takes({Include("*.py"), Exclude("*")}, "a.py"));
  EXPECT_FALSE(Takes({Exclude("*"), Include("d/*"), Exclude("*.tmp")}, "d/x.tmp"));
  EXPECT_TRUE(Takes({Include("*.py")}, "a.txt")) << "everything is taken";
}

TEST(SyncFilter, OpenClassesAreRefused) {
  for (const char* pattern : {"[a", "x[", "[]", "[!", "[!]", "a[b-"}) {
    const auto filter = SyncFilter::Make({Exclude(pattern)});
    EXPECT_EQ(filter.status().code(), Code::kUsage) << pattern;
  }
}

TEST(SyncFilter, SaysWhatMatchesNothing) {
  EXPECT_TRUE(Remarks({Exclude("*"), Include("*.py"), Include("cache/*")}).empty());
  EXPECT_TRUE(Remarks({Exclude("*.tmp")}).empty()) << "may come one day";
  auto said = Remarks({Exclude("*"), Include("*.pt")});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0], "--include '*.pt' matches nothing that exists");
  said = Remarks({Exclude("cache")});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0], "--exclude 'cache' matches no file; what a folder has in it is 'cache/*'");
}

TEST(SyncFilter, SaysWhatRcloneWouldReadOtherwise) {
  const auto said = [](const std::vector<FilterRule>& rules) {
    const auto all = Remarks(rules);
    return !all.empty() && all.back().find("rclone") != std::string::npos;
  };
  EXPECT_TRUE(said({Include("*.py")}));
  EXPECT_TRUE(said({Include("*.py"), Exclude("*")}));
  EXPECT_TRUE(said({Exclude("*"), Include("*.py"), Exclude("cache/*")}));
  EXPECT_FALSE(said({Exclude("*"), Include("*.py")}));
  EXPECT_FALSE(said({Exclude("*.py"), Exclude("cache/*")}));
}

TEST(SyncFilter, PatternsAreWrittenAsPathsBelowTheSource) {
  for (const char* pattern : {"./cache/*", "/cache/*", ".//cache/*", "./././cache/", "cache/./*",
                              "cache//*", "./cache/"}) {
    EXPECT_FALSE(Takes({Exclude(pattern)}, "cache/x")) << pattern;
    EXPECT_TRUE(Takes({Exclude(pattern)}, "a.py")) << pattern;
  }
  EXPECT_FALSE(Takes({Exclude("[./]/x")}, "./x")) << "a set is as it is written";
  const auto said = [](const std::string& pattern, const std::string& source) {
    const auto all = SyncFilter::Make({Exclude(pattern)})->Remarks({"a.py", "data/x"}, {source});
    return all.empty() ? "" : all[0];
  };
  EXPECT_EQ(said("./out/x/*", "./out/"),
            "--exclude './out/x/*' can match nothing: paths begin below SRC: 'x/*'");
  EXPECT_EQ(said("s3://b/out/x", "s3://b/out"),
            "--exclude 's3://b/out/x' can match nothing: paths begin below SRC: 'x'");
  EXPECT_EQ(said("../x", "out"),
            "--exclude '../x' can match nothing: no path below SRC has a '..' "
            "in it");
  EXPECT_EQ(said("data/x", "data"), "") << "it matches";
  EXPECT_EQ(said("*.tmp", "out"), "");
}

}  // namespace
}  // namespace stoker::client
