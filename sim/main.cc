// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "sim/checks.h"
#include "sim/swarm.h"
#include "sim/world.h"

namespace stoker::sim {
namespace {

struct Options {
  uint64_t seed = 1;
  uint64_t seeds = 1;
  bool story = false;
  bool dump = false;
};

int Main(int argc, char** argv) {
  CLI::App app{"stoker's cloud in a box"};
  Options options;
  app.add_option("--seed", options.seed, "The first seed");
  app.add_option("--seeds", options.seeds, "How many");
  app.add_flag("--story", options.story, "Tell what happens");
  app.add_flag("--dump", options.dump, "Print records and reports at the end");
  CLI11_PARSE(app, argc, argv);
  int64_t lives = 0;
  int64_t events = 0;
  int breaches = 0;
  for (uint64_t seed = options.seed; seed < options.seed + options.seeds; ++seed) {
    World world(DrawPlan(seed));
    world.tell = options.story;
    if (options.story) world.live = [](const std::string& line) { std::puts(line.c_str()); };
    const Checks checks = WatchAll(world);
    world.Run();
    lives += world.lives;
    events += world.scheduler().events();
    if (world.breach()) {
      ++breaches;
      std::printf("seed %llu: %s: %s (job %s)\n", static_cast<unsigned long long>(seed),
                  world.breach()->rule.c_str(), world.breach()->what.c_str(),
                  world.breach()->job.c_str());
    }
    if (options.dump) {
      for (const auto& [key, entry] : world.bucket().objects()) {
        const bool shown = key.rfind("records/", 0) == 0 || key.rfind("reports/", 0) == 0;
        if (shown) std::printf("%s %s\n", key.c_str(), entry.data->c_str());
      }
    }
    if (options.seeds == 1) {
      std::printf(
          "seed %llu hash %016llx time %lld s events %lld\n", static_cast<unsigned long long>(seed),
          static_cast<unsigned long long>(world.hash()), static_cast<long long>(world.now() / 1000),
          static_cast<long long>(world.scheduler().events()));
    }
  }
  std::printf("%llu seeds, %lld lives, %lld events, %d breaches\n",
              static_cast<unsigned long long>(options.seeds), static_cast<long long>(lives),
              static_cast<long long>(events), breaches);
  return breaches == 0 ? 0 : 1;
}

}  // namespace
}  // namespace stoker::sim

int main(int argc, char** argv) { return stoker::sim::Main(argc, argv); }
