// SPDX-License-Identifier: Apache-2.0
// Rows of named numbers, as programs print them: which name is the step, which the time. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/point.h"

namespace stoker::metrics {

// "0.5", "-3e-4", "+2", "nan", "inf", "-Infinity", in any case, without white space around it.
// nullopt: it is anything else, or more.
std::optional<double> ParseNumber(std::string_view text);

// "np.float64(0.5)", "tensor(0.5, device='cuda:0')", as NumPy, PyTorch and JAX print a number: the
// text begins with it and goes on behind its `used` bytes.
std::optional<double> UnwrapNumber(std::string_view text, size_t* used);

// Without blanks, tabs and carriage returns around it.
std::string_view Bare(std::string_view text);

using Row = std::vector<std::pair<std::string, double>>;

// Gives the numbers of one row to `sink`. The step is the first of step, global_step, _step,
// trainer/global_step, iteration, iter that is a whole number, else epoch; it is no series of its
// own, but epoch beside a step is. time, timestamp, wall_time or _timestamp in seconds or
// milliseconds since 1970 is the time of the points, else `now` is.
// Where epoch is the step, the points say so. `step` is used where the row names none. Without
// `epoch_counts` an epoch is never the step.
void EmitRow(const Row& row, std::optional<int64_t> step, WallTime now, PointSink& sink,
             bool epoch_counts = true);
// Whether some name of the row is one of those for the step, or epoch.
bool NamesStep(const Row& row);

}  // namespace stoker::metrics
