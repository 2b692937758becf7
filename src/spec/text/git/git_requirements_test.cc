// SPDX-License-Identifier: Apache-2.0
#include "spec/text/git/git_requirements.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace stoker {
namespace {

const std::string kCommit(40, 'a');

TEST(GitRequirements, WhatMayMove) {
  const auto one = [](const std::string& line) {
    const auto found = MovingRequirements(line);
    return found.size() == 1 ? found[0].source + " | " + found[0].url + " | " + found[0].ref
                             : std::to_string(found.size());
  };
  EXPECT_EQ(one("git+https://host/a/b.git@main#egg=b"),
            "git+https://host/a/b.git@main | https://host/a/b.git | main");
  EXPECT_EQ(one("b[x] @ git+https://host/a/b@release/1.0 ; python_version > '3'"),
            "git+https://host/a/b@release/1.0 | https://host/a/b | release/1.0");
  EXPECT_EQ(one("b@git+https://host/a/b"), "git+https://host/a/b | https://host/a/b | ");
  EXPECT_EQ(one("-e git+ssh://git@host/a/b.git#egg=b  # here"),
            "git+ssh://git@host/a/b.git | ssh://git@host/a/b.git | ");
  EXPECT_EQ(one("--editable=git+ssh://git@host:22/a@v1&x"),
            "git+ssh://git@host:22/a@v1&x | ssh://git@host:22/a | v1&x");
  EXPECT_EQ(one("git+git@host:a/b.git@dev"), "git+git@host:a/b.git@dev | git@host:a/b.git | dev");
  EXPECT_EQ(one("git+https://${TOKEN}@host/a@main \\"),
            "git+https://${TOKEN}@host/a@main | https://${TOKEN}@host/a | main");
  EXPECT_EQ(one("git+file:///a/b@1a2b3c4"), "git+file:///a/b@1a2b3c4 | file:///a/b | 1a2b3c4");
  for (const std::string& line :
       {std::string(""), std::string("numpy"), std::string("# git+https://host/a@main"),
        std::string("a # git+https://host/a@main"), std::string("digit+https://host/a"),
        std::string("git+"), std::string("git+https://host"), "git+https://host/a@" + kCommit,
        "git+https://host/a@" + kCommit + "#egg=a"}) {
    EXPECT_EQ(one(line), "0") << line;
  }
  EXPECT_EQ(MovingRequirements("git+https://h/a\r\ngit+https://h/a@x\ngit+https://h/a#e=1").size(),
            2U);
}

TEST(GitRequirements, OtherFiles) {
  const std::vector<std::string> expected = {"more.txt", "a b.txt", "c.txt", "d.txt", "e/f.txt"};
  EXPECT_EQ(IncludedRequirements("-r more.txt\n--requirement=\"a b.txt\"\n-cc.txt # x\n"
                                 "  --constraint d.txt\r\n-r https://h/x.txt\n-f wheels\n-r\n"
                                 "--requirements x\n-re/f.txt\nrequests"),
            expected);
}

TEST(GitRequirements, Pinned) {
  const std::map<std::string, std::string> commits = {{"git+https://h/a@main", kCommit},
                                                      {"git+https://h/b", ""}};
  const auto place = [](const std::string& file) {
    return file == "more.txt" || file == "wheels" ? "/at/" + file : "";
  };
  EXPECT_EQ(PinnedRequirements("a @ git+https://h/a@main#egg=a ; x > '3'\ngit+https://h/b\n"
                               "-r more.txt\n-f wheels\n-c other.txt\nnumpy # git+https://h/a@main",
                               commits, place),
            "a @ git+https://h/a@" + kCommit +
                "#egg=a ; x > '3'\ngit+https://h/b\n-r '/at/more.txt'\n-f '/at/wheels'\n"
                "-c other.txt\n"
                "numpy # git+https://h/a@main");
}

TEST(GitRequirements, WhichCommit) {
  const std::string b(40, 'b');
  const std::string c(40, 'c');
  const std::string text = kCommit + "\tHEAD\n" + b + "\trefs/heads/v1\n" + c + "\trefs/tags/v1\n" +
                           c + "\trefs/tags/v2\n" + kCommit + "\trefs/tags/v2^{}\n" + b +
                           "\trefs/heads/x/main\nnonsense\n";
  EXPECT_EQ(CommitInAnswer(text, ""), kCommit);
  EXPECT_EQ(CommitInAnswer(text, "v1"), b) << "as pip does";
  EXPECT_EQ(CommitInAnswer(text, "v2"), kCommit) << "what the tag is of";
  EXPECT_EQ(CommitInAnswer(text, "main"), "");
  EXPECT_EQ(CommitInAnswer(text, "refs/heads/x/main"), b);
  EXPECT_EQ(CommitInAnswer("", "v1"), "");
}

}  // namespace
}  // namespace stoker
