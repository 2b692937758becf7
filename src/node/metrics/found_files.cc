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

// Where "metrics/" or "params/" ends in a path of MLflow's file store; npos: it is none.
size_t BehindMlflowRun(const std::string& path) {
  constexpr size_t kId = 32;  // uuid4().hex
  for (const std::string_view inner : {"/metrics/", "/params/"}) {
    const size_t at = path.find(inner);
    if (at == path.npos || at < kId || (at > kId && path[at - kId - 1] != '/')) continue;
    const std::string_view id = std::string_view(path).substr(at - kId, kId);
    if (id.find_first_not_of("0123456789abcdef") == id.npos) return at + inner.size();
  }
  return path.npos;
}

std::string KindOf(const std::string& path) {
  const std::string name = NameOf(path);
  if (name.find("events.out.tfevents.") != std::string::npos) return "tensorboard";
  if (BehindMlflowRun(path) != path.npos) {
    const std::string inner = path.substr(0, path.size() - MlflowName(path).size());
    // Its own measures of the machine are not what was learned.
    if (EndsWith(inner, "/params/")) return "param";
    return StartsWith(MlflowName(path), "system/") ? "" : "mlflow";
  }
  if (name == "metrics.csv") return "csv";
  if (StartsWith(name, "run-") && EndsWith(name, ".wandb")) return "wandb";
  if (name == "hparams.yaml") return "hparams";
  if (name == "mlflow.db") return "database";
  const std::string within = "/" + path;
  if (EndsWith(within, "/.hydra/config.yaml")) return "hydra";
  if (EndsWith(within, "/.hydra/overrides.yaml")) return "overrides";
  return name == "metrics.jsonl" ? "jsonl" : "";
}

bool HoldsMetrics(const std::string& kind) {
  static const std::set<std::string> kKinds = {"tensorboard", "csv", "jsonl", "wandb", "mlflow"};
  return kKinds.count(kind) > 0;
}

Status Walk(const std::string& root, const std::string& before, bool events, bool others,
            FoundFiles* out) {
  TreeFilter filter;
  filter.enter = [](const std::string& path) { return !HoldsPackages(path); };
  filter.named = [](const std::string& path) { return !KindOf(path).empty(); };
  filter.closed = [](const std::string&, const Status&) {};
  filter.wanted = [&](const FileFact& fact) {
    const std::string kind = KindOf(fact.path);
    if (kind.empty() || !(kind == "tensorboard" ? events : others)) return false;
    std::vector<FoundFile>& all = HoldsMetrics(kind) ? out->metrics : out->settings;
    if (all.size() < kMaxFound) all.push_back({kind, before + fact.path});
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

Result<FoundFiles> FindMetricFiles(const MetricPlaces& places) {
  FoundFiles found;
  const std::string& named = places.tensorboard;
  STOKER_TRY(Walk(places.workdir, "", named.empty(), true, &found));
  if (!named.empty() && named[0] == '/') {
    STOKER_TRY(Walk(named, named + "/", true, false, &found));
  } else if (!named.empty()) {
    STOKER_TRY(Walk(places.workdir + "/" + named, named + "/", true, false, &found));
  }
  return found;
}

std::string MlflowName(const std::string& path) {
  const size_t at = BehindMlflowRun(path);
  return at == path.npos ? "" : path.substr(at);
}

std::string RunFolderOf(const std::string& kind, const std::string& path) {
  const auto parent = [](const std::string& of) {
    const size_t slash = of.rfind('/');
    return slash == of.npos ? "" : of.substr(0, slash);
  };
  if (kind == "mlflow" || kind == "param") {
    return parent(path.substr(0, path.size() - MlflowName(path).size() - 1));
  }
  return kind == "hydra" || kind == "overrides" ? parent(parent(path)) : parent(path);
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
  const char* of = source.kind == "tensorboard" ? " (TensorBoard)"
                   : source.kind == "wandb"     ? " (W&B)"
                   : source.kind == "mlflow"    ? " (MLflow)"
                                                : nullptr;
  if (of == nullptr) return Printable(source.path);
  const std::string folder = RunFolderOf(source.kind, source.path);
  return Printable(folder.empty() ? "the work directory" : folder) + of;
}

}  // namespace stoker::node
