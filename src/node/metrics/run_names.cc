// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/run_names.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "node/metrics/run_shape.h"

namespace stoker::node {
namespace {

bool IsTraining(std::string_view part) {
  return part.empty() || part == "train" || part == "training";
}

bool IsPhase(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kPhases = {
      "train", "training", "val", "valid", "validation", "test", "eval", "evaluation"};
  return std::find(kPhases.begin(), kPhases.end(), name) != kPhases.end();
}

// "1732449123.4", "20261124-101112": nobody's name for a part of a run.
std::string WithoutTimes(const std::string& folder) {
  std::vector<std::string> parts;
  for (const std::string& part : Split(folder, '/')) {
    const bool time = part.find_first_not_of("0123456789.-_:T") == std::string::npos;
    if (!part.empty() && !time) parts.push_back(part);
  }
  return Join(parts, "/");
}

bool IsWithin(const std::string& path, const std::string& folder) {
  return folder.empty() ? !path.empty() : StartsWith(path, folder + "/");
}

// The part of `path` that it does not share with `other`, from both ends.
std::string PartOf(const std::string& path, const std::string& other) {
  std::vector<std::string> a = Split(other, '/');
  std::vector<std::string> b = Split(path, '/');
  size_t same = 0;
  while (same < a.size() && same + 1 < b.size() && a[same] == b[same]) ++same;
  a.erase(a.begin(), a.begin() + static_cast<int64_t>(same));
  b.erase(b.begin(), b.begin() + static_cast<int64_t>(same));
  while (a.size() > 1 && b.size() > 1 && a.back() == b.back()) {
    a.pop_back();
    b.pop_back();
  }
  return Join(b, "/");
}

}  // namespace

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "" : path.substr(0, slash);
}

void RunNames::set_runs(std::vector<MetricRun> runs) {
  runs_ = std::move(runs);
  for (MetricRun& run : runs_) {
    run.ended |= run.attempt < attempt_ &&
                 std::any_of(runs_.begin(), runs_.end(), [&](const MetricRun& other) {
                   return &other != &run && other.attempt == run.attempt &&
                          other.kind == run.kind && other.shape == run.shape &&
                          other.begun >= run.written;
                 });
  }
}

RunNames::Found RunNames::Find(const std::string& kind, const std::string& folder, WallTime begun) {
  const std::string last = folder.substr(folder.rfind('/') + 1);
  const bool phase = kind == "tensorboard" && IsPhase(last);
  MetricRun now;
  now.kind = kind;
  now.path = phase ? FolderOf(folder) : folder;
  std::string part = phase ? last : "";
  MetricRun* run = Of(now);
  if (run == nullptr) {
    now.shape = ShapeOf(now.path, host_);
    now.attempt = attempt_;
    now.begun = begun;
    now.number = std::count_if(runs_.begin(), runs_.end(), [&](const MetricRun& other) {
      return other.attempt == attempt_ && other.kind == kind && other.shape == now.shape;
    });
    const auto before = Earlier(now);
    if (before != runs_.end()) {
      now.name = before->name;
      now.parts = std::move(before->parts);
      runs_.erase(before);
    } else {
      now.name = NewName(now);
    }
    run = &runs_.emplace_back(std::move(now));
  }
  if (std::find(run->parts.begin(), run->parts.end(), part) == run->parts.end()) {
    run->parts.push_back(part);
  }
  // Training has no word of its own, unless there is another that has none.
  const auto plain = std::find_if(run->parts.begin(), run->parts.end(), IsTraining);
  if (plain != run->parts.end() && *plain == part) part.clear();
  return {run, PrefixOf(*run) + (part.empty() ? "" : part + "/")};
}

// Of this attempt, the run that it is, or whose part it is.
MetricRun* RunNames::Of(const MetricRun& now) {
  for (MetricRun& run : runs_) {
    if (run.attempt != attempt_ || run.kind != now.kind) continue;
    if (run.path == now.path) return &run;
    // What SummaryWriter.add_hparams begins within it.
    const size_t inner = run.path.empty() ? 0 : run.path.size() + 1;
    if (now.kind == "tensorboard" && IsWithin(now.path, run.path) &&
        WithoutTimes(now.path.substr(inner)).empty()) {
      return &run;
    }
  }
  return nullptr;
}

std::vector<MetricRun>::iterator RunNames::Earlier(const MetricRun& now) {
  auto found = runs_.end();
  bool same = false;  // its path
  for (auto run = runs_.begin(); run != runs_.end(); ++run) {
    if (run->attempt >= attempt_ || run->kind != now.kind || run->shape != now.shape) continue;
    if (run->path != now.path && (run->ended || run->number != now.number || same)) continue;
    const bool better =
        found == runs_.end() || (run->path == now.path && !same) || run->attempt >= found->attempt;
    if (better) found = run;
    same |= run->path == now.path;
  }
  return found;
}

std::string RunNames::NewName(const MetricRun& now) const {
  const std::string plain = PlainName(now);
  if (!IsTaken(now.kind, plain)) return plain;
  std::string name = now.path;
  for (int more = 2; IsTaken(now.kind, name); ++more) name = now.path + "~" + std::to_string(more);
  return name;
}

std::string RunNames::PlainName(const MetricRun& now) const {
  const MetricRun* first = nullptr;
  for (const MetricRun& run : runs_) {
    if (run.kind != now.kind) continue;
    if (now.kind == "tensorboard" && run.attempt == attempt_ && IsWithin(now.path, run.path)) {
      const size_t inner = run.path.empty() ? 0 : run.path.size() + 1;
      return PrefixOf(run) + WithoutTimes(now.path.substr(inner));
    }
    if (run.name.empty() && first == nullptr) first = &run;
  }
  return first == nullptr ? "" : PartOf(now.path, first->path);
}

bool RunNames::IsTaken(const std::string& kind, const std::string& name) const {
  return std::any_of(runs_.begin(), runs_.end(),
                     [&](const MetricRun& run) { return run.kind == kind && run.name == name; });
}

std::string RunNames::Apart(const std::string& source, const std::string& other) const {
  const MetricRun* run = nullptr;
  std::string beside;
  for (const MetricRun& one : runs_) {
    if (SourceOf(one) == source) run = &one;
    if (SourceOf(one) == other) beside = one.path;
  }
  if (run == nullptr) return source.substr(0, source.find(':'));
  const std::string part = PartOf(run->path, beside);
  return part.empty() || run->path == beside ? run->kind : part;
}

std::string PrefixOf(const MetricRun& run) { return run.name.empty() ? "" : run.name + "/"; }

std::string SourceOf(const MetricRun& run) { return run.kind + ":" + run.name; }

}  // namespace stoker::node
