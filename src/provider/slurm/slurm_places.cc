// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/slurm_places.h"

#include <algorithm>
#include <optional>

#include "base/letter_case.h"
#include "base/text.h"

namespace stoker {
namespace {

constexpr Duration kPlacesLimit = Duration::Seconds(20);

constexpr int64_t kMost = 100'000'000;
constexpr int64_t kMiB = int64_t{1} << 20;

// Columns of a fixed width, for fields may hold anything: what it does not fit is cut off.
struct Column {
  const char* name;
  size_t width;
};
constexpr Column kColumns[] = {{"PartitionName", 80}, {"Available", 12}, {"Time", 20},
                               {"Nodes", 12},         {"CPUsState", 40}, {"Memory", 20},
                               {"AllocMem", 20},      {"Gres", 240},     {"GresUsed", 240}};
enum { kPartition, kAvailable, kTime, kNodes, kCpus, kMemory, kAllocated, kGres, kGresUsed, kAll };

std::vector<std::string> Fields(const std::string& line) {
  std::vector<std::string> fields;
  size_t at = 0;
  for (const Column& column : kColumns) {
    std::string field = at < line.size() ? line.substr(at, column.width) : "";
    field.resize(field.find_last_not_of(' ') + 1);
    fields.push_back(field);
    at += column.width;
  }
  return fields;
}

// "4/12/0/16": allocated, idle, other, total.
std::optional<std::pair<int64_t, int64_t>> IdleOfAll(const std::string& text) {
  const std::vector<std::string> parts = Split(text, '/');
  if (parts.size() != 4) return std::nullopt;
  const auto idle = WholeNumber(parts[1], 0, kMost);
  const auto all = WholeNumber(parts[3], 0, kMost);
  if (!idle || !all) return std::nullopt;
  return std::pair{*idle, *all};
}

// "30:00", "1:00:00", "7-00:00:00"; unset = "infinite", or nothing that is a time.
std::optional<Duration> LimitOf(const std::string& text) {
  const size_t dash = text.find('-');
  const auto days = dash == std::string::npos ? std::optional<int64_t>(0)
                                              : WholeNumber(text.substr(0, dash), 0, 100'000);
  const auto parts = Split(dash == std::string::npos ? text : text.substr(dash + 1), ':');
  if (!days || parts.size() < 2 || parts.size() > 3) return std::nullopt;
  int64_t seconds = 0;
  for (const std::string& part : parts) {
    const auto number = WholeNumber(part, 0, 100'000);
    if (!number) return std::nullopt;
    seconds = seconds * 60 + *number;
  }
  return Duration::Seconds(*days * 86'400 + seconds);
}

void Add(const std::optional<int64_t>& more, std::optional<int64_t>* sum) {
  if (more) *sum = sum->value_or(0) + *more;
}

void AddGpus(const std::vector<GpuShare>& more, const std::vector<GpuShare>& used,
             std::vector<GpuShare>* all) {
  for (const GpuShare& gpu : more) {
    auto known = std::find_if(all->begin(), all->end(),
                              [&](const GpuShare& one) { return one.name == gpu.name; });
    if (known == all->end()) known = all->insert(known, {gpu.name, 0, 0});
    known->total += gpu.total;
    int taken = 0;
    for (const GpuShare& one : used) taken += one.name == gpu.name ? one.total : 0;
    known->free = *known->free + std::max(gpu.total - taken, 0);
  }
}

void AddNodes(const std::vector<std::string>& fields, int nodes, PlaceInfo* place) {
  place->machines += nodes;
  if (const auto cpus = IdleOfAll(fields[kCpus])) {
    Add(cpus->second * 1000, &place->cpus);
    Add(cpus->first * 1000, &place->free_cpus);
  }
  const auto memory = WholeNumber(fields[kMemory], 0, kMost);
  const auto allocated = WholeNumber(fields[kAllocated], 0, kMost);
  if (memory) Add(*memory * kMiB * nodes, &place->memory);
  if (memory && allocated) {
    Add(std::max<int64_t>(*memory - *allocated, 0) * kMiB * nodes, &place->free_memory);
  }
  AddGpus(GpusOfGres(fields[kGres], nodes), GpusOfGres(fields[kGresUsed], nodes), &place->gpus);
}

}  // namespace

std::vector<std::string> SinfoWords() {
  std::vector<std::string> columns;
  for (const Column& column : kColumns) {
    columns.push_back(std::string(column.name) + ":" + std::to_string(column.width));
  }
  return {"--noheader", "--Format=" + Join(columns, ",")};
}

std::vector<std::string> SqueueCountWords() {
  return {"--noheader", "--states=PENDING,RUNNING,SUSPENDED", "--format=%P|%T"};
}

std::vector<GpuShare> GpusOfGres(const std::string& gres, int nodes) {
  std::string flat;  // without "(S:0-1)", which may hold commas
  int depth = 0;
  for (const char c : gres) {
    depth += c == '(' ? 1 : 0;
    if (depth == 0) flat += c;
    depth -= c == ')' && depth > 0 ? 1 : 0;
  }
  std::vector<GpuShare> out;
  for (const std::string& item : Split(flat, ',')) {
    const std::vector<std::string> parts = Split(item, ':');
    if (parts[0] != "gpu" || parts.size() > 3) continue;
    const auto count = parts.size() > 1 ? WholeNumber(parts.back(), 0, kMost) : std::nullopt;
    if (!count) continue;
    const int all = static_cast<int>(*count) * nodes;
    out.push_back({parts.size() == 3 ? parts[1] : "", all, all});
  }
  return out;
}

Result<std::vector<PlaceInfo>> ParseSlurmPlaces(const std::string& nodes, const std::string& jobs) {
  std::vector<PlaceInfo> places;
  const auto find = [&](const std::string& partition) {
    return std::find_if(places.begin(), places.end(), [&](const PlaceInfo& place) {
      return place.infra == "slurm/" + partition;
    });
  };
  for (const std::string& line : Split(nodes, '\n')) {
    if (line.empty()) continue;
    const std::vector<std::string> fields = Fields(line);
    const auto count = WholeNumber(fields[kNodes], 0, kMost);
    if (!count || fields[kPartition].empty()) {
      return Status(Code::kCorrupt,
                    "sinfo prints what it was not asked for: " + CutText(Printable(line), 100));
    }
    auto place = find(fields[kPartition]);
    if (place == places.end()) {
      place = places.insert(places.end(), PlaceInfo());
      place->infra = "slurm/" + fields[kPartition];
      place->machines = 0;
      place->running = place->waiting = 0;
      place->limit = LimitOf(fields[kTime]);
      if (fields[kAvailable] != "up") place->trouble = "the partition is " + fields[kAvailable];
    }
    AddNodes(fields, static_cast<int>(*count), &*place);
  }
  for (const std::string& line : Split(jobs, '\n')) {
    const size_t bar = line.find('|');
    if (bar == std::string::npos) continue;
    // One that waits may name several.
    for (const std::string& partition : Split(line.substr(0, bar), ',')) {
      const auto place = find(partition);
      if (place == places.end()) continue;
      Add(1, line.substr(bar + 1) == "PENDING" ? &place->waiting : &place->running);
    }
  }
  return places;
}

Result<std::vector<PlaceInfo>> AskSlurmPlaces(const SlurmTools& tools) {
  std::vector<std::string> nodes = SinfoWords();
  nodes.insert(nodes.begin(), "sinfo");
  std::vector<std::string> jobs = SqueueCountWords();
  jobs.insert(jobs.begin(), "squeue");
  STOKER_ASSIGN(const std::string said, tools.Run(nodes, kPlacesLimit));
  return ParseSlurmPlaces(said, tools.Run(jobs, kPlacesLimit).value_or(""));
}

std::string WhichPartitions(const Result<std::vector<PlaceInfo>>& places, const std::string& name) {
  constexpr size_t kNamed = 20;
  std::vector<std::string> names;
  for (const PlaceInfo& place : places.value_or({})) {
    if (StartsWith(place.infra, "slurm/")) names.push_back(place.infra.substr(6));
  }
  if (names.empty()) return "";
  const std::string near = Nearest(name, names);
  if (!near.empty()) return "; did you mean slurm/" + near + "?";
  const std::string more =
      names.size() > kNamed ? " and " + std::to_string(names.size() - kNamed) + " more" : "";
  names.resize(std::min(names.size(), kNamed));
  return "; there are " + Join(names, ", ") + more;
}

std::string GpuNameThere(const Result<std::vector<PlaceInfo>>& places, const std::string& name) {
  for (const PlaceInfo& place : places.value_or({})) {
    for (const GpuShare& gpu : place.gpus) {
      if (LowerCase(gpu.name) == LowerCase(name)) return gpu.name;
    }
  }
  return name;
}

}  // namespace stoker
