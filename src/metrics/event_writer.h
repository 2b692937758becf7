// SPDX-License-Identifier: Apache-2.0
// Bytes of a TensorBoard event file, framed as event_file.h has it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stoker::metrics {

// The record that a file begins with. Times are seconds since 1970.
std::string EventFileBegin(double time);
// A scalar as every version reads it: simple_value, a float.
std::string ScalarRecord(double time, int64_t step, std::string_view tag, double value);
// A run that begins again: what the file has of `step` and later ones was done again (SessionLog
// START; tensorboard/backend/event_processing/event_accumulator.py purges it).
std::string SessionStartRecord(double time, int64_t step);
// Any message `Event`.
std::string EventRecord(std::string_view event);

}  // namespace stoker::metrics
