// SPDX-License-Identifier: Apache-2.0
#include "spec/text/arguments.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace stoker {
namespace {

std::string ArgumentsOf(const std::string& command) {
  std::string out;
  for (const auto& [name, value] : NamedArguments(Split(command, ' '))) {
    out += name + ":" + value + " ";
  }
  return out;
}

TEST(Arguments, OfTheProgramAlone) {
  EXPECT_EQ(ArgumentsOf("python3 train.py --lr 0.1 --weight-decay=1e-4 -b 64 --amp --beta -0.5"),
            "lr:0.1 weight_decay:1e-4 b:64 amp:true beta:-0.5 ");
  EXPECT_EQ(ArgumentsOf("torchrun --nproc_per_node=4 train.py model.lr=0.1 +data=x data.csv"),
            "model.lr:0.1 data:x ");
  EXPECT_EQ(ArgumentsOf("python -m pkg.train --seed 1 --seed 2"), "seed:2 ");
  EXPECT_EQ(ArgumentsOf("./train --epochs 3 -- --not this"), "epochs:3 ");
  EXPECT_EQ(ArgumentsOf("python3 train.py --- ---- --lr 1"), "lr:1 ");
  EXPECT_EQ(ArgumentsOf("python3 train.py"), "");
  EXPECT_EQ(ArgumentsOf(""), "");
}

TEST(Arguments, SecretsAreNotShown) {
  EXPECT_EQ(ShownArgument("lr", "0.1"), "0.1");
  for (const char* name : {"hub_token", "api-key", "db.password", "client_secret"}) {
    EXPECT_EQ(ShownArgument(name, "hunter2"), "***") << name;
  }
  for (const char* value : {"$HF_TOKEN", "<image>", "[PAD]", "512", "true"}) {
    EXPECT_EQ(ShownArgument("image_token", value), value);
  }
  EXPECT_EQ(ShownArgument("pad_token", "eos"), "eos");
}

}  // namespace
}  // namespace stoker
