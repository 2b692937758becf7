// SPDX-License-Identifier: Apache-2.0
// sim_market: what jobs cost in recorded spot markets, under the policies that ship, beside the
// same jobs on machines that nobody takes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "sim/measure/market_play.h"

namespace stoker::sim {
namespace {

using Json = nlohmann::json;

struct Options {
  std::string traces;
  uint64_t seed = 1;
  int starts = 8;
  std::vector<int> jobs = {1, 2, 4};
  int64_t hours = 10;
  int64_t checkpoint_minutes = 10;
  int64_t notice_seconds = 120;
  int64_t controller_seconds = 30;
  int64_t spot_price = 918'000;
  int64_t on_demand_price = 3'060'000;
  int64_t least_seconds = 60;
  bool each = false;
  bool json = false;
};

// One row: a market, a job, over all its starts.
struct Row {
  std::string market;
  int nodes = 1;
  std::vector<MarketOutcome> runs;
};

Result<std::vector<MarketZone>> ReadTraces(const std::string& dir) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(dir, error)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  if (error) return Status(Code::kInvalid, dir + ": " + error.message());
  std::sort(paths.begin(), paths.end());
  std::vector<MarketZone> zones;
  for (const auto& path : paths) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    STOKER_ASSIGN(Trace trace, ParseTrace(text.str(), path.string()));
    zones.push_back({path.stem().string(), std::move(trace)});
  }
  if (zones.empty()) return Status(Code::kInvalid, dir + ": there is no *.json");
  return zones;
}

MarketSetting SettingOf(const Options& options, int nodes) {
  MarketSetting setting;
  setting.lead = options.notice_seconds * 1000;
  setting.controller_ms = options.controller_seconds * 1000;
  setting.seed = options.seed;
  setting.job.nodes = nodes;
  setting.job.train_ms = options.hours * 3'600'000;
  setting.job.checkpoint_every_ms = options.checkpoint_minutes * 60'000;
  setting.price.micro_dollars_per_hour = options.spot_price;
  setting.price.least_ms = options.least_seconds * 1000;
  return setting;
}

// Submitted at `starts` moments, evenly over the shortest of its traces.
Row PlayRow(const Options& options, std::vector<MarketZone> zones, int nodes) {
  Row row;
  row.nodes = nodes;
  int64_t length = zones.front().trace.length_ms();
  for (const MarketZone& zone : zones) {
    row.market += (row.market.empty() ? "" : " + ") + zone.name;
    length = std::min(length, zone.trace.length_ms());
  }
  MarketSetting setting = SettingOf(options, nodes);
  setting.zones = std::move(zones);
  for (int i = 0; i < options.starts; ++i) {
    setting.label = row.market + ", " + std::to_string(nodes) + "x, start " + std::to_string(i);
    setting.offset_ms = length / options.starts * i;
    setting.seed = options.seed + static_cast<uint64_t>(i);
    row.runs.push_back(PlayMarket(setting));
  }
  return row;
}

Row PlayOnDemand(const Options& options, int nodes) {
  MarketSetting setting = SettingOf(options, nodes);
  setting.label = "on demand";
  setting.price.micro_dollars_per_hour = options.on_demand_price;
  return {setting.label, nodes, {PlayMarket(setting)}};
}

// ---- what is printed ----

std::string Dollars(int64_t micro) {
  char text[40];
  std::snprintf(text, sizeof text, "$%lld.%02lld", static_cast<long long>(micro / 1'000'000),
                static_cast<long long>(micro % 1'000'000 / 10'000));
  return text;
}

std::string Human(int64_t ms) { return ms < 0 ? "never" : HumanDuration(Duration::Ms(ms)); }

template <typename Of>
int64_t Mean(const Row& row, Of of) {
  int64_t sum = 0;
  for (const MarketOutcome& run : row.runs) sum += of(run);
  return sum / static_cast<int64_t>(row.runs.size());
}

// Those that never finish sort last, as -1.
std::vector<int64_t> Finishes(const Row& row) {
  std::vector<int64_t> all;
  for (const MarketOutcome& run : row.runs) all.push_back(run.report.finish_ms);
  std::sort(all.begin(), all.end(), [](int64_t a, int64_t b) {
    return static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
  });
  return all;
}

int64_t IdealCost(const Options& options, int nodes) {
  return options.hours * nodes * options.spot_price;
}

Json ToJson(const Options& options, const Row& row, int64_t on_demand) {
  Json runs = Json::array();
  for (const MarketOutcome& run : row.runs) {
    runs.push_back({{"label", run.report.label},
                    {"state", run.state},
                    {"finish_ms", run.report.finish_ms},
                    {"cost_micro_dollars", run.report.cost_micro_dollars},
                    {"machines", run.report.machines},
                    {"machine_seconds", run.report.machine_seconds},
                    {"restarts", run.report.restarts},
                    {"lost_work_ms", run.report.lost_work_ms},
                    {"stood_still_ms", run.stood_still_ms},
                    {"open_per_mille", run.open_share},
                    {"launches", run.launches},
                    {"record_bytes", run.record_bytes},
                    {"breach", run.breach ? run.breach->rule + ": " + run.breach->what : ""}});
  }
  return {{"market", row.market},
          {"nodes", row.nodes},
          {"ideal_cost_micro_dollars", IdealCost(options, row.nodes)},
          {"ideal_finish_ms", options.hours * 3'600'000},
          {"on_demand_cost_micro_dollars", on_demand},
          {"runs", runs}};
}

void PrintHead() {
  std::printf("%-42s %5s %5s %9s %9s %9s %6s %6s %8s %9s %9s\n", "MARKET", "NODES", "OPEN",
              "FINISH", "WORST", "COST", "IDEAL", "DEMAND", "RESTARTS", "LOST", "STOOD");
}

void PrintRow(const Options& options, const Row& row, int64_t on_demand) {
  const std::vector<int64_t> finishes = Finishes(row);
  const int64_t cost = Mean(row, [](const auto& r) { return r.report.cost_micro_dollars; });
  const int64_t restarts = Mean(row, [](const auto& r) { return int64_t{r.report.restarts} * 10; });
  const auto percent = [](int64_t part, int64_t whole) {
    return std::to_string(whole == 0 ? 0 : part * 100 / whole) + "%";
  };
  std::printf("%-42s %5d %5s %9s %9s %9s %6s %6s %6lld.%lld %9s %9s\n", row.market.c_str(),
              row.nodes,
              percent(Mean(row, [](const auto& r) { return r.open_share; }), 1000).c_str(),
              Human(finishes[(finishes.size() - 1) / 2]).c_str(), Human(finishes.back()).c_str(),
              Dollars(cost).c_str(), percent(cost, IdealCost(options, row.nodes)).c_str(),
              percent(cost, on_demand).c_str(), static_cast<long long>(restarts / 10),
              static_cast<long long>(restarts % 10),
              Human(Mean(row, [](const auto& r) { return r.report.lost_work_ms; })).c_str(),
              Human(Mean(row, [](const auto& r) { return r.stood_still_ms; })).c_str());
}

void PrintLegend(const Options& options) {
  std::printf(
      "\n%lld h of training, a checkpoint each %lld min, notices of %lld s, a controller each %lld "
      "s, %d starts a row.\n"
      "OPEN: of the job's life, while there was room for all its machines. FINISH, WORST: median "
      "and longest, after submission.\nCOST: mean; IDEAL: of %lld h on spot machines without any "
      "loss; DEMAND: of the same job on demand.\nRESTARTS, LOST (steps done again, over all "
      "nodes), STOOD (no node trained, after the first step): means.\n",
      static_cast<long long>(options.hours), static_cast<long long>(options.checkpoint_minutes),
      static_cast<long long>(options.notice_seconds),
      static_cast<long long>(options.controller_seconds), options.starts,
      static_cast<long long>(options.hours));
}

// ---- the program ----

// Runs and prints; the number of breaches.
int PlayAll(const Options& options, const std::vector<MarketZone>& zones) {
  Json out = Json::array();
  int breaches = 0;
  if (!options.json) PrintHead();
  const auto tell = [&](const Row& row, int64_t on_demand) {
    for (const MarketOutcome& run : row.runs) {
      if (run.breach) {
        ++breaches;
        std::fprintf(stderr, "%s: %s: %s\n", run.report.label.c_str(), run.breach->rule.c_str(),
                     run.breach->what.c_str());
      }
    }
    if (options.json) {
      out.push_back(ToJson(options, row, on_demand));
      return;
    }
    PrintRow(options, row, on_demand);
    for (const MarketOutcome& run : row.runs) {
      if (options.each) std::printf("  %s\n", stoker::sim::MarketRow(run.report).c_str());
    }
    std::fflush(stdout);
  };
  for (const int nodes : options.jobs) {
    const Row demand = PlayOnDemand(options, nodes);
    const int64_t on_demand = demand.runs.front().report.cost_micro_dollars;
    tell(demand, on_demand);
    for (const MarketZone& zone : zones) tell(PlayRow(options, {zone}, nodes), on_demand);
    // Two zones: each trace and the next; a single one is beside itself, half its length later.
    for (size_t i = 0; i < zones.size() && (zones.size() != 2 || i == 0); ++i) {
      MarketZone second = zones[(i + 1) % zones.size()];
      if (zones.size() == 1) {
        auto& samples = second.trace.available;
        std::rotate(samples.begin(), samples.begin() + static_cast<ptrdiff_t>(samples.size() / 2),
                    samples.end());
        second.name += "-later";
      }
      tell(PlayRow(options, {zones[i], second}, nodes), on_demand);
    }
  }
  if (options.json) {
    std::puts(out.dump(1).c_str());
  } else {
    PrintLegend(options);
  }
  return breaches;
}

int Main(int argc, char** argv) {
  CLI::App app{"What jobs cost in recorded spot markets"};
  Options options;
  app.add_option("--traces", options.traces,
                 "Folder of traces: {\"metadata\": {\"gap_seconds\": "
                 "195}, \"data\": [0, 1, …]}")
      ->required();
  app.add_option("--seed", options.seed, "The first seed; each start has its own");
  app.add_option("--starts", options.starts, "Moments of submission, evenly over a trace")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--jobs", options.jobs, "Nodes of each job, such as 1,2,4")
      ->delimiter(',')
      ->check(CLI::Range(1, 1'000));
  app.add_option("--hours", options.hours, "Of training in each job")->check(CLI::Range(1, 2'000));
  app.add_option("--checkpoint-minutes", options.checkpoint_minutes, "Between two checkpoints")
      ->check(CLI::Range(1, 1'440));
  app.add_option("--notice", options.notice_seconds, "Seconds that the platform gives")
      ->check(CLI::Range(0, 3'600));
  app.add_option("--controller", options.controller_seconds,
                 "Seconds between two passes of a controller that stays")
      ->check(CLI::Range(1, 86'400));
  app.add_option("--spot-price", options.spot_price, "Micro-dollars for a machine and an hour")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--on-demand-price", options.on_demand_price, "The same where nobody takes it")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--least", options.least_seconds, "Seconds charged at least for each machine")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--each", options.each, "A line for each start too");
  app.add_flag("--json", options.json, "All runs, as JSON");
  CLI11_PARSE(app, argc, argv);
  const auto zones = ReadTraces(options.traces);
  if (!zones.ok()) {
    std::fprintf(stderr, "sim_market: %s\n", zones.status().ToString().c_str());
    return 2;
  }
  return PlayAll(options, *zones) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace stoker::sim

int main(int argc, char** argv) { return stoker::sim::Main(argc, argv); }
