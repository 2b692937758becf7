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

// When a file was begun: as its file system has it, else as its name says, else 0.
WallTime BegunAt(const std::string& path);

// "runs/x/events… (TensorBoard)", for people.
std::string FoundText(const MetricSource& source);

}  // namespace stoker::node
