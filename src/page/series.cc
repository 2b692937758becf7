// SPDX-License-Identifier: Apache-2.0
#include "page/series.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "view/metrics.h"

namespace stoker::page {
namespace {

using metrics::CurveEntry;
using nlohmann::json;

constexpr size_t kMostGpus = 64;

int64_t FirstOf(const CurveEntry& at, bool by_time) {
  return by_time ? at.entry.first_time.ms : at.entry.first_step;
}
int64_t LastOf(const CurveEntry& at, bool by_time) {
  return by_time ? at.entry.last_time.ms : at.entry.last_step;
}

double Number(const json& from, const char* key) {
  const auto found = from.find(key);
  if (found == from.end() || !found->is_number()) return 0;
  const auto value = found->get<double>();
  return std::isfinite(value) && value > 0 && value < 9e15 ? value : 0;
}

// What a count has grown by since `last`, a second; null where that is not known.
json PerSecond(const json* last, const json& now, const char* key) {
  if (last == nullptr || !last->contains(key) || !now.contains(key)) return nullptr;
  const double ms = Number(now, "at_ms") - Number(*last, "at_ms");
  if (ms <= 0) return nullptr;
  return std::max(0.0, Number(now, key) - Number(*last, key)) * 1000 / ms;
}

constexpr const char* kGpuColumns[] = {"busy_percent", "memory_used_mib", "memory_total_mib",
                                       "power_w", "temperature_c"};

void AddGpus(const json& sample, size_t row, json* gpus) {
  const auto all = sample.find("gpu");
  if (all == sample.end() || !all->is_array()) return;
  for (size_t i = 0; i < std::min(all->size(), kMostGpus); ++i) {
    const json& gpu = (*all)[i];
    if (!gpu.is_object()) continue;
    while (gpus->size() <= i) gpus->push_back(json::object());
    for (const char* column : kGpuColumns) {
      json& list = (*gpus)[i][column];
      if (list.is_null()) list = json::array();
      while (list.size() < row) list.push_back(nullptr);
      list.push_back(Number(gpu, column));
    }
  }
}

}  // namespace

std::vector<CurveEntry> Condense(const std::vector<CurveEntry>& curve, const SeriesRange& range) {
  std::vector<CurveEntry> in;
  const CurveEntry* before = nullptr;
  bool after = false;
  for (const CurveEntry& at : curve) {
    if (LastOf(at, range.by_time) < range.from) {
      before = at.redone ? before : &at;
      continue;
    }
    if (FirstOf(at, range.by_time) > range.to) {
      if (after || at.redone) continue;
      after = true;
    }
    if (before != nullptr) in.push_back(*before);
    before = nullptr;
    in.push_back(at);
  }
  const size_t most = std::max<size_t>(1, range.pixels);
  if (in.size() <= 2 * most) return in;
  const size_t each = (in.size() + most - 1) / most;
  std::vector<CurveEntry> out;
  size_t joined = 0;
  for (const CurveEntry& at : in) {
    const bool alike = !out.empty() && out.back().attempt == at.attempt &&
                       out.back().redone == at.redone && joined < each;
    if (alike) {
      out.back().entry = metrics::Joined(out.back().entry, at.entry);
      ++joined;
    } else {
      out.push_back(at);
      joined = 1;
    }
  }
  return out;
}

json SeriesJson(std::string_view name, const std::vector<CurveEntry>& curve) {
  json out = {{"name", name}};
  const char* columns[] = {"step", "last_step", "time",    "last",   "min", "max",
                           "mean", "count",     "attempt", "redone", "nans"};
  for (const char* column : columns) out[column] = json::array();
  for (const CurveEntry& at : curve) {
    const metrics::Entry& e = at.entry;
    out["step"].push_back(e.first_step);
    out["last_step"].push_back(e.last_step);
    out["time"].push_back(e.last_time.ms);
    out["last"].push_back(NumberJson(e.last));
    out["min"].push_back(NumberJson(e.min));
    out["max"].push_back(NumberJson(e.max));
    out["mean"].push_back(NumberJson(e.mean));
    out["count"].push_back(e.count);
    out["attempt"].push_back(at.attempt);
    out["redone"].push_back(at.redone ? 1 : 0);
    out["nans"].push_back(e.nans);
  }
  return out;
}

json UsageColumns(std::string_view text, int attempt, int rank) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object() || Number(document, "format") != 1) return nullptr;
  const auto samples = document.find("samples");
  if (samples == document.end() || !samples->is_array()) return nullptr;
  json at = json::array(), resident = json::array(), disk = json::array(), gpus = json::array();
  json cores = json::array(), received = json::array(), sent = json::array();
  const json* last = nullptr;
  for (const json& sample : *samples) {
    if (!sample.is_object()) return nullptr;
    at.push_back(Number(sample, "at_ms"));
    cores.push_back(PerSecond(last, sample, "cpu_seconds"));
    received.push_back(PerSecond(last, sample, "received_bytes"));
    sent.push_back(PerSecond(last, sample, "sent_bytes"));
    resident.push_back(Number(sample, "resident_bytes"));
    disk.push_back(Number(sample, "disk_used_bytes"));
    AddGpus(sample, at.size() - 1, &gpus);
    last = &sample;
  }
  return {{"attempt", attempt},
          {"node", rank},
          {"at_ms", at},
          {"cpu_cores", cores},
          {"resident_bytes", resident},
          {"disk_bytes", disk},
          {"gpus", gpus},
          {"received_per_s", received},
          {"sent_per_s", sent}};
}

}  // namespace stoker::page
