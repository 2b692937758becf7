// SPDX-License-Identifier: Apache-2.0
// Files in which frameworks and trackers write the hyperparameters of a run: they are read as a
// whole whenever they have changed.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "node/metrics/batch.h"
#include "node/metrics/found_files.h"
#include "node/metrics/run_names.h"

namespace stoker::node {

// Not thread-safe.
class SettingsFiles {
 public:
  explicit SettingsFiles(std::string workdir) : workdir_(std::move(workdir)) {}

  // What lies there now is of somebody else, as long as it does not change.
  void PassOver(const std::vector<FoundFile>& found);
  // The same for the agent that comes after this one; sources of these kinds.
  std::vector<MetricSource> passed_over() const;
  // Takes a source of these kinds; false: it is of another.
  bool TakeUp(const MetricSource& source);

  void Look(const std::vector<FoundFile>& found, RunNames& runs, MetricBatch& batch);
  // What cannot be read, and why, since the last call: "PATH: …", for people.
  std::vector<std::string> TakeTroubles() { return std::exchange(troubles_, {}); }

 private:
  struct Stamp {
    int64_t size = 0;
    int64_t time_ms = 0;
    bool operator==(const Stamp&) const = default;
  };
  struct File {
    std::string kind;
    Stamp stamp;
    bool theirs = false;  // it lay there before
    std::string trouble;  // of the text that the stamp is of
    bool told = false;
  };
  static bool StampOf(const std::string& path, Stamp* stamp);
  void Read(const std::string& path, File& file, RunNames& runs, MetricBatch& batch);

  const std::string workdir_;
  std::map<std::string, File> files_;                        // by path
  std::map<std::string, std::set<std::string>> configured_;  // by Hydra's folder: names
  std::vector<std::string> troubles_;
};

}  // namespace stoker::node
