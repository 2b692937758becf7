// SPDX-License-Identifier: Apache-2.0
// One line of text as a row of named numbers, where it is one. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "metrics/numbers.h"

namespace stoker::metrics {

// {"step": 3, "loss": 0.1}: a JSON object. Numbers one level down are named "outer/inner". NaN and
// Infinity, which Python's json writes, are read. nullopt: it is none, or nests deeper than 16.
std::optional<Row> ReadJsonRow(std::string_view line);

// {'loss': 0.5, 'epoch': 1.0}: the text of a Python dict without others in it, as Hugging Face's
// Trainer prints it (transformers/trainer_callback.py: PrinterCallback, ProgressCallback); numbers
// between quotes, as transformers 5 prints them, count.
std::optional<Row> ReadDictRow(std::string_view line);

// "469/469 [====] - 2s 4ms/step - loss: 0.25 - val_loss: 0.2": the last state of a progress line of
// Keras (keras/utils/progbar or generic_utils: Progbar), all steps done.
std::optional<Row> ReadKerasRow(std::string_view line);
// "Epoch 3/10" alone on its line: 3.
std::optional<int64_t> ReadKerasEpoch(std::string_view line);

// "epoch 1/20  loss: 2.11  accuracy: 0.65", "Train Epoch: 1 [640/60000]  Loss: 2.3",
// "step=3 loss=0.1": a line that begins with the count of an epoch, step or iteration.
struct CountedRow {
  int64_t count = 0;
  Row row;
};
std::optional<CountedRow> ReadCountedRow(std::string_view line);
// "…, step 300, …": where a line names a step anywhere, else an epoch.
std::optional<int64_t> FindStep(std::string_view line);

// Without the escape sequences of colours and cursors.
std::string WithoutEscapes(std::string_view line);

}  // namespace stoker::metrics
