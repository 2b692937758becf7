// SPDX-License-Identifier: Apache-2.0
// A segment of metrics: what one node found since its segment before, and how far it has read.
// Create-only, zstd, readable with `zstd -dc`. docs/ledger.md has the format. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "metrics/entries.h"
#include "metrics/line_names.h"

namespace stoker {

// A file that metrics were found in, and how far it has been read.
struct MetricSource {
  std::string kind;    // "tensorboard", "csv", "jsonl"
  std::string path;    // relative to the work directory; "" = $STOKER_METRICS
  std::string prefix;  // of the names of its series; "" = none
  int64_t offset = 0;
  int64_t rows = 0;  // of a table, which may be written anew
  int64_t points = 0;
  std::vector<std::string> scalars;  // tags that a later reader must know to be scalars
  std::string trouble;               // "" or what is wrong with it
};

// A folder of metrics, or a table: one run within the job.
struct MetricRun {
  std::string kind;                // as MetricSource::kind
  std::string path;                // of its folder
  std::string name;                // before those of its series; "" = none
  std::string shape;               // its path without what loggers count or stamp
  int attempt = 0;                 // that wrote it last
  int64_t number = 0;              // it was begun there as this one of its kind and shape, from 0
  WallTime begun;                  // when; 0 = nobody knows
  WallTime written;                // when it was last seen to grow
  bool ended = false;              // another one of its shape was begun behind that
  std::vector<std::string> parts;  // folders in it that belong to it, as train and val do
};

// Where an attempt began in a source: the first step, and the first epoch, that it gave.
struct SourceBegin {
  std::optional<int64_t> step;
  std::optional<int64_t> epoch;
  bool operator==(const SourceBegin&) const = default;
};

struct MetricHead {
  int attempt = 0;
  int rank = 0;
  int64_t first = 0;     // number of the first flush in it, from 1
  int64_t flushes = 1;   // how many it holds
  int64_t log_line = 0;  // the last line of the node's log that was looked at
  std::vector<MetricSource> sources;
  std::vector<MetricRun> runs;  // of this attempt, and of earlier ones what it left
  std::set<std::string> aside;  // names that the log does not give, as metrics::PlainName has them
  std::map<std::string, SourceBegin> begins;  // by MetricSeries::source
  int64_t resumed = -1;  // when what the attempt restored was saved; as metrics/curve.h has it
  std::map<std::string, int64_t> orders;  // of series without steps: points so far
  int64_t log_points = 0;
  std::vector<std::string> log_kinds;  // what was recognised in the log
  metrics::LogSeries log_series;       // what it showed of its series
};

struct MetricSeries {
  std::string name;
  bool ordered = false;  // the source names no steps: they count
  std::vector<metrics::Entry> entries;
  bool by_epoch = false;    // its steps are epochs
  std::string source = {};  // what it comes from: those of one begin together; "" = nobody knows
};

// A line of JSON each, with its \n.
std::string EncodeMetricHead(const MetricHead& head);
std::string EncodeMetricSeries(const MetricSeries& series);
Result<MetricHead> DecodeMetricHead(std::string_view line);
Result<MetricSeries> DecodeMetricSeries(std::string_view line);

// The name and the source alone, without what else stands there; "" where there is none.
using SeriesKey = std::pair<std::string, std::string>;
SeriesKey MetricSeriesKey(std::string_view line);

// Takes the series of a segment one after another, by name and source.
using TakeSeries = std::function<Status(const MetricSeries&)>;
// Gives them so, and returns the first failure.
using GiveSeries = std::function<Status(const TakeSeries&)>;
// Takes packed bytes, in order.
using TakePacked = std::function<Status(std::string_view bytes)>;

// The head has its numbers set. Held is one series, and what comes out of it.
Status PackMetrics(const MetricHead& head, const GiveSeries& give, const TakePacked& take);

}  // namespace stoker
