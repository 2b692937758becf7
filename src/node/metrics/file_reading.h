// SPDX-License-Identifier: Apache-2.0
// Reads the files that hold metrics, as they grow.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "node/metrics/batch.h"
#include "node/metrics/found_files.h"
#include "node/metrics/metric_file.h"
#include "node/metrics/run_names.h"
#include "node/metrics/settings_files.h"
#include "port/clock.h"

namespace stoker::node {

// Not thread-safe. A file that cannot be read has that as its trouble, and is tried again.
class MetricFiles {
 public:
  // `extra`: $STOKER_METRICS. `runs`: of this attempt.
  MetricFiles(MetricPlaces places, std::string extra, RunNames runs, Clock& clock);
  ~MetricFiles();
  // What lies there now is of somebody else: only what is added to it counts.
  void PassOver();
  // Goes on where another one was.
  void set_sources(const std::vector<MetricSource>& sources);
  std::vector<MetricSource> sources() const;
  // For the agent that comes after this one: files of hyperparameters that were passed over.
  std::vector<MetricSource> settings_passed_over() const { return settings_.passed_over(); }
  std::vector<std::string> TakeTroubles() { return settings_.TakeTroubles(); }
  // The last step of each run of W&B's that the attempt goes on from, by source: offline, W&B
  // counts from 0 again in each process.
  void set_counted(std::map<std::string, int64_t> last) { counted_ = std::move(last); }
  RunNames& runs() { return runs_; }
  const RunNames& runs() const { return runs_; }
  // Looks for new files, unless told not to, and reads what is new in all, until `stop`.
  void Look(bool find, MetricBatch& batch, const std::function<bool()>& stop);
  // Nothing more comes.
  void Finish(MetricBatch& batch);

 private:
  struct Timed;
  MetricFile& Add(const std::string& kind, const std::string& path);
  void Find(MetricBatch& batch);
  bool Several() const;
  void Name(MetricFile& file, WallTime begun, WallTime written);
  void Read(MetricFile& file, MetricBatch& batch, const std::function<bool()>& stop);
  void GiveTimed(MetricBatch& batch);
  std::string PathOf(const MetricSource& source) const;

  const MetricPlaces places_;
  const std::string extra_;
  RunNames runs_;
  Clock& clock_;
  std::vector<std::unique_ptr<MetricFile>> files_;
  std::map<std::string, MetricFile*> by_path_;
  SettingsFiles settings_;
  std::map<std::string, int64_t> counted_;
  std::unique_ptr<Timed> timed_;
};

}  // namespace stoker::node
