// SPDX-License-Identifier: Apache-2.0
#include "outputs/output_pattern.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(OutputPattern, WhatItMeans) {
  struct Case {
    const char* pattern;
    const char* path;
    bool matches;
  };
  for (const Case& c : {Case{"model.pt", "model.pt", true},
                        {"model.pt", "x/model.pt", false},
                        {"out", "out/deep/file", true},
                        {"out", "outer/file", false},
                        {"*.onnx", "a.onnx", true},
                        {"*.onnx", "x/a.onnx", false},
                        {"*.onnx", "a.onnx/inside", true},
                        {"**/*.onnx", "a.onnx", true},
                        {"**/*.onnx", "x/y/a.onnx", true},
                        {"runs/**/best.pt", "runs/best.pt", true},
                        {"runs/**/best.pt", "runs/1/2/best.pt", true},
                        {"runs/**/best.pt", "runs/1/last.pt", false},
                        {"runs/*/best.pt", "runs/1/2/best.pt", false},
                        {"runs/?", "runs/1/any/thing", true},
                        {"epoch-[0-9].pt", "epoch-3.pt", true},
                        {"epoch-[0-9].pt", "epoch-x.pt", false},
                        {"epoch-[0-9].pt", "epoch-[0-9].pt", true}}) {
    EXPECT_EQ(OutputPattern({c.pattern}).Matches(c.path), c.matches) << c.pattern << " " << c.path;
  }
}

TEST(OutputPattern, WhereItLooks) {
  EXPECT_EQ(OutputPattern({"model.pt"}).folder(), "");
  EXPECT_EQ(OutputPattern({"a/b/model.pt"}).folder(), "a/b");
  EXPECT_EQ(OutputPattern({"a/b*/c/model.pt"}).folder(), "a");
  EXPECT_EQ(OutputPattern({"runs/**/best.pt"}).folder(), "runs");
  const OutputPattern flat({"*.onnx"});
  EXPECT_FALSE(flat.MayHold("node_modules"));
  EXPECT_TRUE(flat.MayHold("a.onnx"));
  const OutputPattern two({"runs/*/best.pt"});
  // The slash is one of the characters that [...] lists, not the end of a folder's name.
  const OutputPattern listed(OutputSpec{"a[x/y]*/b"});
  EXPECT_TRUE(listed.Matches("ax n/b") && listed.MayHold("ax n"));
  const OutputPattern escaped(OutputSpec{"run\\s/*.pt"});
  EXPECT_TRUE(escaped.Matches("runs/a.pt") && escaped.MayHold("runs"));
  EXPECT_EQ(escaped.folder(), "");
  EXPECT_TRUE(two.MayHold("runs"));
  EXPECT_TRUE(two.MayHold("runs/1"));
  EXPECT_FALSE(two.MayHold("runs/1/deep"));
  EXPECT_TRUE(two.MayHold("runs/1/best.pt"));
  EXPECT_FALSE(two.MayHold("other"));
  const OutputPattern any({"runs/**/best.pt"});
  EXPECT_TRUE(any.MayHold("runs/1/deep"));
  EXPECT_FALSE(any.MayHold("other"));
  EXPECT_TRUE(OutputPattern({"a/b/c"}).MayHold("a/b"));
  EXPECT_TRUE(OutputPattern({"a/b/c"}).MayHold("a/b/c/d"));
  EXPECT_FALSE(OutputPattern({"a/b/c"}).MayHold("a/c"));
}

}  // namespace
}  // namespace stoker
