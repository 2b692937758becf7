// SPDX-License-Identifier: Apache-2.0
#include "pack/ignore.h"

#include <gtest/gtest.h>
#include <set>

#include "base/prng.h"
#include "base/text.h"
#include "sys/command.h"
#include "test/kit/tree.h"

namespace stoker::pack {
namespace {

// With the folders above taken into account, as a walk from the top would.
bool Ignored(const IgnoreTree& tree, const std::string& path, bool is_dir) {
  for (size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
    if (tree.IgnoresEntry(path.substr(0, at), true)) return true;
  }
  return tree.IgnoresEntry(path, is_dir);
}

bool IgnoredBy(const std::string& patterns, const std::string& path, bool is_dir = false) {
  IgnoreTree tree;
  tree.Add("", patterns);
  return Ignored(tree, path, is_dir);
}

TEST(Ignore, FollowsTheManualPage) {
  EXPECT_TRUE(IgnoredBy("*.o", "a/b.o"));
  EXPECT_FALSE(IgnoredBy("/*.o", "a/b.o"));
  EXPECT_TRUE(IgnoredBy("build/", "build", true));
  EXPECT_TRUE(IgnoredBy("build/", "x/build/y"));
  EXPECT_FALSE(IgnoredBy("build/", "build"));
  EXPECT_FALSE(IgnoredBy("a/b", "x/a/b"));
  EXPECT_TRUE(IgnoredBy("**/a/b", "x/y/a/b"));
  EXPECT_TRUE(IgnoredBy("a/**/b", "a/b"));
  EXPECT_TRUE(IgnoredBy("a/**/b", "a/x/y/b"));
  EXPECT_TRUE(IgnoredBy("a/**", "a/x/y"));
  EXPECT_FALSE(IgnoredBy("a/**", "a", true));
  EXPECT_TRUE(IgnoredBy("*.log\n!keep.log", "x.log"));
  EXPECT_FALSE(IgnoredBy("*.log\n!keep.log", "keep.log"));
  EXPECT_TRUE(IgnoredBy("logs/\n!logs/keep", "logs/keep")) << "nothing below an ignored folder";
  EXPECT_TRUE(IgnoredBy("\\#x", "#x"));
  EXPECT_TRUE(IgnoredBy("\\!x", "!x"));
  EXPECT_TRUE(IgnoredBy("x  ", "x"));
  EXPECT_TRUE(IgnoredBy("x\\ ", "x "));
  EXPECT_TRUE(IgnoredBy("x\r\ny\r\n", "x"));
  EXPECT_TRUE(IgnoredBy("\xef\xbb\xbfx", "x"));
  EXPECT_FALSE(IgnoredBy("# x\n\n/\n!\n", "x"));
}

TEST(Ignore, NearerFilesDecideFirst) {
  IgnoreTree tree;
  tree.Add("", "*.txt");
  tree.Add("a", "!*.txt");
  tree.Add("a/b", "x.txt\n/only.bin");
  EXPECT_TRUE(Ignored(tree, "x.txt", false));
  EXPECT_FALSE(Ignored(tree, "a/x.txt", false));
  EXPECT_TRUE(Ignored(tree, "a/b/x.txt", false));
  EXPECT_TRUE(Ignored(tree, "a/b/only.bin", false));
  EXPECT_FALSE(Ignored(tree, "a/b/c/only.bin", false));
  EXPECT_FALSE(Ignored(tree, "a/b/c/y.txt", false));
}

TEST(Ignore, HostilePatternsTakeLittleTime) {
  std::string stars;
  for (int i = 0; i < 2000; ++i) stars += "*a";
  EXPECT_FALSE(IgnoredBy("x/" + stars + "b", "x/" + std::string(4000, 'a')));
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "**/a/";
  EXPECT_FALSE(IgnoredBy(deep + "b", "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/c"));
}

// The tree that patterns are tried on: names chosen so that random patterns meet them.
const std::vector<std::string>& Paths() {
  static const std::vector<std::string> paths = {
      "a",           "b.txt",     "ab",        "a b",       "x ",         "foo.o",     "#c",
      "!d",          "d/a",       "d/b/a",     "d/b/c/a",   "d/foo.o",    "d/b/foo.o", "d/b/ab",
      "e/d/a",       "e/d/b/foo", "e/foo/bar", "e/foobar",  "foo/bar/x",  "foobar/x",  "foo/barx/y",
      "foo/a/bar/b", "d/-",       "d/]",       "d/[a]",     "d/a\\b",     "d/a*b",     "A",
      "d/B/9",       "d/b/ x",    "e/.hid",    ".hid/a",    "f/f/f/f/f",  "f/f/g",     "g/\xc3\xa9",
      "g/\xff",      "g/a\nb",    "fooxbar/y", "foo-bar/z", "d/b/c/d/b/a"};
  return paths;
}

std::string RandomPattern(Prng& prng) {
  static const char* kParts[] = {"a",           "b",           "ab",
                                 "foo",         "bar",         "d",
                                 "e",           "f",           "x",
                                 ".o",          "*",           "*",
                                 "?",           "**",          "**/",
                                 "/**",         "/",           "/",
                                 "/",           "/",           "[ab]",
                                 "[!a]",        "[^a-c]",      "[a-c]",
                                 "[]a]",        "[[:alpha:]]", "[[:digit:]x]",
                                 "[[:none:]]",  "[a",          "\\",
                                 "\\*",         "\\a",         " ",
                                 "\\ ",         "[a-]",        "***",
                                 "[\\]]",       "[a-c-e]",     "c",
                                 "[[:alpha:x]", "[a/b]",       "\xc3\xa9"};
  std::string out = prng.Chance(1, 5) ? "!" : prng.Chance(1, 12) ? "\\!" : "";
  const uint64_t count = 1 + prng.Below(6);
  for (uint64_t i = 0; i < count; ++i) out += kParts[prng.Below(std::size(kParts))];
  if (prng.Chance(1, 6)) out += "/";
  if (prng.Chance(1, 10)) out += "  ";
  if (prng.Chance(1, 12)) out += "\r";
  return out;
}

// Half of the patterns come from a path of the tree with parts replaced, so that many match.
std::string NearPattern(Prng& prng) {
  std::string out = Paths()[prng.Below(Paths().size())];
  for (uint64_t i = prng.Below(3); i > 0 && !out.empty(); --i) {
    static const char* kWild[] = {"*", "?", "**", "[a-z]", "**/", "\\", "[!x]", "/"};
    size_t at = prng.Below(out.size());
    out.replace(at, 1 + prng.Below(2), kWild[prng.Below(std::size(kWild))]);
  }
  if (prng.Chance(1, 4)) out = out.substr(0, out.find('/'));
  if (prng.Chance(1, 4)) out = "/" + out;
  if (prng.Chance(1, 4)) out = "!" + out;
  if (prng.Chance(1, 4)) out = out + "/";
  return out;
}

TEST(Ignore, AgreesWithGitCheckIgnore) {
  TestTree tree;
  std::set<std::string> dirs;
  for (const std::string& path : Paths()) {
    tree.Write(path, "");
    for (size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
      dirs.insert(path.substr(0, at));
    }
  }
  tree.Git({"init", "-q"});
  std::vector<std::string> subjects = Paths();
  subjects.insert(subjects.end(), dirs.begin(), dirs.end());
  const sys::Command check = {{"git", "-C", tree.root(), "check-ignore", "--no-index", "-z", "-v",
                               "--non-matching", "--stdin"},
                              TestEnvironment(),
                              tree.Beside("subjects")};
  ASSERT_TRUE(sys::WriteFileAtomic(check.input, Join(subjects, std::string(1, '\0'))).ok());
  Prng prng(20261121);
  int ignored = 0;
  for (int round = 0; round < 500; ++round) {
    IgnoreTree rules;
    std::string shown;
    for (const char* dir : {"", "d", "d/b"}) {
      std::string text;
      for (uint64_t i = 1 + prng.Below(dir[0] == 0 ? 4 : 2); i > 0; --i) {
        text += (prng.Chance(1, 2) ? RandomPattern(prng) : NearPattern(prng)) + "\n";
      }
      if (prng.Chance(1, 8)) text.pop_back();
      rules.Add(dir, text);
      tree.Write(std::string(dir) + (dir[0] == 0 ? "" : "/") + ".gitignore", text);
      shown += std::string("[") + dir + "]\n" + text;
    }
    Result<sys::CommandOutput> git = std::move(sys::RunCommands({check}, 20000)[0]);
    ASSERT_TRUE(git.ok()) << git.status().ToString();
    ASSERT_LE(git->exit_code, 1) << git->err;
    // Records of four: source, line, pattern, path; a pattern that begins with '!' keeps.
    std::vector<std::string> fields = Split(git->out, '\0');
    ASSERT_EQ(fields.size(), subjects.size() * 4 + 1);
    for (size_t i = 0; i < subjects.size(); ++i) {
      const std::string& pattern = fields[4 * i + 2];
      const bool expected = !pattern.empty() && pattern[0] != '!';
      const bool is_dir = dirs.count(subjects[i]) != 0;
      ASSERT_EQ(Ignored(rules, subjects[i], is_dir), expected)
          << "path '" << subjects[i] << "' git says '" << pattern << "' of\n"
          << shown;
      ignored += expected ? 1 : 0;
    }
  }
  EXPECT_GT(ignored, 2000) << "the patterns hardly match anything: the test has gone blind";
}

}  // namespace
}  // namespace stoker::pack
