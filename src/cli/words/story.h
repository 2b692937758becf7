// SPDX-License-Identifier: Apache-2.0
// A job told to people, in local time. What is told is of view/.
#pragma once

#include <string>
#include <vector>

#include "view/facts.h"

namespace stoker::cli {

// What the reader of a summary has seen already.
struct AlreadySaid {
  bool why = false;     // the reason for the job's end, in its own words
  bool output = false;  // all that the program printed
};

// The whole story, attempt by attempt, for a terminal.
std::string TellStory(const StoryInput& input);
// A few lines: what became of it, how long, what it cost in attempts; printed when a job ends.
std::string TellSummary(const Job& job, const std::vector<ReportSeen>& reports, WallTime now,
                        const AlreadySaid& said_before = {});
// "2m ago".
std::string Ago(WallTime then, WallTime now);

// "its 2 machines are kept until 18:03 …": of a job that failed (keep_failed); "" = none is.
std::string KeptMachines(const Job& job, WallTime now);

}  // namespace stoker::cli
