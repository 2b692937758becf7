// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/found_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/text.h"
#include "sys/watch/directory_scan.h"

namespace stoker::node {
namespace {

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
  filter.named = [](const std::string& path) { return !KindOf(NameOf(path)).empty(); };
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
  return WholeNumber(rest.substr(0, rest.find('.')), 0, INT64_MAX / 1000).value_or(0);
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
  return found;
}

WallTime BegunAt(const std::string& path) {
  struct statx info = {};
  const int got = ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BTIME, &info);
  if (got == 0 && (info.stx_mask & STATX_BTIME) != 0) {
    return {info.stx_btime.tv_sec * 1000 + info.stx_btime.tv_nsec / 1'000'000};
  }
  return {MadeAt(path) * 1000};
}

std::string FoundText(const MetricSource& source) {
  if (source.path.empty()) return "$STOKER_METRICS";
  if (source.kind != "tensorboard") return Printable(source.path);
  const size_t slash = source.path.rfind('/');
  const std::string folder = slash == source.path.npos ? "" : source.path.substr(0, slash);
  return Printable(folder.empty() ? "the work directory" : folder) + " (TensorBoard)";
}

}  // namespace stoker::node
