// SPDX-License-Identifier: Apache-2.0
// What can be said of a job from its record and its nodes' reports: one source for the terminal
// (cli/story.h) and for --json. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "job/job.h"
#include "ledger/segments/labels.h"
#include "reconcile/reconcile.h"
#include "spec/job_spec.h"
#include "view/usage_digest.h"

namespace stoker {

// All that a story is told from.
struct StoryInput {
  const Job& job;
  const JobSpec* spec = nullptr;  // null when it could not be read
  const std::vector<ReportSeen>& reports;
  WallTime now;                    // by the store's clock
  std::vector<std::string> tiers;  // who would recover it; see RecoveryTiers
  std::vector<UsageDigest> usage;  // of the nodes of which it is known; see ReadUsage
  Labels said = {};                // what people say of it
};

// The job's record and reports as they stand, and what follows from them. Times in UTC.
nlohmann::json StoryJson(const StoryInput& input);

// "UserError, exit code 3 on node 0", "Completed".
std::string EndingText(const Ending& ending);
// Of the machine of a launch, in millionths an hour, as it was when the job was submitted; unset:
// it is not known.
std::optional<int64_t> PriceOf(const Job& job, const Launch& launch);
// How the job ended, in these words; "" while it has not.
std::string ReasonText(const Job& job);
// Attempts in which the program may have run (not those that were opened and never needed).
int AttemptsThatRan(const Job& job);
// Program time of one attempt, in ms; of all of them.
int64_t RunMs(const Attempt& attempt, const std::vector<ReportSeen>& reports, WallTime now);
Duration RunTime(const Job& job, const std::vector<ReportSeen>& reports, WallTime now);
// Since when the programs of an attempt have ended on all its nodes while one still saves what they
// left; nullopt: they have not, or it is the moment that this always takes.
std::optional<Duration> SavingFor(const Attempt& attempt, const std::vector<ReportSeen>& reports,
                                  WallTime now);
// "saving what its program left, for 40s".
std::string SavingText(Duration since);
// What the lowest of the nodes that do something long does besides running the program:
// "installing packages"; "" = none does. Of an attempt; of the first that goes on and has some.
std::string Doing(const Attempt& attempt, const std::vector<ReportSeen>& reports);
std::string Doing(const Job& job, const std::vector<ReportSeen>& reports);
// What a node's report calls it, of an attempt and a launch as the record has them: one that is not
// there any more has said nothing of its end.
std::string PhaseText(const NodeReport& report, bool over);
// By name; "" when there is none.
std::string NewestCheckpoint(const Job& job, const std::vector<ReportSeen>& reports);
// What nodes had trouble with to their end: what was not kept, first of all. Bytes of others.
std::vector<std::string> TroublesAtTheEnd(const std::vector<ReportSeen>& reports);
// "launch 3 is queued at slurm: Priority": machines that are accepted, and wait for their turn.
std::vector<std::string> Queued(const Job& job, const std::vector<MachineSeen>& machines);
// The exit code that `run` and `wait` end with: not 0 where files are in no store (`unkept`).
int ExitCodeOf(const Job& job);
// Of a job that has ended so.
int ExitCodeOf(JobState state, EndReason reason, int exit_code, int signal, int64_t unkept);
// "Succeeded"; "Succeeded, 2 files not kept".
std::string StateText(JobState state, int64_t unkept);
// Of the attempt that counts.
int64_t Unkept(const Job& job);
// "2 files, which lie in /… until 'stoker gc' finds them 30 days old"; `files` > 0.
std::string UnkeptText(int64_t files, const std::string& in);
// "the cause may be checkpoint 1-3, …": of an attempt after which its checkpoint is tried no more;
// "" of any other.
std::string SteppedOver(const Job& job, const Attempt& attempt);

}  // namespace stoker
