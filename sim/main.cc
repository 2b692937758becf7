// SPDX-License-Identifier: Apache-2.0
// sim: worlds by their seeds.
//
//   sim --seed 17 --story                        one world, as it happens
//   sim --seed 17 --prose                        the same, one sentence an event
//   sim --seeds 3000 --parallel 2                many, in two processes
//   sim --lives 1000000 --parallel 2             seed after seed until so many jobs have lived
//   sim --scenario sim/scenarios/x.txt --seeds 20
//   sim --seed 17 --shrink                       the least plan that still breaks the same rule
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "sim/check/checks.h"
#include "sim/play/runs.h"
#include "sim/play/scenario.h"
#include "sim/play/shrink.h"
#include "sim/play/swarm.h"
#include "sim/world/world.h"

extern const char kCommit[];  // sim/commit.cmake

namespace stoker::sim {
namespace {

constexpr uint64_t kMostStories = 3;
constexpr uint64_t kEndless = uint64_t{1} << 62;

struct Options {
  uint64_t seed = 1;
  uint64_t seeds = 1;
  int64_t lives = 0;  // 0 = as many as the seeds have
  std::vector<std::string> scenarios;
  int parallel = 1;
  bool story = false;
  bool prose = false;
  bool dump = false;
  bool shrink = false;
  int tries = 3'000;
};

// A scenario as its file has it; of the swarm there is one, without a name.
struct Source {
  std::string name;
  std::string text;
};

using Number = unsigned long long;

double Since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Result<std::vector<Source>> ReadSources(const Options& options) {
  std::vector<Source> sources;
  for (const std::string& path : options.scenarios) {
    std::ifstream file(path);
    if (!file) return Status(Code::kNotFound, "there is no scenario " + path);
    std::stringstream text;
    text << file.rdbuf();
    sources.push_back({path, text.str()});
    // Says what is wrong with it before anything runs.
    STOKER_TRY(ParseScenario(sources.back().text, path, options.seed).status());
  }
  if (sources.empty()) sources.push_back({});
  return sources;
}

Scenario ScenarioOf(const Source& source, uint64_t seed) {
  if (source.name.empty()) return {DrawPlan(seed), {}};
  auto parsed = ParseScenario(source.text, source.name, seed);
  return parsed.ok() ? std::move(*parsed) : Scenario();
}

void PrintLines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::printf("  %s\n", line.c_str());
}

// One world in this process, told as it happens.
Outcome Watch(const Scenario& scenario, const Options& options) {
  World world(scenario.plan);
  world.tell = options.story;
  if (options.story) world.live = [](const std::string& line) { std::puts(line.c_str()); };
  const Checks checks = WatchAll(world);
  world.Run();
  if (options.dump) {
    for (const auto& [key, entry] : world.bucket().objects()) {
      const bool shown = key.rfind("records/", 0) == 0 || key.rfind("reports/", 0) == 0;
      if (shown) std::printf("%s %s\n", key.c_str(), entry.data->c_str());
    }
  }
  return OutcomeOf(world, scenario.expectations);
}

class Runner {
 public:
  Runner(const Options& options, std::vector<Source> sources)
      : options_(options), sources_(std::move(sources)), each_(sources_.size()) {}

  int Run() {
    const uint64_t count = options_.lives > 0 ? kEndless : options_.seeds * sources_.size();
    RunMany(
        count, count == 1 ? 1 : options_.parallel,
        [&](uint64_t index) {
          const Scenario scenario = ScenarioOf(SourceOf(index), SeedOf(index));
          if (options_.story || options_.dump) return Watch(scenario, options_);
          return RunPlan(scenario.plan, scenario.expectations);
        },
        [&](const Outcome& outcome) {
          // Which seeds are enough must not depend on who is faster.
          return order_.Take(outcome, [&](const Outcome& next) { return Take(next, count); });
        });
    if (each_.size() > 1) {
      for (size_t i = 0; i < each_.size(); ++i) {
        std::printf("%-50s %s\n", sources_[i].name.c_str(), Summary(each_[i]).c_str());
      }
    }
    if (count == 1 && options_.prose && all_.breaches == 0) {
      PrintLines(StoryOf(ScenarioOf(SourceOf(0), SeedOf(0)).plan));
    }
    std::printf("%s, wall time %.1f s, hash %016llx\n", Summary(all_).c_str(), Since(begin_),
                static_cast<Number>(all_.hash));
    return all_.breaches == 0 ? 0 : 1;
  }

 private:
  size_t WhichSource(uint64_t index) const {
    return options_.lives > 0 ? index % sources_.size() : index / options_.seeds;
  }
  const Source& SourceOf(uint64_t index) const { return sources_[WhichSource(index)]; }
  uint64_t SeedOf(uint64_t index) const {
    return options_.seed + (options_.lives > 0 ? index / sources_.size() : index % options_.seeds);
  }

  static std::string Summary(const Totals& totals) {
    char text[256];
    std::snprintf(text, sizeof text, "%llu seeds, %lld lives, %lld events, %lld h, %llu breaches",
                  static_cast<Number>(totals.seeds), static_cast<long long>(totals.lives),
                  static_cast<long long>(totals.events),
                  static_cast<long long>(totals.ms / 3'600'000),
                  static_cast<Number>(totals.breaches));
    return text;
  }

  // False: these are enough.
  bool Take(const Outcome& outcome, uint64_t count) {
    all_.Add(outcome);
    each_[WhichSource(outcome.index)].Add(outcome);
    if (outcome.broke) Report(outcome);
    const double now = Since(begin_);
    const bool enough = options_.lives > 0 && all_.lives >= options_.lives;
    if (now < told_ + 10 || all_.seeds == count || enough) return !enough;
    told_ = now;
    const int64_t percent = options_.lives > 0 ? 100 * all_.lives / options_.lives
                                               : static_cast<int64_t>(100 * all_.seeds / count);
    std::fprintf(stderr, "%3lld %% after %.0f s: %s\n", static_cast<long long>(percent), now,
                 Summary(all_).c_str());
    return true;
  }

  void Report(const Outcome& outcome) {
    const Source& source = SourceOf(outcome.index);
    const auto seed = static_cast<Number>(SeedOf(outcome.index));
    const std::string scenario = source.name.empty() ? "" : " --scenario " + source.name;
    std::printf("seed %llu%s, commit %s: %s: %s%s%s\n", seed, scenario.c_str(), kCommit,
                outcome.rule, outcome.what, outcome.job[0] != 0 ? ", job " : "", outcome.job);
    std::printf("  again: sim --seed %llu%s --story; shorter: … --shrink\n", seed,
                scenario.c_str());
    const bool crashed = std::string(outcome.rule) == "crash";
    if (!crashed && all_.breaches <= kMostStories) {
      PrintLines(StoryOf(ScenarioOf(source, SeedOf(outcome.index)).plan));
    }
    std::fflush(stdout);
  }

  const Options& options_;
  const std::vector<Source> sources_;
  Totals all_;
  std::vector<Totals> each_;
  InOrder order_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double told_ = 0;
};

int ShrinkOne(const Options& options, const Source& source) {
  const Scenario scenario = ScenarioOf(source, options.seed);
  const auto breaks = [](const Plan& plan) -> std::string {
    const Outcome outcome = RunPlan(plan);
    return outcome.broke ? outcome.rule : "";
  };
  const auto told = [](const std::string& what) { std::fprintf(stderr, "%s\n", what.c_str()); };
  const Shrunk shrunk = Shrink(scenario.plan, breaks, options.tries, told);
  if (shrunk.rule.empty()) {
    std::printf("seed %llu breaks no rule: there is nothing to shrink\n",
                static_cast<Number>(options.seed));
    return 2;
  }
  const Outcome outcome = RunPlan(shrunk.plan);
  std::printf("# seed %llu, commit %s, breaks %s: %s\n# hash %016llx, after %d tries\n%s\n",
              static_cast<Number>(options.seed), kCommit, outcome.rule, outcome.what,
              static_cast<Number>(outcome.hash), shrunk.tries, PrintScenario(shrunk.plan).c_str());
  for (const std::string& line : StoryOf(shrunk.plan)) std::printf("# %s\n", line.c_str());
  return 1;
}

int Main(int argc, char** argv) {
  CLI::App app{"stoker's cloud in a box"};
  Options options;
  app.add_option("--seed", options.seed, "The first seed");
  app.add_option("--seeds", options.seeds, "How many")->check(CLI::PositiveNumber);
  app.add_option("--lives", options.lives, "Instead of --seeds: until so many jobs have lived")
      ->check(CLI::PositiveNumber);
  app.add_option("--scenario", options.scenarios, "Files of sim/scenarios/, instead of the swarm");
  app.add_option("--parallel", options.parallel, "Processes that share the seeds")
      ->check(CLI::Range(1, 256));
  app.add_flag("--story", options.story, "Tell what happens, as it happens");
  app.add_flag("--prose", options.prose, "Tell what happens to jobs, one sentence an event");
  app.add_flag("--dump", options.dump, "Print records and reports at the end");
  app.add_flag("--shrink", options.shrink, "Find the least plan that breaks the same rule");
  app.add_option("--tries", options.tries, "Worlds that --shrink runs at most");
  CLI11_PARSE(app, argc, argv);
  auto sources = ReadSources(options);
  if (!sources.ok()) {
    std::fprintf(stderr, "sim: %s\n", sources.status().ToString().c_str());
    return 2;
  }
  if (options.shrink) return ShrinkOne(options, sources->front());
  Runner runner(options, std::move(*sources));
  return runner.Run();
}

}  // namespace
}  // namespace stoker::sim

int main(int argc, char** argv) { return stoker::sim::Main(argc, argv); }
