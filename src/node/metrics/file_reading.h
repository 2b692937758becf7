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
#include "node/metrics/run_names.h"
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
  RunNames& runs() { return runs_; }
  const RunNames& runs() const { return runs_; }
  // Looks for new files, unless told not to, and reads what is new in all, until `stop`.
  void Look(bool find, MetricBatch& batch, const std::function<bool()>& stop);

 private:
  struct File;
  File& Add(const std::string& kind, const std::string& path);
  void Find();
  bool Several() const;
  void Name(File& file, WallTime begun, WallTime written);
  void Read(File& file, MetricBatch& batch, const std::function<bool()>& stop);
  std::string PathOf(const MetricSource& source) const;

  const MetricPlaces places_;
  const std::string extra_;
  RunNames runs_;
  Clock& clock_;
  std::vector<std::unique_ptr<File>> files_;
  std::map<std::string, File*> by_path_;
};

}  // namespace stoker::node
