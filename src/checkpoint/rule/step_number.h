// SPDX-License-Identifier: Apache-2.0
// The step of a save, for people: the number that its names, or the trainer's own words, give as
// one. No other digit is taken for it: a metric (val_loss=0.31), a version, a date, a rank.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stoker {

// A file of this name in a save tells its step (transformers).
inline constexpr char kTrainerState[] = "trainer_state.json";
inline constexpr int64_t kMostTrainerState = 16 << 20;  // bytes

struct StepNumber {
  // What the number counts, in the order in which it is believed: a save that has two of them
  // (epoch=12-step=3400) is of the last. kNames: a word that says nothing of what is counted is
  // all that stands before it, as in "s-21" and "model_200.pt".
  enum class Of { kNothing, kNames, kEpochs, kCheckpoints, kSteps };
  Of of = Of::kNothing;
  int64_t value = -1;
  // Whether the name says what it counts.
  bool certain() const { return of > Of::kNames; }
};

// Of a path: that which is believed most, and of two such the one further up.
StepNumber StepInPath(std::string_view path);
// Of the content of kTrainerState; -1: it has none.
int64_t StepInTrainerState(const std::string& text);

}  // namespace stoker
