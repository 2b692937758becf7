// SPDX-License-Identifier: Apache-2.0
// What was found since the last segment, and what is known of each series as a whole. No I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ledger/metrics/segment.h"
#include "metrics/metric_totals.h"
#include "metrics/point.h"

namespace stoker::node {

// Not thread-safe. Memory: 24 bytes a point that waits (as much again while it grows), of a series
// at most 3000 of them; and of one that has more 1000 buckets of a hundred bytes.
class MetricBatch : public metrics::PointSink {
 public:
  static constexpr size_t kMaxSeries = 1000;

  // Told of each point: its series, whether it counts its points itself, the point, and where this
  // attempt began in its source.
  using Watcher = std::function<void(const std::string&, bool, const metrics::Entry&,
                                     const std::optional<int64_t>& begin)>;
  void set_watcher(Watcher watcher) { watcher_ = std::move(watcher); }
  // Of what comes from now on: what stands before its names, and what it comes from.
  void set_source(const std::string& prefix, const std::string& source);
  const std::map<std::string, SourceBegin>& begins() const { return begins_; }
  void set_begins(std::map<std::string, SourceBegin> begins) { begins_ = std::move(begins); }
  void OnPoint(std::string_view name, const metrics::Point& point) override;
  void OnHyperparameter(std::string_view name, const std::string& json) override;

  bool empty() const { return waiting_ == 0; }
  int64_t waiting() const { return waiting_; }    // points that no Take has had
  int64_t points() const { return points_; }      // in all
  int64_t left_out() const { return left_out_; }  // of series beyond the most
  // The first names, for people: "'acc', 'loss' and 3 more".
  std::string SomeNames() const;
  // Gives what is new, which then is no more, whatever becomes of it.
  Status Take(const TakeSeries& take);
  std::map<std::string, int64_t> Orders() const;
  void set_orders(const std::map<std::string, int64_t>& orders);
  MetricTotals::Series Totals() const;
  void set_totals(const MetricTotals::Series& totals);
  const std::map<std::string, std::string>& hyperparameters() const { return hyperparameters_; }

 private:
  // A point in less space than an Entry of one.
  struct Whole {
    int64_t step;
    WallTime time;
    double value;
  };
  struct Series {
    bool ordered = false;
    bool by_epoch = false;
    std::string source;
    int64_t order = 0;
    metrics::Totals totals;
    // Since the last Take: buckets, and then points.
    std::vector<metrics::Entry> buckets;
    std::vector<Whole> whole;
  };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  static std::vector<metrics::Entry> TakeEntries(Series& series);
  static void Thin(Series& series);
  std::optional<int64_t> NoteBegin(std::string_view name, const metrics::Point& point);
  Series* Find(const std::string& name);
  std::pair<const std::string, Series>* Named(std::string_view name);

  std::map<std::string, Series> series_;
  // Of this prefix, those that have a place in series_: as the source names them.
  std::unordered_map<std::string, std::pair<const std::string, Series>*, TextHash, std::equal_to<>>
      by_name_;
  std::map<std::string, std::string> hyperparameters_;
  Watcher watcher_;
  std::map<std::string, SourceBegin> begins_;
  std::string prefix_;
  std::string source_;
  int64_t waiting_ = 0;
  int64_t points_ = 0;
  int64_t left_out_ = 0;
};

}  // namespace stoker::node
