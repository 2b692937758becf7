// SPDX-License-Identifier: Apache-2.0
// One line of text as a row of named numbers, where it is one. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "metrics/numbers.h"

namespace stoker::metrics {

struct TextRow {
  Row row;
  bool alone = true;  // it holds numbers and nothing else
};

// {"step": 3, "loss": 0.1}: a JSON object. Numbers one level down are named "outer/inner". NaN and
// Infinity, which Python's json writes, are read. nullopt: it is none, or nests deeper than 16.
std::optional<TextRow> ReadJsonRow(std::string_view line);

// {'loss': 0.5, 'epoch': 1.0}: the text of a Python dict, as Hugging Face's Trainer prints it
// (transformers/trainer_callback.py: PrinterCallback, ProgressCallback); numbers between quotes, as
// transformers 5 prints them, and np.float64(0.5) count; lists and dicts in it do not.
std::optional<TextRow> ReadDictRow(std::string_view line);

// Whether a line is the progress line of Keras (keras/utils/progbar or generic_utils: Progbar), in
// whatever state.
bool IsKerasLine(std::string_view line);
struct KerasRow {
  int64_t steps = 0;  // of the epoch
  Row row;
};
// "469/469 [====] - 2s 4ms/step - loss: 0.25 - val_loss: 0.2": the last state of one, all steps
// done.
std::optional<KerasRow> ReadKerasRow(std::string_view line);

// "…, step 300, …": where a line names a step anywhere, else an epoch.
std::optional<int64_t> FindStep(std::string_view line);

// Without the escape sequences of colours and cursors.
std::string WithoutEscapes(std::string_view line);

}  // namespace stoker::metrics
