// SPDX-License-Identifier: Apache-2.0
#include "provider/ssh/box_share.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace stoker {
namespace {

TEST(BoxShare, WhatIsPutIsTaken) {
  PlaceInfo share;
  share.cpus = 8000;
  share.free_cpus = 0;
  share.memory = int64_t{64} << 30;
  share.running = 3;
  share.waiting = 1;
  share.gpus = {{"NVIDIA L4", 2, 1}, {"", 1, std::nullopt}};
  share.engines = {"podman", "docker"};
  BoxJson json;
  PutShare(share, &json);
  const auto taken = TakeShare(BoxJson::parse(json.dump()));
  ASSERT_TRUE(taken.ok()) << taken.status().ToString();
  EXPECT_EQ(taken->cpus, share.cpus);
  EXPECT_EQ(taken->free_cpus, share.free_cpus);
  EXPECT_EQ(taken->memory, share.memory);
  EXPECT_FALSE(taken->free_memory);
  EXPECT_EQ(taken->running, 3);
  EXPECT_EQ(taken->waiting, 1);
  EXPECT_EQ(taken->engines, share.engines);
  ASSERT_EQ(taken->gpus.size(), 2U);
  EXPECT_EQ(taken->gpus[0].name, "NVIDIA L4");
  EXPECT_EQ(taken->gpus[0].free, 1);
  EXPECT_FALSE(taken->gpus[1].free);
}

TEST(BoxShare, AnOlderOneSaysNothingOfEngines) {
  EXPECT_FALSE(TakeShare(BoxJson::parse(R"({"gpus":[]})"))->engines);
}

TEST(BoxShare, WhatCannotBeIsRefused) {
  for (const char* text :
       {"[]", "{}", R"({"gpus":{}})", R"({"gpus":[],"cpus":-1})", R"({"gpus":[],"cpus":"8"})",
        R"({"gpus":[{"name":"x"}]})", R"({"gpus":[{"total":99999}]})", R"({"gpus":[7]})",
        R"({"gpus":[],"engines":"none"})", R"({"gpus":[],"engines":[1]})"}) {
    EXPECT_TRUE(TakeShare(BoxJson::parse(text)).status().Is(Code::kCorrupt)) << text;
  }
}

}  // namespace
}  // namespace stoker
