// SPDX-License-Identifier: Apache-2.0
// What squeue prints: lines of our own format, of this user's jobs alone, and --json, whose fields
// have changed from version to version, and which (22.05 at least) gives the jobs of all users
// whatever it is asked for. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "port/provider.h"

namespace stoker {

struct SlurmJobSeen {
  int64_t job = 0;
  std::string name;
  // Slurm's words, the job's state first: {"RUNNING"}, {"CANCELLED", "COMPLETING"}. Before 23.02 a
  // job that is completing says that alone.
  std::vector<std::string> states;
  std::string reason;  // "Priority"; "" = none
  WallTime started;    // 0 = not yet
  WallTime ends;       // of its time limit, or when it ended; 0 = not known
  std::string nodes;   // "n[1-2]"
  std::string comment;
  bool preempted = false;
  int restarts = 0;
  int exit_code = 0;  // as wait(2) has it; 0 also where it is not told
  bool operator==(const SlurmJobSeen&) const = default;

  bool Has(std::string_view state) const;
  // Over, and nothing of it runs.
  bool Ended() const;
};

// The words behind "squeue" that give lines for ParseSqueueLines, and the environment they need.
std::vector<std::string> SqueueWords();
inline constexpr int64_t kMostSlurmJob = 4'000'000'000;
inline constexpr char kSqueueTimes[] = "SLURM_TIME_FORMAT=%s";

// kCorrupt: it is not what squeue prints.
Result<std::vector<SlurmJobSeen>> ParseSqueueJson(const std::string& text);
Result<std::vector<SlurmJobSeen>> ParseSqueueLines(const std::string& text);

// Why a job waits, for people: "the partition is down (PartitionDown)".
std::string SlurmReasonInWords(const std::string& reason);
// How it ended, or ends: "it was preempted", "its time limit was over".
std::string SlurmEndInWords(const SlurmJobSeen& seen);

// The nodes of "n[1-2],m07", in Slurm's order; at most `most` of them.
std::vector<std::string> SlurmNodes(std::string_view list, size_t most);

}  // namespace stoker
