// SPDX-License-Identifier: Apache-2.0
// Which files of a work directory hold metrics.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "ledger/metrics/segment.h"

namespace stoker::node {

struct MetricPlaces {
  std::string workdir;
  std::string tensorboard;  // the only folder with event files, relative or absolute; "" = any
};

// events.out.tfevents.* (TensorBoard's writers put that into the name), metrics.csv and
// metrics.jsonl, at most kMaxFound of them, those that were begun first before others; nothing
// below folders of packages.
inline constexpr size_t kMaxFound = 500;
struct FoundFile {
  std::string kind;
  std::string path;  // as MetricSource::path
};
Result<std::vector<FoundFile>> FindMetricFiles(const MetricPlaces& places);

// What stands before the names of the series of an event file at `path`, where those at `known`
// were found before: nothing for the first folder; "val/" for one called val beside it; for a
// folder within one of them its path there. Folders named by a time alone count as those that they
// are in.
std::string PrefixOf(const std::string& path, const std::vector<MetricSource>& known);

// What files of one run have in common over all attempts, as MetricSeries::source: train/ and val/
// of one are one.
std::string SourceOf(const MetricSource& source);

// "runs/x/events… (TensorBoard)", for people.
std::string FoundText(const MetricSource& source);

}  // namespace stoker::node
