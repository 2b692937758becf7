// SPDX-License-Identifier: Apache-2.0
// Which run within a job a folder of metrics is, over all attempts. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ledger/metrics/segment.h"

namespace stoker::node {

// Everything before the last slash of `path`; "" = there is none.
std::string FolderOf(const std::string& path);

// Names the folders of one attempt, in the order in which they were begun. Each folder with event
// files, each metrics.csv and each metrics.jsonl is a run; train/ and val/ within one are of one
// run. Not thread-safe.
class RunNames {
 public:
  RunNames(int attempt, std::string host) : attempt_(attempt), host_(std::move(host)) {}

  // Those of the attempts before, and of this one where another agent began it.
  void set_runs(std::vector<MetricRun> runs);
  // Of this attempt, and of earlier ones those that it has not gone on with.
  const std::vector<MetricRun>& runs() const { return runs_; }

  struct Found {
    MetricRun* run = nullptr;  // until the next call
    std::string prefix;        // of the names of its series
  };
  // The run of what lies in `folder`, which was begun at `begun`. It is one of an earlier attempt
  // where it has the same path; or the same shape, where as many of that shape were begun before
  // it, and none after that one was written last. Else it is new: the first of its kind has no
  // name, another is called by the part of its path that sets it apart from the first, and a folder
  // within one by its path there.
  Found Find(const std::string& kind, const std::string& folder, WallTime begun);
  // What sets the folder of a source apart from that of another, as part of a name.
  std::string Apart(const std::string& source, const std::string& other) const;

 private:
  MetricRun* Of(const MetricRun& now);
  std::vector<MetricRun>::iterator Earlier(const MetricRun& now);
  std::string NewName(const MetricRun& now) const;
  std::string PlainName(const MetricRun& now) const;
  bool IsTaken(const std::string& kind, const std::string& name) const;

  const int attempt_;
  const std::string host_;
  std::vector<MetricRun> runs_;
};

// What stands before the names of a run's series: "", or its name and a slash.
std::string PrefixOf(const MetricRun& run);
// What its files have in common over all attempts, as MetricSeries::source: train/ and val/ of one
// are one.
std::string SourceOf(const MetricRun& run);

}  // namespace stoker::node
