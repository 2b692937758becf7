// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/slurm_places.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

std::string Padded(const std::vector<std::pair<std::string, size_t>>& fields) {
  std::string line;
  for (const auto& [text, width] : fields) {
    line += text + std::string(width - text.size(), ' ');
  }
  return line + "\n";
}

std::string Line(const std::string& partition, const std::string& time, const std::string& nodes,
                 const std::string& cpus, const std::string& gres, const std::string& used) {
  return Padded({{partition, 80},
                 {"up", 12},
                 {time, 20},
                 {nodes, 12},
                 {cpus, 40},
                 {"64000", 20},
                 {"16000", 20},
                 {gres, 240},
                 {used, 240}});
}

TEST(SlurmPlaces, LinesOfOnePartitionAddUp) {
  const auto places = ParseSlurmPlaces(
      Line("gpu", "1-00:00:00", "2", "4/28/0/32", "gpu:a100:4(S:0-1)", "gpu:a100:1(IDX:0)") +
          Line("gpu", "1-00:00:00", "1", "16/0/0/16", "gpu:2,mps:100", "gpu:0,mps:0") +
          Line("cpu", "infinite", "3", "0/48/0/48", "(null)", "(null)"),
      "gpu|RUNNING\ngpu,cpu|PENDING\nother|RUNNING\n\nodd\n");
  ASSERT_TRUE(places.ok()) << places.status().ToString();
  ASSERT_EQ(places->size(), 2U);
  const PlaceInfo& gpu = places->at(0);
  EXPECT_EQ(gpu.infra, "slurm/gpu");
  EXPECT_EQ(gpu.machines, 3);
  EXPECT_EQ(gpu.cpus, 48'000);
  EXPECT_EQ(gpu.free_cpus, 28'000);
  EXPECT_EQ(gpu.memory, int64_t{3 * 64000} << 20);
  EXPECT_EQ(gpu.free_memory, int64_t{3 * 48000} << 20);
  EXPECT_EQ(gpu.limit, Duration::Hours(24));
  ASSERT_EQ(gpu.gpus.size(), 2U);
  EXPECT_EQ(gpu.gpus[0].name, "a100");
  EXPECT_EQ(gpu.gpus[0].total, 8);
  EXPECT_EQ(gpu.gpus[0].free, 6);
  EXPECT_EQ(gpu.gpus[1].name, "");
  EXPECT_EQ(gpu.gpus[1].free, 2);
  EXPECT_EQ(gpu.running, 1);
  EXPECT_EQ(gpu.waiting, 1);
  const PlaceInfo& cpu = places->at(1);
  EXPECT_FALSE(cpu.limit);
  EXPECT_TRUE(cpu.gpus.empty());
  EXPECT_EQ(cpu.waiting, 1);
}

TEST(SlurmPlaces, Limits) {
  const auto limit = [](const std::string& time) {
    return ParseSlurmPlaces(Line("p", time, "1", "0/1/0/1", "", ""), "")->front().limit;
  };
  EXPECT_EQ(limit("30:00"), Duration::Minutes(30));
  EXPECT_EQ(limit("2:00:00"), Duration::Hours(2));
  EXPECT_EQ(limit("7-12:00:00"), Duration::Hours(180));
  EXPECT_FALSE(limit("n/a"));
  EXPECT_FALSE(limit("1-x:00"));
}

TEST(SlurmPlaces, WhatIsNoListIsSaid) {
  EXPECT_TRUE(ParseSlurmPlaces("slurm_load_partitions: Unable to contact\n", "")
                  .status()
                  .Is(Code::kCorrupt));
  EXPECT_TRUE(ParseSlurmPlaces("", "")->empty());
}

TEST(SlurmPlaces, CapitalsOfAGpuAreTheClusters) {
  std::vector<PlaceInfo> places(1);
  places[0].gpus = {{"a100", 4, 4}, {"l4", 2, 2}};
  EXPECT_EQ(GpuNameThere(places, "L4"), "l4");
  EXPECT_EQ(GpuNameThere(places, "H100"), "H100");
  EXPECT_EQ(GpuNameThere(Status(Code::kUnavailable, "sinfo"), "L4"), "L4");
}

TEST(SlurmPlaces, WhichPartitionWasMeant) {
  std::vector<PlaceInfo> places(2);
  places[0].infra = "slurm/gpu";
  places[1].infra = "slurm/main";
  EXPECT_EQ(WhichPartitions(places, "mian"), "; did you mean slurm/main?");
  EXPECT_EQ(WhichPartitions(places, "nothing-like-it"), "; there are gpu, main");
  EXPECT_EQ(WhichPartitions(Status(Code::kUnavailable, "sinfo"), "mian"), "");
}

}  // namespace
}  // namespace stoker
