// SPDX-License-Identifier: Apache-2.0
#include "cli/words/stubs.h"

#include <gtest/gtest.h>

#include <set>

#include "base/prng.h"
#include "cli/terminal/table.h"

namespace stoker::cli {
namespace {

using Texts = std::vector<std::string>;

TEST(Stubs, LoseTheirMiddle) {
  EXPECT_EQ(Stubs({"loss", "validation/epoch_loss"}, 12), (Texts{"loss", "valida…_loss"}));
  EXPECT_EQ(Stubs({"a", "a"}, 12), (Texts{"a", "a"}));
  EXPECT_EQ(Stubs({"模型模型模型模型"}, 9), (Texts{"模型…模型"}));
}

TEST(Stubs, ShowWhereTheyDiffer) {
  const std::string begin = "python3 train.py --config base.yaml --lr ";
  const std::string end = " --epochs 30 --workers 4 --out runs";
  EXPECT_EQ(Stubs({begin + "0.1" + end, begin + "0.02" + end, "x"}, 24),
            (Texts{"python…0.1 --epochs 30 …", "python…0.02 --epochs 30…", "x"}));
}

// Whatever they are: no wider than asked, and those that differ do so still.
TEST(Stubs, AreNeverEqual) {
  Prng prng(1);
  for (int round = 0; round < 300; ++round) {
    Texts texts;
    for (int i = 0; i < 40; ++i) {
      std::string text;
      const auto length = prng.Below(60);
      for (uint64_t k = 0; k < length; ++k) {
        text += prng.Chance(1, 20) ? "模" : prng.Chance(1, 4) ? "b" : "a";
      }
      texts.push_back(text);
    }
    const size_t width = 8 + prng.Below(20);
    const Texts stubs = Stubs(texts, width);
    ASSERT_EQ(stubs.size(), texts.size());
    EXPECT_EQ(std::set(stubs.begin(), stubs.end()).size(),
              std::set(texts.begin(), texts.end()).size());
    for (const std::string& stub : stubs) EXPECT_LE(DisplayWidth(stub), width) << stub;
  }
}

}  // namespace
}  // namespace stoker::cli
