// SPDX-License-Identifier: Apache-2.0
// Which files are traces that a profiler wrote, by their names. Pure.
#pragma once

#include <string_view>

namespace stoker {

// torch.profiler (tensorboard_trace_handler, export_chrome_trace with the name of its examples),
// the profilers of JAX and TensorFlow (XPlane), Nsight Systems and Nsight Compute. `path` may have
// folders.
bool IsProfile(std::string_view path);

}  // namespace stoker
