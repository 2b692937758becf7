// SPDX-License-Identifier: Apache-2.0
// One job on one line: what `ls` shows, small enough that ten thousand are read in an instant.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "job/job.h"
#include "metrics/metric_totals.h"

namespace stoker {

// A series of rank 0; `min` and `max` are NaN where no value is finite.
struct SummaryMetric {
  std::string name;
  double last = 0;
  int64_t last_step = 0;
  double min = 0;
  double max = 0;
  // As they are written: a NaN is itself.
  bool operator==(const SummaryMetric& other) const;
};

// What people say of a job (ledger/segments/labels.h), which no line of the index has.
struct SaidOfJob {
  std::vector<std::string> tags;
  std::string note;
  std::string first_name;  // that of its record, where it was renamed; else ""
};

// Plain data, a function of the record alone, but for `metrics`, `said` and `doing`.
struct Summary {
  std::string id;
  int64_t rev = 0;
  std::string name;
  std::string user;
  JobState state = JobState::kPending;
  int num_nodes = 1;
  int attempts = 0;      // the number of the newest that there was a need for
  std::string provider;  // where the newest attempt that has begun was asked for: "local"
  // Of the same, where machines are lent: the whole place ("ec2/us-east-1a"), the type,
  // and the place's own id of node 0's machine (at Google a number). "" also in what an older
  // stoker wrote.
  std::string place, type, instance;
  WallTime created;
  std::optional<WallTime> started;  // when the program first ran on all nodes
  std::optional<WallTime> ended;
  int64_t run_ms = 0;  // program time, over all attempts
  // Of the result, else of the newest attempt that ended; none beside one that runs.
  EndReason reason = EndReason::kNone;
  int exit_code = 0;
  int signal = 0;
  bool out_of_memory = false;
  std::string newest_checkpoint;
  std::string retry_of;
  std::string host;  // Job::host; "" also in what an older stoker wrote
  // Of a job that has ended: outputs that never came, and what was not kept; "" = nothing to say.
  std::string remark;
  int64_t unkept = 0;                  // files that it left, and that are in no store
  std::vector<SummaryMetric> metrics;  // by name, at most kSummaryMetrics; SummaryOf has none
  // What decided where a rule or a limit ended it: "loss is not finite: nan at step 40"; else "".
  std::string why;
  std::string command;  // Job::command; "" also in what an older stoker wrote
  // Null: nothing. What SummaryOf and DecodeSummary give has none.
  std::shared_ptr<const SaidOfJob> said;
  std::string me;  // Job::me and Job::user_host; "" also in what an older stoker wrote
  std::string user_host;
  std::string doing;  // NodeReport::doing, from whoever has looked; in no line
  bool operator==(const Summary&) const = default;
};

const std::vector<std::string>& TagsOf(const Summary& job);
const std::string& NoteOf(const Summary& job);

// So many series of a job are in the index: those with the shortest names.
inline constexpr size_t kSummaryMetrics = 24;

Summary SummaryOf(const Job& job);
// The series of a job as its line has them: at most kSummaryMetrics.
std::vector<SummaryMetric> SummaryMetricsOf(const MetricTotals& totals);

// A JSON array without line end. Text loses control characters and all beyond 200 bytes.
std::string EncodeSummary(const Summary& summary);
// nullopt when `line` is none. Entries after the known ones are for newer versions and are ignored.
std::optional<Summary> DecodeSummary(std::string_view line);

// A segment of the index: lines, and a last one that says how many and their digest.
std::string EncodeSegment(const std::vector<Summary>& summaries);
// Appends to `out`. kCorrupt: damaged; appended are the lines that can be read when the digest is
// right and only lines are wrong, else none. kTooNew: from a newer stoker.
Status DecodeSegment(const std::string& key, std::string_view text, std::vector<Summary>* out);

}  // namespace stoker
