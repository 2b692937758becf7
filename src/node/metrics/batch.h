// SPDX-License-Identifier: Apache-2.0
// What was found since the last segment, and what is known of each series as a whole. No I/O.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ledger/metrics/segment.h"
#include "metrics/metric_totals.h"
#include "metrics/point.h"
#include "metrics/sources.h"
#include "node/metrics/opening.h"
#include "node/metrics/same_points.h"

namespace stoker::node {

// A series is a name from one source. Where a better source has the name, too
// (metrics/sources.h), a series is set aside: it gives nothing any more.
// Not thread-safe. Memory: 24 bytes a point that waits (as much again while it grows), of a series
// at most 3000 of them; and of one that has more 1000 buckets of a hundred bytes. Of one that is
// held against another its newest 1000 points besides.
class MetricBatch : public metrics::PointSink {
 public:
  static constexpr size_t kMaxSeries = 1000;

  // Told of each point: its series, whether it counts its points itself, the point, and where this
  // attempt began in its source. Of a series alone (`entry` null): it begins anew.
  using Watcher = std::function<void(const std::string&, bool, const metrics::Entry* entry,
                                     const std::optional<int64_t>& begin)>;
  void set_watcher(Watcher watcher) { watcher_ = std::move(watcher); }
  // What sets the runs of a source apart from those of another, as part of a name.
  using Apart = std::function<std::string(const std::string& better, const std::string& worse)>;
  void set_apart(Apart apart) { apart_ = std::move(apart); }
  // Of what comes from now on: what stands before its names, and what it comes from.
  void set_source(const std::string& prefix, const std::string& source);
  // Several kinds of files are there, which may say the same.
  void set_several(bool several) { several_ = several; }
  const std::map<std::string, SourceBegin>& begins() const { return begins_; }
  void set_begins(std::map<std::string, SourceBegin> begins) {
    begins_ = std::move(begins);
    begin_ = nullptr;
  }
  // The attempt has restored something: what it says before it has loaded it does not count.
  void set_restored(bool restored) { restored_ = restored; }
  void OnPoint(std::string_view name, const metrics::Point& point) override;
  void OnHyperparameter(std::string_view name, const std::string& json) override;
  // No more comes: what waits is given, and whoever could not be held against each other are two.
  void Settle();

  // What was set aside since the last call, or got another name; for people.
  struct Note {
    std::string name;
    std::string source;
    std::string better;            // what has it, too
    std::string renamed;           // "" = set aside
    std::optional<int64_t> stray;  // not that: a step that was said before anything was loaded
  };
  std::vector<Note> TakeNotes() { return std::exchange(notes_, {}); }
  // Names of the log that are set aside, as metrics::PlainName has them.
  const metrics::SourceChoice& sources() const { return choice_; }
  const std::set<std::string>& aside() const { return aside_; }
  void set_aside(std::set<std::string> aside) { aside_ = std::move(aside); }

  bool empty() const { return waiting_ == 0; }
  int64_t waiting() const { return waiting_; }    // points that no Take has had
  int64_t points() const { return points_; }      // in all
  int64_t left_out() const { return left_out_; }  // of series beyond the most
  // The first names, for people: "'acc', 'loss' and 3 more".
  std::string SomeNames() const;
  // Gives what is new, which then is no more, whatever becomes of it.
  Status Take(const TakeSeries& take);
  std::map<std::string, int64_t> Orders() const;
  void set_orders(const std::map<std::string, int64_t>& orders) { orders_ = orders; }
  MetricTotals::Series Totals() const;
  void set_totals(const MetricTotals::Series& totals) { totals_ = totals; }
  const std::map<std::string, std::string>& hyperparameters() const { return hyperparameters_; }
  // Whether they have changed since the last call.
  bool TakeTold() { return std::exchange(told_, false); }

 private:
  // A point in less space than an Entry of one.
  struct Whole {
    int64_t step;
    WallTime time;
    double value;
  };
  struct Series {
    std::string name;
    std::string source;
    bool ordered = false;
    bool by_epoch = false;
    bool aside = false;
    int64_t order = 0;
    metrics::Totals totals;
    // Since the last Take: buckets, and then points.
    std::vector<metrics::Entry> buckets;
    std::vector<Whole> whole;
    // Of a series that another one may say, too.
    std::unique_ptr<std::vector<Recent>> recent;
    std::shared_ptr<SamePoints> pair;
    Series* rival = nullptr;  // of `pair`
    bool settled = false;
    Series* renamed = nullptr;
  };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Known {
    Series* series = nullptr;
    std::string_view name;  // as the source has it: the key
    Known* next = nullptr;  // what came behind it the last time
  };
  struct Names {
    std::unordered_map<std::string, Known, TextHash, std::equal_to<>> all;
    Known* last = nullptr;
  };

  static std::vector<metrics::Entry> TakeEntries(Series& series);
  static void Thin(Series& series);
  std::optional<int64_t> NoteBegin(std::string_view name, const metrics::Point& point);
  Series* Find(const std::string& name, const std::string& source, bool steps);
  Series* Named(std::string_view name, const metrics::Point& point);
  bool Opens(std::string_view name, const metrics::Point& point);
  void Give(Opening& opening);
  void Put(Series& series, int64_t step, const metrics::Point& point,
           const std::optional<int64_t>& begin);
  void HoldAgainst(Series& series, const Recent& point);
  void Choose(Series& fresh, bool steps);
  void SetAside(Series& series, const std::string& better);
  void Pair(Series& better, Series& worse);
  void Decide(Series& series, SamePoints::Verdict verdict);

  std::map<std::pair<std::string, std::string>, Series> series_;  // by name and source
  // Of this prefix and source, those that have a place in series_: as the source names them. Of a
  // log what its bars say by itself.
  std::array<Names, 2> names_;
  std::map<std::string, std::string> hyperparameters_;
  bool told_ = false;
  Watcher watcher_;
  Apart apart_;
  std::map<std::string, SourceBegin> begins_;
  SourceBegin* begin_ = nullptr;  // of source_, once it has begun
  metrics::SourceChoice choice_;
  std::set<std::string> aside_;
  std::vector<Note> notes_;
  // What a former agent had of series that have not come again.
  std::map<std::string, int64_t> orders_;
  MetricTotals::Series totals_;
  std::string prefix_;
  std::string source_;
  bool restored_ = false;
  // By source, in steps and in epochs.
  std::map<std::pair<std::string, bool>, Opening> openings_;
  bool several_ = false;
  bool steps_ = false;  // a file says steps
  int64_t waiting_ = 0;
  int64_t points_ = 0;
  int64_t left_out_ = 0;
};

}  // namespace stoker::node
