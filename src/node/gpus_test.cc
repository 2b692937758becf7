// SPDX-License-Identifier: Apache-2.0
#include "node/gpus.h"

#include <gtest/gtest.h>

namespace stoker::node {
namespace {

std::string Text(const std::string& given) {
  const auto granted = ReadGrantedGpus(given);
  if (!granted) return "none";
  std::string out = std::to_string(granted->count);
  for (const auto& [name, value] : granted->variables) {
    out += " " + name.substr(0, name.find('_')) + "=" + value;
  }
  return out;
}

TEST(Gpus, GrantedOnesAreWhatTheProgramSees) {
  EXPECT_EQ(Text("cuda:0,3"), "2 CUDA=0,3 CUDA=PCI_BUS_ID");
  EXPECT_EQ(Text("rocm:1,2"), "2 ROCR=1,2 HIP=0,1 CUDA=0,1");
  EXPECT_EQ(Text("cuda:"), "0 CUDA= ROCR= HIP=-1");
  EXPECT_EQ(Text("rocm:"), "0 CUDA= ROCR= HIP=-1");
  EXPECT_EQ(Text(""), "none");
  EXPECT_EQ(Text("cuda:GPU-1"), "none");
}

}  // namespace
}  // namespace stoker::node
