// SPDX-License-Identifier: Apache-2.0
// The words of log lines: those that count, those that surely name a metric, and those that never
// do. Any case. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace stoker::metrics {

enum WordFlag : uint32_t {
  kEpochWord = 1 << 0,   // a number behind it counts epochs
  kStepWord = 1 << 1,    // … or steps
  kBatchWord = 1 << 2,   // … or batches of an epoch
  kFoldWord = 1 << 3,    // … or says which part of a run this is
  kRankWord = 1 << 4,    // … or who speaks
  kTrainWord = 1 << 5,   // what is done: training
  kHeldWord = 1 << 6,    // … or a look at held-out data
  kUnitWord = 1 << 7,    // behind a number: it is a size or a duration
  kFillerWord = 1 << 8,  // of sentences: no name holds it
  kResultWord = 1 << 9,  // what a program learns: loss, accuracy
  kWeakWord = 1 << 10,   // says more of a result: best, mean
  kLevelWord = 1 << 11,  // of loggers
  kOtherWord = 1 << 12,  // no metric: a process, a port, a time
  kLimitWord = 1 << 13,  // before a word that counts: it is a setting
};

// 0: nothing is known of it.
uint32_t FlagsOf(std::string_view word);
// Whether a name ends in what a program learns: "val_loss", "Acc@1", "macro F1".
bool NamesResult(std::string_view name);

// False: nothing of this line, which is none of several records, is a metric without patterns.
// True says little. For those who have very many lines.
bool MayHoldMetrics(std::string_view line);

}  // namespace stoker::metrics
