// SPDX-License-Identifier: Apache-2.0
#include "node/env/kept/env_source.h"

#include <gtest/gtest.h>

namespace stoker::node {
namespace {

EnvSource Plain(const std::string& text) {
  EnvSource source;
  source.asked = "/usr/bin/python3 3.11.2 (main)\n";
  source.machine = "/usr/bin/python3.11 x86_64 glibc 2.36\nlinux-x86_64 cpython-311\nsix==1.16\n";
  source.text = text;
  return source;
}

TEST(EnvSource, KnowsWhatDiffersBetweenMachines) {
  const std::string key = KeyOfSource(Plain("numpy==1.26\n")).key;
  ASSERT_EQ(key.size(), 64U);
  EXPECT_EQ(KeyOfSource(Plain("numpy==1.26\n")).key, key);
  EXPECT_NE(KeyOfSource(Plain("numpy==1.27\n")).key, key);
  EnvSource other = Plain("numpy==1.26\n");
  other.machine = "/usr/bin/python3.11 x86_64 glibc 2.36\nlinux-x86_64 cpython-311\nsix==1.17\n";
  EXPECT_NE(KeyOfSource(other).key, key) << "another package below it";
  other = Plain("numpy==1.26\n");
  other.image = "sha256:d";
  EXPECT_NE(KeyOfSource(other).key, key) << "what lies below Python in an image";
  other = Plain("numpy==1.26\n");
  other.code_digest = "d";
  EXPECT_NE(KeyOfSource(other).key, key);
  other = Plain("numpy==1.26\n");
  other.pins = {{"git+https://h/x@main", "c0ffee"}};
  EXPECT_NE(KeyOfSource(other).key, key);
}

TEST(EnvSource, PasswordsDoNotCountAndIndexesDo) {
  EnvSource a = Plain("--index-url https://me:one@host/simple\nx\n");
  EnvSource b = Plain("--index-url https://you:${TOKEN}@host/simple\nx\n");
  EXPECT_EQ(KeyOfSource(a).key, KeyOfSource(b).key);
  a = b = Plain("x\n");
  a.settings = {{"extra-index-url", "https://me:p@host/simple"}, {"timeout", "9"}};
  b.settings = {{"extra-index-url", "https://host/simple"}};
  EXPECT_EQ(KeyOfSource(a).key, KeyOfSource(b).key);
  b.settings = {{"extra-index-url", "https://other/simple"}};
  EXPECT_NE(KeyOfSource(a).key, KeyOfSource(b).key);
  a.settings = b.settings = {};
  a.variables = {{"UV_INDEX_X_PASSWORD", "p"}, {"HOME", "/a"}};
  EXPECT_EQ(KeyOfSource(a).key, KeyOfSource(b).key);
  a.variables = {{"UV_EXCLUDE_NEWER", "2026-01-01"}};
  EXPECT_NE(KeyOfSource(a).key, KeyOfSource(b).key);
}

TEST(EnvSource, WithoutPasswordsLeavesTheRest) {
  EXPECT_EQ(WithoutPasswords("a https://u:p@h/x@y b://q c"), "a https://h/x@y b://q c");
  EXPECT_EQ(WithoutPasswords("x @ git+ssh://git@h/r@main"), "x @ git+ssh://h/r@main");
  EXPECT_EQ(WithoutPasswords("plain"), "plain");
}

TEST(EnvSource, WhatLiesOutsideOfTheCodeIsNotShared) {
  for (const char* text : {"x @ file:///opt/x.whl", "/opt/x.whl", "-r /etc/r.txt", "-r/etc/r.txt",
                           "--find-links=/srv", "../x", "x @ /opt/x.whl", "x==${VERSION}"}) {
    EXPECT_EQ(KeyOfSource(Plain(text)).key, "") << text;
    EXPECT_NE(KeyOfSource(Plain(text)).why_not, "") << text;
  }
  for (const char* text : {"./pkg", "-r more.txt", "x @ https://h/x.whl", "x @ git+ssh://git@h/x",
                           "# /etc/x\nnumpy", "wheels/x.whl", "-r reqs/base.txt"}) {
    EXPECT_NE(KeyOfSource(Plain(text)).key, "") << text;
  }
  EnvSource parent = Plain("x");
  parent.asked += "changed 1\nparent /home/me/venv/lib\n";
  EXPECT_EQ(KeyOfSource(parent).key, "");
  EnvSource unknown = Plain("x");
  unknown.pins = {{"git+https://h/x@main", ""}};
  EXPECT_EQ(KeyOfSource(unknown).key, "");
}

}  // namespace
}  // namespace stoker::node
