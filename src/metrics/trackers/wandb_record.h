// SPDX-License-Identifier: Apache-2.0
// The records that W&B keeps of a run: protobuf messages `Record` (wandb/proto/
// wandb_internal.proto). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/numbers.h"
#include "metrics/point.h"

namespace stoker::metrics {

// Of the history it gives the numbers, those of dictionaries as "outer.inner"; of the configuration
// hyperparameters, named likewise. Not what W&B measures of the machine, names that begin with "_",
// or media (dictionaries with "_type").
// The step is what define_metric names as the axis, else "step" or "global_step" where the first
// row has them, else "_step", which W&B counts. Not thread-safe.
class WandbRecords {
 public:
  // `gives`: false where another reader gave what is in it. False: the bytes are no such message.
  bool Read(std::string_view bytes, bool gives, PointSink& sink);

  // Where "_step" goes on when it begins at 0 or 1: offline, W&B counts from 0 in each process.
  void set_goes_on(int64_t step) { goes_on_ = step; }
  // What was added to it; 0 = nothing.
  int64_t shift() const { return shift_.value_or(0); }

 private:
  struct Item {
    std::string path;
    std::string_view json;
  };
  // A row of the history.
  struct History {
    Row row;
    std::optional<int64_t> step;  // W&B's own
    WallTime time;
    int64_t epoch = -1;
  };
  struct Axis {
    std::string of;  // a name, or "PREFIX*"
    std::string metric;
  };

  static Item ReadItem(std::string_view bytes);
  void TakeHistory(std::string_view bytes, bool gives, PointSink& sink);
  static History ReadHistory(std::string_view bytes);
  static void TakeConfig(std::string_view bytes, PointSink& sink);
  void TakeMetric(std::string_view bytes);
  const std::string& AxisOf(const std::string& name) const;
  bool IsAxis(const std::string& name) const;
  void ChooseAxis(const History& history);

  static constexpr size_t kMostAxes = 1000;
  std::vector<Axis> axes_;                // as define_metric has them, the last first
  std::string usual_;                     // "" = W&B's own
  bool begun_ = false;                    // a row has come
  std::map<std::string, int64_t> marks_;  // what each axis was at last
  int64_t goes_on_ = 0;
  std::optional<int64_t> shift_;
};

}  // namespace stoker::metrics
