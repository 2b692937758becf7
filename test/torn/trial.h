// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "test/torn/verify.h"

namespace torn {

struct TrialOptions {
  WriterOptions writer;
  std::string work;  // an empty directory for everything else
  int64_t kill_at_step = 6;
  double kill_at_part = 0.5;  // of that step's bytes; > 1: in the pause after it
  bool let_end = false;       // the program ends by itself (disk full, or all steps written)
  std::string poison;         // "": nothing; "flip", "cut", "delete", "suspect": the newest one
  size_t at_once = 0;         // files held open during a copy; 0 = as many as there may be
  bool by_term = false;       // told to end (SIGTERM) instead of killed
};

struct TrialResult {
  Verdict verdict;
  int64_t finished = 0;  // steps that the program had written wholly
  int64_t commits = 0;
  bool as_left = false;  // something was newer than the newest, and is kept as it was left
  std::string error;     // the trial itself failed
  int64_t stale() const { return finished - verdict.step; }
};

// One program with one keeper, killed, restored, verified. `self` is this executable: it runs the
// program as "self --writer".
TrialResult RunTrial(const TrialOptions& options, const std::string& self);
// What "self --writer …" does.
int WriterMain(int argc, char** argv);

}  // namespace torn
