// SPDX-License-Identifier: Apache-2.0
// A job told to people, in local time, and the same facts as JSON, in UTC.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/usage_digest.h"
#include "job/job.h"
#include "reconcile/reconcile.h"
#include "spec/job_spec.h"

namespace stoker::cli {

struct StoryInput {
  const Job& job;
  const JobSpec* spec = nullptr;  // null when it could not be read
  const std::vector<ReportSeen>& reports;
  WallTime now;
  std::vector<std::string> tiers;  // who would recover it; see RecoveryTiers
  std::vector<UsageDigest> usage;  // of the nodes of which it is known; see ReadUsage
};

// What the reader of a summary has seen already.
struct Told {
  bool why = false;     // the reason for the job's end, in its own words
  bool output = false;  // all that the program printed
};

// The whole story, attempt by attempt, for a terminal.
std::string TellStory(const StoryInput& input);
// A few lines: what became of it, how long, what it cost in attempts; printed when a job ends.
std::string TellSummary(const Job& job, const std::vector<ReportSeen>& reports, WallTime now,
                        const Told& told = {});
nlohmann::json StoryJson(const StoryInput& input);

// How the job ended or stands, in a few words: "UserError, exit code 3", "Completed".
std::string ReasonText(const Job& job);
// Attempts in which the program may have run (not those that were opened and never needed).
int AttemptsThatRan(const Job& job);
// Program time over all attempts.
Duration RunTime(const Job& job, const std::vector<ReportSeen>& reports, WallTime now);
std::string NewestCheckpoint(const Job& job, const std::vector<ReportSeen>& reports);
// The exit code that `run` and `wait` end with.
int ExitCodeOf(const Job& job);
// "2m ago".
std::string Ago(WallTime then, WallTime now);

}  // namespace stoker::cli
