// SPDX-License-Identifier: Apache-2.0
#include "agent/log_mask.h"

#include <gtest/gtest.h>

#include "agent/secret_forms.h"
#include "base/prng.h"

namespace stoker {
namespace {

class Keep : public LogSink {
 public:
  void Write(LogStream stream, std::string_view bytes) override {
    (stream == LogStream::kOut ? out : stream == LogStream::kErr ? err : system) += bytes;
  }
  std::string out, err, system;
};

const std::string kSecret = "hunter2+/hunter2";

TEST(LogMask, WhateverTheWritesCut) {
  const std::string text = "a hunter2+/hunter2 b hunter2+/hunterhunter2+/hunter2\nhunter2";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    for (size_t second = cut; second <= text.size(); ++second) {
      Keep keep;
      LogMask mask(keep, {kSecret});
      mask.Write(LogStream::kOut, text.substr(0, cut));
      mask.Write(LogStream::kErr, "hunter2");
      mask.Write(LogStream::kOut, text.substr(cut, second - cut));
      mask.Write(LogStream::kOut, text.substr(second));
      mask.Flush();
      ASSERT_EQ(keep.out, "a *** b hunter2+/hunter***\n***") << cut << " " << second;
      ASSERT_EQ(keep.err, "***");
    }
  }
}

TEST(LogMask, WhatCannotBeASecretDoesNotWait) {
  Keep keep;
  LogMask mask(keep, {kSecret});
  mask.Write(LogStream::kOut, "Continue? [y/n] ");
  EXPECT_EQ(keep.out, "Continue? [y/n] ");
  mask.Write(LogStream::kOut, "oh");
  EXPECT_EQ(keep.out, "Continue? [y/n] o");
  mask.Flush();
  EXPECT_EQ(keep.out, "Continue? [y/n] oh");
}

TEST(LogMask, Forms) {
  Keep keep;
  LogMask mask(keep, {"ab\"cd/ef\n", "line one\nline two"});
  // python3: base64.b64encode(b'ab"cd/ef'), of b'u:ab"cd/ef', of b'me:ab"cd/ef'; json.dumps; quote
  for (const char* form : {"ab\"cd/ef", "YWIiY2QvZW", "ab\\\"cd/ef", "ab%22cd%2Fef"}) {
    const std::string masked = mask.Masked("<" + std::string(form) + ">");
    EXPECT_EQ(masked.substr(0, 4), "<***") << form;
    EXPECT_EQ(masked.find("cd"), std::string::npos) << form;
  }
  EXPECT_EQ(mask.Masked("dTphYiJjZC9lZg=="), "dTp***==");
  EXPECT_EQ(mask.Masked("bWU6YWIiY2QvZWY="), "bWU6***Y=");
  EXPECT_EQ(mask.Masked("x line two y"), "x *** y");
  EXPECT_TRUE(FormsOfSecret("short").empty());

  EXPECT_EQ(LogMask(keep, {"1", ""}).Masked("1 2 3"), "1 2 3");
}

// As the tools wrote them; test/e2e/secrets/planted.py has more.
TEST(LogMask, FormsOfTools) {
  Keep keep;
  const LogMask mask(keep, {"it's \"so\" $x/", "Grüße\tan", "p%40ss/word"});
  for (const char* form :
       {"it'\\''s \"so\" $x/", "it'\"'\"'s \"so\" $x/", "it\\'s\\ \\\"so\\\"\\ \\$x/",
        "it\\'s \"so\" $x/", "it%27s+%22so%22+%24x%2F", "it%27s%20%22so%22%20%24x/",
        "it%27s%20%22so%22%20%24x%2f", "Gr\\u00fc\\u00dfe\\tan", "Grüße\\tan",
        "Gr\\303\\274\\303\\237e\\tan", "p@ss/word", "p%2540ss%2Fword"}) {
    EXPECT_EQ(mask.Masked("<" + std::string(form) + ">"), "<***>") << form;
  }
}

// Any cutting gives what one write gives.
TEST(LogMask, RandomCuts) {
  Prng prng(7);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (uint64_t n = prng.Below(60); n > 0; --n) text += "ab"[prng.Below(2)];
    const std::vector<std::string> secrets = {"ababab", "abbabbab", "bbbbbbbbb"};
    Keep whole, cut;
    LogMask one(whole, secrets), many(cut, secrets);
    one.Write(LogStream::kOut, text);
    for (size_t at = 0; at < text.size();) {
      const size_t size = 1 + prng.Below(9);
      many.Write(LogStream::kOut, text.substr(at, size));
      at += size;
    }
    one.Flush();
    many.Flush();
    ASSERT_EQ(whole.out, cut.out) << text;
    ASSERT_EQ(whole.out.find("ababab"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace stoker
