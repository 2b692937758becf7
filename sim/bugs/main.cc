// SPDX-License-Identifier: Apache-2.0
// Plays the deliberate bugs: each must break one of its rules within its number of seeds, and
// without it none of these seeds may break any. Prints a table. The test sim.bugs.
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
#include "sim/check/checks.h"
#include "sim/play/swarm.h"
#include "sim/world/world.h"

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

Found Play(PlanOfSeed plan, uint64_t seed, const std::string& bug, bool story) {
  SwitchBug(bug);
  World world(plan(seed));
  world.tell = story;
  if (story) world.live = [](const std::string& line) { std::puts(line.c_str()); };
  const Checks checks = WatchAll(world);
  world.Run();
  return world.breach();
}

class Proof {
 public:
  explicit Proof(Options options) : options_(std::move(options)) {}
  int Run();

 private:
  void Catch(const Bug& bug);
  // The seeds up to `last` without any bug.
  bool Clean(PlanOfSeed plan, uint64_t last);
  void CheckRules();
  void Row(const Bug& bug, const std::string& rule, uint64_t seeds, const std::string& breach);

  const Options options_;
  std::map<std::pair<uintptr_t, uint64_t>, bool> clean_;
  std::set<std::string> broken_;  // rules
  int failures_ = 0;
};

bool Proof::Clean(PlanOfSeed plan, uint64_t last) {
  bool all = true;
  for (uint64_t seed = options_.first; seed <= last; ++seed) {
    const auto key = std::make_pair(reinterpret_cast<uintptr_t>(plan), seed);
    auto known = clean_.find(key);
    if (known == clean_.end()) {
      const Found found = Play(plan, seed, "", options_.story);
      if (found) {
        std::printf("seed %llu breaks %s without any bug: %s\n",
                    static_cast<unsigned long long>(seed), found->rule.c_str(),
                    found->what.c_str());
      }
      known = clean_.emplace(key, !found).first;
    }
    all = all && known->second;
  }
  return all;
}

void Proof::Row(const Bug& bug, const std::string& rule, uint64_t seeds,
                const std::string& breach) {
  std::printf("%-24s | %-16s | %3llu | %s\n", bug.name.c_str(), rule.c_str(),
              static_cast<unsigned long long>(seeds), breach.c_str());
  std::fflush(stdout);
}

void Proof::Catch(const Bug& bug) {
  const PlanOfSeed plan = options_.swarm ? DrawPlan : bug.plan;
  const int within = options_.within > 0 ? options_.within : bug.within;
  const uint64_t last = options_.first + static_cast<uint64_t>(within) - 1;
  int64_t met = 0;
  for (uint64_t seed = options_.first; seed <= last; ++seed) {
    const Found found = Play(plan, seed, bug.name, options_.story);
    met += TimesMet();
    if (!found) continue;
    Row(bug, found->rule, seed - options_.first + 1, found->what);
    broken_.insert(found->rule);
    if (std::find(bug.rules.begin(), bug.rules.end(), found->rule) == bug.rules.end()) {
      std::printf("%s is not a rule that it should break\n", found->rule.c_str());
      ++failures_;
    } else if (!Clean(plan, seed)) {
      ++failures_;
    }
    return;
  }
  Row(bug, bug.rules.front(), last,
      met > 0 ? "NOT CAUGHT" : "NOT CAUGHT: its line was never reached");
  ++failures_;
}

// Each rule was the first to break by one bug at least.
void Proof::CheckRules() {
  std::set<std::string> rules;
  for (const Bug& bug : Bugs()) rules.insert(bug.rules.begin(), bug.rules.end());
  for (const std::string& rule : rules) {
    if (broken_.count(rule) > 0) continue;
    std::printf("%s was broken by no bug\n", rule.c_str());
    ++failures_;
  }
}

int Proof::Run() {
  const std::clock_t begin = std::clock();
  int played = 0;
  std::printf("%-24s | %-16s | %3s | %s\n", "bug", "rule", "seeds", "the breach");
  for (const Bug& bug : Bugs()) {
    const auto& wanted = options_.bugs;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), bug.name) == wanted.end()) {
      continue;
    }
    Catch(bug);
    ++played;
  }
  if (options_.bugs.empty()) CheckRules();
  std::printf("%d bugs, %zu rules broken, %zu seeds without a bug, %.1f s, %d failures\n", played,
              broken_.size(), clean_.size(),
              static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, failures_);
  return played > 0 && failures_ == 0 ? 0 : 1;
}

int List() {
  for (const Bug& bug : Bugs()) {
    std::string rules;
    for (const std::string& rule : bug.rules) rules += (rules.empty() ? "" : ", ") + rule;
    std::printf("%s | %s | %s\n", bug.name.c_str(), rules.c_str(), bug.mistake.c_str());
  }
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App app{"stoker's cloud in a box, with deliberate bugs"};
  Options options;
  app.add_option("--bug", options.bugs, "Only these");
  app.add_option("--seed", options.first, "The first seed");
  app.add_option("--seeds", options.within, "How many at most");
  app.add_flag("--swarm", options.swarm, "In the worlds of the swarm instead of the bugs' own");
  app.add_flag("--story", options.story, "Tell what happens");
  app.add_flag("--list", options.list, "Print names, rules and mistakes");
  CLI11_PARSE(app, argc, argv);
  if (options.list) return List();
  return Proof(options).Run();
}

}  // namespace
}  // namespace stoker::sim

int main(int argc, char** argv) { return stoker::sim::Main(argc, argv); }
