// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/settings_files.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/text.h"
#include "metrics/trackers/settings_text.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

constexpr int64_t kMostBytes = 1 << 20;
constexpr int64_t kMostOfParam = 4000;

// Passes on, and notes the names.
struct Named : metrics::PointSink {
  metrics::PointSink& to;
  std::set<std::string> names;
  explicit Named(metrics::PointSink& to) : to(to) {}
  void OnPoint(std::string_view, const metrics::Point&) override {}
  void OnHyperparameter(std::string_view name, const std::string& json) override {
    names.emplace(name);
    to.OnHyperparameter(name, json);
  }
};

bool IsSettings(const std::string& kind) {
  return kind == "hparams" || kind == "hydra" || kind == "overrides" || kind == "param" ||
         kind == "database";
}

}  // namespace

bool SettingsFiles::StampOf(const std::string& path, Stamp* stamp) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  *stamp = {info.st_size, info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1'000'000};
  return true;
}

void SettingsFiles::PassOver(const std::vector<FoundFile>& found) {
  for (const FoundFile& one : found) {
    Stamp stamp;
    if (StampOf(workdir_ + "/" + one.path, &stamp)) {
      files_[one.path] = {one.kind, stamp, true, "", false};
    }
  }
}

std::vector<MetricSource> SettingsFiles::passed_over() const {
  std::vector<MetricSource> all;
  for (const auto& [path, file] : files_) {
    if (!file.theirs) continue;
    MetricSource source;
    source.kind = file.kind;
    source.path = path;
    source.offset = file.stamp.size;
    source.rows = file.stamp.time_ms;
    all.push_back(std::move(source));
  }
  return all;
}

bool SettingsFiles::TakeUp(const MetricSource& source) {
  if (!IsSettings(source.kind)) return false;
  files_[source.path] = {source.kind, {source.offset, source.rows}, true, "", false};
  return true;
}

void SettingsFiles::Look(const std::vector<FoundFile>& found, RunNames& runs, MetricBatch& batch) {
  for (const FoundFile& one : found) {
    Stamp stamp;
    if (!StampOf(workdir_ + "/" + one.path, &stamp)) continue;
    const auto [at, fresh] = files_.try_emplace(one.path);
    File& file = at->second;
    if (!fresh && file.stamp == stamp) {
      // Half of a file that is being written is no trouble.
      if (!file.trouble.empty() && !std::exchange(file.told, true)) {
        troubles_.push_back(QuotedPath(one.path) + ": " + file.trouble);
      }
      continue;
    }
    file = {one.kind, stamp, false, "", file.told};
    Read(one.path, file, runs, batch);
  }
  batch.set_source("", "");
}

void SettingsFiles::Read(const std::string& path, File& file, RunNames& runs, MetricBatch& batch) {
  if (file.kind == "database") {
    file.trouble =
        "a database is not opened while a program writes it: with MLFLOW_TRACKING_URI=./mlruns "
        "(newer ones want MLFLOW_ALLOW_FILE_STORE=true, too) its metrics are found";
    return;
  }
  const int64_t most = file.kind == "param" ? kMostOfParam : kMostBytes;
  if (file.stamp.size > most) {
    file.trouble = "hyperparameters in more than " + HumanSize(most) + " are not read";
    return;
  }
  const auto text = sys::ReadFile(workdir_ + "/" + path);
  if (!text.ok()) {
    file.trouble = text.status().message();
    return;
  }
  const std::string folder = RunFolderOf(file.kind, path);
  const std::string kind = file.kind == "overrides" ? "hydra"
                           : file.kind == "param"   ? "mlflow"
                                                    : file.kind;
  const WallTime begun = BegunAt(workdir_ + "/" + (kind == "mlflow" ? folder : path));
  batch.set_source(runs.Find(kind, folder, begun).prefix, "");
  if (file.kind == "param") {
    return metrics::GivePlainSetting(MlflowName(path), *text, batch);
  }
  std::set<std::string>& configured = configured_[folder];
  if (file.kind == "overrides") {
    file.trouble = metrics::GiveOverrides(*text, configured, batch);
    return;
  }
  Named named(batch);
  file.trouble = metrics::GiveYamlSettings(*text, named);
  if (file.kind == "hydra") configured.merge(named.names);
}

}  // namespace stoker::node
