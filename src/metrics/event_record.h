// SPDX-License-Identifier: Apache-2.0
// One record of a TensorBoard event file: a protobuf message `Event` (tensorflow/core/util/
// event.proto, and summary.proto, tensor.proto beside it in framework/). Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "metrics/point.h"

namespace stoker::metrics {

// What later records of the same file refer to.
struct EventNames {
  // Tags whose first value said that they are scalars: later ones need not say so again.
  std::set<std::string, std::less<>> scalars;
  static constexpr size_t kMost = 10'000;
};

// Gives the scalars (v1: simple_value; v2: tensors of the plugin "scalars") and the hyperparameters
// (plugin "hparams") of one Event to `sink`, and nothing of images, histograms or text. False: the
// bytes are no such message; what came before the place may have been given.
bool ReadEvent(std::string_view bytes, EventNames& names, PointSink& sink);

}  // namespace stoker::metrics
