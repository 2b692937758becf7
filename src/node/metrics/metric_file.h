// SPDX-License-Identifier: Apache-2.0
// One file that holds metrics, and its reader.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <string_view>

#include "ledger/metrics/segment.h"
#include "metrics/csv_rows.h"
#include "metrics/event_file.h"
#include "metrics/trackers/mlflow_lines.h"
#include "metrics/trackers/wandb_file.h"

namespace stoker::node {

// Not thread-safe.
struct MetricFile {
  MetricSource source;
  std::unique_ptr<metrics::EventFileReader> events;
  std::unique_ptr<metrics::CsvReader> table;
  std::unique_ptr<metrics::WandbFileReader> wandb;
  std::unique_ptr<metrics::MlflowReader> mlflow;
  std::string line;      // of JSON lines: one that has not ended
  std::string tail;      // the last bytes that the reader has been given
  int64_t position = 0;  // bytes that the reader has been given
  dev_t device = 0;
  ino_t inode = 0;
  struct timespec changed = {};
  std::string run = {};  // what it is a source of; "" = nothing has come of it yet

  // From the beginning of the file, or where the source says.
  void Begin(bool anew);
  // Gives `bytes`, which stand at `position`, to the reader. `now`: the time of what names none.
  void Take(std::string_view bytes, WallTime now, metrics::PointSink& sink);
  // The last bytes that were taken, or passed over.
  void Remember(std::string_view bytes);
  // Deleted and begun again, truncated, or written over: what was read stands there no more. A
  // table that a column was added to is another one, whatever its size.
  bool WrittenAnew(int fd, int64_t size) const;
  // Nothing stands behind what the source says was read, though the reader has had nothing yet.
  bool HasNothingNew(int64_t size) const;

 private:
  void TakeEvents(std::string_view bytes, metrics::PointSink& sink);
  void TakeTable(std::string_view bytes, WallTime now, metrics::PointSink& sink);
  void TakeWandb(std::string_view bytes, metrics::PointSink& sink);
  void TakeMlflow(std::string_view bytes, metrics::PointSink& sink);
  void TakeLines(std::string_view bytes, WallTime now, metrics::PointSink& sink);
  void TakeLine(WallTime now, metrics::PointSink& sink);
};

}  // namespace stoker::node
