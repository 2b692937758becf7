// SPDX-License-Identifier: Apache-2.0
// sim_tiers: what a job loses, and for how long, when nobody but one recovery tier reconciles; as
// the tables of docs/measurements.md.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "sim/measure/tiers.h"

namespace stoker::sim {
namespace {

using Json = nlohmann::json;
using Outcomes = std::vector<TierOutcome>;

struct Options {
  uint64_t seed = 1;
  int seeds = 20;
  std::vector<int> nodes = {1, 2};
  std::vector<std::string> only;
  bool json = false;
};

// All seeds of one story under one cast.
struct Cell {
  const TierCast* cast;
  const TierStory* story;
  int nodes = 1;
  Outcomes runs;
};

template <typename Of>
std::vector<int64_t> Sorted(const Outcomes& runs, Of of) {
  std::vector<int64_t> all;
  for (const TierOutcome& run : runs) all.push_back(of(run));
  std::sort(all.begin(), all.end());
  return all;
}

template <typename Of>
int64_t Percent(const Outcomes& runs, Of of) {
  const auto yes = std::count_if(runs.begin(), runs.end(), of);
  return runs.empty() ? 0 : 100 * yes / static_cast<int64_t>(runs.size());
}

// "2m 5s", without what nobody wants to know.
std::string Human(int64_t ms) {
  const int64_t unit = ms >= 10 * 3'600'000 ? 3'600'000 : ms >= 600'000 ? 60'000 : 1'000;
  return ms < 500 ? "0" : HumanDuration(Duration::Ms((ms + unit / 2) / unit * unit));
}

// Median and worst.
template <typename Of>
std::string MedianWorst(const Outcomes& runs, Of of) {
  const auto all = Sorted(runs, of);
  if (all.empty()) return "";
  const std::string median = Human(all[(all.size() - 1) / 2]);
  const std::string worst = Human(all.back());
  return median == worst ? median : median + " (" + worst + ")";
}

int64_t Unknown(const TierOutcome& run) { return run.unknown_ms < 0 ? kHandComes : run.unknown_ms; }

Cell Play(const Options& options, const TierCast& cast, const TierStory& story, int nodes) {
  Cell cell{&cast, &story, nodes, {}};
  for (int i = 0; i < options.seeds; ++i) {
    const uint64_t seed = options.seed + static_cast<uint64_t>(i);
    cell.runs.push_back(PlayTier({cast, story, TierJob(nodes), seed}));
    const auto& breach = cell.runs.back().breach;
    if (!breach) continue;
    std::fprintf(stderr, "%s, %s, %d nodes, seed %llu: %s: %s\n", cast.name.c_str(),
                 story.name.c_str(), nodes, static_cast<unsigned long long>(seed),
                 breach->rule.c_str(), breach->what.c_str());
  }
  return cell;
}

Outcomes AllOf(const std::vector<Cell>& cells, const TierCast& cast) {
  Outcomes all;
  for (const Cell& cell : cells) {
    if (cell.cast == &cast) all.insert(all.end(), cell.runs.begin(), cell.runs.end());
  }
  return all;
}

// What somebody had to type after kHandComes, and for how many of the jobs.
std::string ByHand(const Outcomes& runs) {
  const int64_t verb = Percent(runs, [](const auto& r) { return r.by_hand > 0 && r.right; });
  const int64_t retry = Percent(runs, [](const auto& r) { return !r.right; });
  std::string text;
  if (verb > 0) text += "`stoker ls` for " + std::to_string(verb) + " %";
  if (retry > 0) text += (verb > 0 ? ", " : "") + ("`retry` for " + std::to_string(retry) + " %");
  return text.empty() ? "nothing" : text;
}

void PrintTotals(const std::vector<Cell>& cells, const Options& options) {
  std::printf(
      "| tier, alone | programs finished | ends recorded | by hand | stood still | steps redone | "
      "end recorded after | machines idle | left over, at worst |\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  for (const TierCast& cast : TierCasts()) {
    const Outcomes runs = AllOf(cells, cast);
    if (runs.empty()) continue;
    std::printf("| %s: %s | %lld %% | %lld %% | %s | %s | %s | %s | %s | %s |\n", cast.name.c_str(),
                cast.who.c_str(),
                static_cast<long long>(Percent(runs, [](const auto& r) { return r.trained; })),
                static_cast<long long>(Percent(runs, [](const auto& r) { return r.alone; })),
                ByHand(runs).c_str(),
                MedianWorst(runs, [](const auto& r) { return r.stood_ms; }).c_str(),
                MedianWorst(runs, [](const auto& r) { return r.redone_ms; }).c_str(),
                MedianWorst(runs, Unknown).c_str(),
                MedianWorst(runs, [](const auto& r) { return r.idle_ms; }).c_str(),
                Human(Sorted(runs, [](const auto& r) { return r.left_ms; }).back()).c_str());
  }
  std::printf("\n%d seeds of each story, median (worst).\n\n", options.seeds);
}

// How long it stood still, when that ended by itself.
std::string StoodText(const Cell& cell) {
  Outcomes alone;
  for (const TierOutcome& run : cell.runs) {
    if (run.trained) alone.push_back(run);
  }
  const auto hand = static_cast<int64_t>(cell.runs.size() - alone.size());
  const std::string text = MedianWorst(alone, [](const auto& r) { return r.stood_ms; });
  if (hand == 0) return text;
  if (alone.empty()) return "**by hand**";
  const int64_t percent = 100 * hand / static_cast<int64_t>(cell.runs.size());
  return "**by hand** " + std::to_string(percent) + " %, else " + text;
}

void PrintStories(const std::vector<Cell>& cells, const Options& options) {
  std::printf("| stood still | nodes |");
  for (const TierCast& cast : TierCasts()) std::printf(" %s |", cast.name.c_str());
  std::printf(" steps redone, any tier |\n|---|---|---|");
  for (size_t i = 0; i < TierCasts().size(); ++i) std::printf("---|");
  for (const TierStory& story : TierStories()) {
    for (const int nodes : options.nodes) {
      std::string row;
      Outcomes all;
      for (const Cell& cell : cells) {
        if (cell.story != &story || cell.nodes != nodes) continue;
        row += " " + StoodText(cell) + " |";
        all.insert(all.end(), cell.runs.begin(), cell.runs.end());
      }
      if (row.empty()) continue;
      std::printf("\n| %s | %d |%s %s |", story.name.c_str(), nodes, row.c_str(),
                  MedianWorst(all, [](const auto& r) { return r.redone_ms; }).c_str());
    }
  }
  std::printf("\n");
}

Json ToJson(const Cell& cell) {
  Json runs = Json::array();
  for (const TierOutcome& run : cell.runs) {
    runs.push_back({{"trained", run.trained},
                    {"alone", run.alone},
                    {"right", run.right},
                    {"stood_ms", run.stood_ms},
                    {"redone_ms", run.redone_ms},
                    {"unknown_ms", run.unknown_ms},
                    {"idle_ms", run.idle_ms},
                    {"left_ms", run.left_ms},
                    {"by_hand", run.by_hand},
                    {"breach", run.breach ? run.breach->rule + ": " + run.breach->what : ""}});
  }
  return {{"tier", cell.cast->name},
          {"story", cell.story->name},
          {"nodes", cell.nodes},
          {"runs", runs}};
}

void Print(const std::vector<Cell>& cells, const Options& options) {
  if (options.json) {
    Json out = Json::array();
    for (const Cell& cell : cells) out.push_back(ToJson(cell));
    std::puts(out.dump(1).c_str());
    return;
  }
  PrintTotals(cells, options);
  PrintStories(cells, options);
}

int Main(int argc, char** argv) {
  CLI::App app{"What a job loses when nobody but one recovery tier reconciles"};
  Options options;
  app.add_option("--seed", options.seed, "The first seed");
  app.add_option("--seeds", options.seeds, "Of each story, under each tier")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--nodes", options.nodes, "Nodes of each job, such as 1,2")
      ->delimiter(',')
      ->check(CLI::Range(1, 100));
  app.add_option("--only", options.only, "Stories whose name has this in it");
  app.add_flag("--json", options.json, "All runs, as JSON");
  CLI11_PARSE(app, argc, argv);
  std::vector<Cell> cells;
  bool broke = false;
  for (const TierCast& cast : TierCasts()) {
    for (const TierStory& story : TierStories()) {
      const bool wanted = std::any_of(
          options.only.begin(), options.only.end(),
          [&](const std::string& name) { return story.name.find(name) != std::string::npos; });
      if (!options.only.empty() && !wanted) continue;
      for (const int nodes : options.nodes) {
        cells.push_back(Play(options, cast, story, nodes));
        for (const TierOutcome& run : cells.back().runs) broke |= run.breach || !run.right;
      }
    }
  }
  Print(cells, options);
  return broke ? 1 : 0;
}

}  // namespace
}  // namespace stoker::sim

int main(int argc, char** argv) { return stoker::sim::Main(argc, argv); }
