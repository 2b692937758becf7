// SPDX-License-Identifier: Apache-2.0
// sim_scale: what one pass over a ledger costs, by how much there is and how much changed.
#include <malloc.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "base/json.h"
#include "sim/measure/scale.h"

namespace stoker::sim {
namespace {

using Json = nlohmann::json;

struct Options {
  std::vector<int> finished = {0, 1'000, 10'000};
  std::vector<int> active = {100, 1'000, 10'000};
  bool one_node = false;
  bool json = false;
};

struct Row {
  int finished = 0;
  int active = 0;
  int64_t nodes = 0;
  std::string pass;
  PassCost cost;
  int64_t cpu_us = 0;
  int64_t memory = 0;  // that the observer holds after it
};

int64_t CpuMicroseconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
}

int64_t Allocated() { return static_cast<int64_t>(mallinfo2().uordblks + mallinfo2().hblkhd); }

std::string Bytes(int64_t bytes) {
  char text[40];
  if (bytes < 10'000'000) {
    std::snprintf(text, sizeof text, "%lld kB", static_cast<long long>(bytes / 1'000));
  } else {
    std::snprintf(text, sizeof text, "%lld MB", static_cast<long long>(bytes / 1'000'000));
  }
  return text;
}

void PrintHead() {
  std::printf("%8s %7s %8s  %-22s %9s %8s %7s %6s %9s %9s %11s %10s %8s\n", "FINISHED", "ACTIVE",
              "NODES", "PASS", "REQUESTS", "GET", "LIST", "PUT", "DESCRIBE", "DOWN", "TOOK", "CPU",
              "HELD");
}

void Print(const Row& row) {
  const BucketCounts& store = row.cost.store;
  std::printf("%8d %7d %8lld  %-22s %9lld %8lld %7lld %6lld %9lld %9s %9.1f s %7.1f ms %8s\n",
              row.finished, row.active, static_cast<long long>(row.nodes), row.pass.c_str(),
              static_cast<long long>(row.cost.requests()), static_cast<long long>(store.gets),
              static_cast<long long>(store.lists), static_cast<long long>(store.puts),
              static_cast<long long>(row.cost.describes), Bytes(store.bytes_down).c_str(),
              static_cast<double>(row.cost.took_ms) / 1e3, static_cast<double>(row.cpu_us) / 1e3,
              Bytes(row.memory).c_str());
  std::fflush(stdout);
}

Json ToJson(const Row& row) {
  const BucketCounts& store = row.cost.store;
  return {{"finished", row.finished},
          {"active", row.active},
          {"nodes", row.nodes},
          {"pass", row.pass},
          {"requests", row.cost.requests()},
          {"get", store.gets},
          {"list", store.lists},
          {"put", store.puts},
          {"describe", row.cost.describes},
          {"launch", row.cost.launches},
          {"bytes_down", store.bytes_down},
          {"passed", row.cost.result.passed},
          {"took_ms", row.cost.took_ms},
          {"cpu_us", row.cpu_us},
          {"held_bytes", row.memory}};
}

// Passes of one observer over one ledger, as more and more changes in between.
std::vector<Row> Measure(const Options& options, int finished, int active) {
  ScaleSetting setting;
  setting.finished = finished;
  setting.active = active;
  setting.many_nodes = !options.one_node;
  ScaleWorld world(setting);
  const int64_t before = Allocated();
  std::vector<Row> rows;
  const auto pass = [&](const std::string& name) {
    Row row{finished, active, world.nodes(), name, {}, 0, 0};
    const int64_t begin = CpuMicroseconds();
    row.cost = world.Pass();
    row.cpu_us = CpuMicroseconds() - begin;
    row.memory = Allocated() - before;
    if (!options.json) Print(row);
    rows.push_back(std::move(row));
    world.LetPass(15'000);
  };
  pass("first");
  pass("nothing changed");
  world.Change(active / 100);
  pass("1% of jobs changed");
  world.Change(active / 10);
  pass("10% of jobs changed");
  world.Beat();
  pass("every node reported");
  return rows;
}

int Main(int argc, char** argv) {
  CLI::App app{"What one pass over a ledger costs"};
  Options options;
  app.add_option("--finished", options.finished, "Jobs that ended, such as 0,1000,10000")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
  app.add_option("--active", options.active, "Jobs that run")
      ->delimiter(',')
      ->check(CLI::Range(1, 1'000'000));
  app.add_flag("--one-node", options.one_node, "One node a job; else 1 to 100, 10 on average");
  app.add_flag("--json", options.json, "As JSON");
  CLI11_PARSE(app, argc, argv);
  Json out = Json::array();
  bool all_passed = true;
  if (!options.json) PrintHead();
  for (const int active : options.active) {
    for (const int finished : options.finished) {
      for (const Row& row : Measure(options, finished, active)) {
        out.push_back(ToJson(row));
        all_passed &= row.cost.result.passed == active;
      }
    }
  }
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  if (options.json) {
    std::puts(out.dump(1).c_str());
  } else {
    std::printf(
        "\nTOOK: by the simulated clock, with one request after the other: 5 to 60 ms each, 20 to "
        "300 ms those of the provider.\nCPU: of the pass and of the simulated services. HELD: what "
        "the observer keeps in memory.\nThe whole program held %s at most, the simulated services "
        "included.\n",
        Bytes(int64_t{usage.ru_maxrss} * 1024).c_str());
  }
  if (!all_passed) std::fprintf(stderr, "sim_scale: a pass left out jobs\n");
  return all_passed ? 0 : 1;
}

}  // namespace
}  // namespace stoker::sim

int main(int argc, char** argv) { return stoker::sim::Main(argc, argv); }
