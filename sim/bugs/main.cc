// SPDX-License-Identifier: Apache-2.0
// Plays the deliberate bugs: each must break one of its rules within its number of seeds, and no
// rule may be broken by the same seeds without it. The test sim.bugs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/bugs/bugs.h"
#include "sim/bugs/switch.h"
#include "sim/checks.h"
#include "sim/swarm.h"
#include "sim/world.h"

namespace stoker::sim {
namespace {

struct Options {
  std::vector<std::string> bugs;  // empty = all
  bool list = false;
  bool swarm = false;
  bool story = false;
  uint64_t first = 1;
  int within = 0;  // 0 = the bug's own
};

using Found = std::optional<BreachFound>;

Found Play(PlanOfSeed plan, uint64_t seed, bool story) {
  World world(plan(seed));
  world.tell = story;
  if (story) world.live = [](const std::string& line) { std::puts(line.c_str()); };
  const Checks checks = WatchAll(world);
  world.Run();
  return world.breach();
}

// Worlds without any bug, each played once.
class Clean {
 public:
  const Found& Play(PlanOfSeed plan, uint64_t seed) {
    const auto key = std::make_pair(reinterpret_cast<uintptr_t>(plan), seed);
    const auto known = found_.find(key);
    if (known != found_.end()) return known->second;
    SwitchBug("");
    return found_[key] = sim::Play(plan, seed, false);
  }

 private:
  std::map<std::pair<uintptr_t, uint64_t>, Found> found_;
};

double Seconds(std::clock_t since) {
  return static_cast<double>(std::clock() - since) / CLOCKS_PER_SEC;
}

std::string Row(const Bug& bug, const std::string& rule, const std::string& seeds,
                const std::string& breach) {
  return bug.name + " | " + rule + " | " + seeds + " | " + breach;
}

// The rule that it broke; "" = it was not caught as it must be.
std::string Catch(const Bug& bug, const Options& options, Clean* clean) {
  const PlanOfSeed plan = options.swarm ? DrawPlan : bug.plan;
  const int within = options.within > 0 ? options.within : bug.within;
  const std::clock_t begin = std::clock();
  int met = 0;
  for (uint64_t seed = options.first; seed < options.first + static_cast<uint64_t>(within);
       ++seed) {
    SwitchBug(bug.name);
    const Found found = Play(plan, seed, options.story);
    if (TimesMet() > 0) ++met;
    if (!found) continue;
    const Found& without = clean->Play(plan, seed);
    const bool named =
        std::find(bug.rules.begin(), bug.rules.end(), found->rule) != bug.rules.end();
    std::string what = found->what;
    if (without)
      what += " [BUT ALSO WITHOUT THE BUG: " + without->rule + ": " + without->what + "]";
    if (!named) what += " [NOT A RULE OF THIS BUG]";
    std::printf("%s | %.2f s, met in %d\n",
                Row(bug, found->rule, std::to_string(seed), what).c_str(), Seconds(begin), met);
    std::fflush(stdout);
    return named && !without ? found->rule : "";
  }
  std::printf("%s | %.2f s, met in %d\n",
              Row(bug, bug.rules.front(), std::to_string(within), "NOT CAUGHT").c_str(),
              Seconds(begin), met);
  std::fflush(stdout);
  return "";
}

int Main(int argc, char** argv) {
  CLI::App app{"stoker's cloud in a box, with deliberate bugs"};
  Options options;
  app.add_option("--bug", options.bugs, "Only these");
  app.add_option("--seed", options.first, "The first seed");
  app.add_option("--seeds", options.within, "How many at most");
  app.add_flag("--swarm", options.swarm, "In the worlds of the swarm, instead of the bug's own");
  app.add_flag("--story", options.story, "Tell what happens");
  app.add_flag("--list", options.list, "Print names, rules and mistakes");
  CLI11_PARSE(app, argc, argv);
  Clean clean;
  int missed = 0;
  for (const Bug& bug : Bugs()) {
    const auto& wanted = options.bugs;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), bug.name) == wanted.end()) {
      continue;
    }
    if (Catch(bug, options, &clean).empty()) ++missed;
  }
  return missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace stoker::sim

int main(int argc, char** argv) { return stoker::sim::Main(argc, argv); }
