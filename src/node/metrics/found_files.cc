// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/found_files.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <tuple>

#include "base/text.h"
#include "metrics/numbers.h"
#include "sys/watch/directory_scan.h"

namespace stoker::node {
namespace {

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool HoldsPackages(const std::string& path) {
  static const std::set<std::string> kNames = {".git",          "node_modules", "__pycache__",
                                               "site-packages", ".venv",        "venv"};
  return kNames.count(NameOf(path)) > 0 || std::count(path.begin(), path.end(), '/') > 12;
}

std::string KindOf(const std::string& name) {
  if (name.find("events.out.tfevents.") != std::string::npos) return "tensorboard";
  if (name == "metrics.csv") return "csv";
  return name == "metrics.jsonl" ? "jsonl" : "";
}

Status Walk(const std::string& root, const std::string& before, bool events, bool tables,
            std::vector<FoundFile>* out) {
  TreeFilter filter;
  filter.enter = [](const std::string& path) { return !HoldsPackages(path); };
  filter.closed = [](const std::string&, const Status&) {};
  filter.wanted = [&](const FileFact& fact) {
    const std::string kind = KindOf(NameOf(fact.path));
    if (kind.empty() || !(kind == "tensorboard" ? events : tables)) return false;
    if (out->size() < kMaxFound) out->push_back({kind, before + fact.path});
    return false;
  };
  return WalkTree(root, filter);
}

// The second in which an event file was begun, as writers put it into its name; else 0.
int64_t MadeAt(const std::string& path) {
  constexpr std::string_view kBefore = ".tfevents.";
  const size_t at = path.rfind(kBefore);
  if (at == path.npos) return 0;
  const std::string_view rest = std::string_view(path).substr(at + kBefore.size());
  return WholeNumber(rest.substr(0, rest.find('.')), 0, INT64_MAX).value_or(0);
}

// "1732449123.4", "20261124-101112": nobody's name for a part of a run.
bool IsTime(const std::string& name) {
  return name.find_first_not_of("0123456789.-_:T") == std::string::npos;
}

std::string WithoutTimes(const std::string& folder) {
  std::vector<std::string> parts;
  for (const std::string& part : Split(folder, '/')) {
    if (!part.empty() && !IsTime(part)) parts.push_back(part);
  }
  return Join(parts, "/");
}

bool IsPhase(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kPhases = {
      "train", "training", "val", "valid", "validation", "test", "eval", "evaluation"};
  return std::find(kPhases.begin(), kPhases.end(), name) != kPhases.end();
}

}  // namespace

Result<std::vector<FoundFile>> FindMetricFiles(const MetricPlaces& places) {
  std::vector<FoundFile> found;
  const std::string& named = places.tensorboard;
  STOKER_TRY(Walk(places.workdir, "", named.empty(), true, &found));
  if (!named.empty() && named[0] == '/') {
    STOKER_TRY(Walk(named, named + "/", true, false, &found));
  } else if (!named.empty()) {
    STOKER_TRY(Walk(places.workdir + "/" + named, named + "/", true, false, &found));
  }
  // As one look after the other would have found them: names depend on who was first.
  std::sort(found.begin(), found.end(), [](const FoundFile& a, const FoundFile& b) {
    return std::make_tuple(MadeAt(a.path), FolderOf(a.path), a.path) <
           std::make_tuple(MadeAt(b.path), FolderOf(b.path), b.path);
  });
  return found;
}

std::string PrefixOf(const std::string& path, const std::vector<MetricSource>& known) {
  const std::string folder = FolderOf(path);
  const MetricSource* main = nullptr;
  for (const MetricSource& source : known) {
    if (source.kind != "tensorboard") continue;
    const std::string other = FolderOf(source.path);
    if (other == folder) return source.prefix;
    if (source.prefix.empty() && main == nullptr) main = &source;
    if (StartsWith(folder, other + "/") || other.empty()) {
      const std::string inner = WithoutTimes(folder.substr(other.empty() ? 0 : other.size() + 1));
      return source.prefix + (inner.empty() ? "" : inner + "/");
    }
  }
  const std::string name = NameOf(folder);
  if (IsPhase(name) && name != "train" && name != "training") return name + "/";
  if (main == nullptr) return "";
  return IsTime(name) ? "" : name + "/";
}

std::string SourceOf(const MetricSource& source) {
  if (source.path.empty()) return "own";
  const std::string run = FolderOf(source.prefix);  // a prefix ends in a slash
  return source.kind + ":" + (IsPhase(NameOf(run)) ? FolderOf(run) : run);
}

std::string FoundText(const MetricSource& source) {
  if (source.path.empty()) return "$STOKER_METRICS";
  if (source.kind != "tensorboard") return Printable(source.path);
  const std::string folder = FolderOf(source.path);
  return Printable(folder.empty() ? "the work directory" : folder) + " (TensorBoard)";
}

}  // namespace stoker::node
