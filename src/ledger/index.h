// SPDX-License-Identifier: Apache-2.0
// The index: summaries of the jobs that ended, so that `ls` reads a few objects instead of every
// record. A cache: what is lost or damaged is made again from the records. Segments are immutable
// and may overlap; of several lines for one job the one with the highest revision counts.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "ledger/ledger.h"
#include "ledger/segments/labels.h"
#include "ledger/summary.h"

namespace stoker {

// A job that is known, but whose record cannot be read: damaged, or of a newer stoker.
struct UnreadableJob {
  std::string id;
  Status why;
};

// Ordered by creation, newest first; one entry a job.
struct JobList {
  std::vector<Summary> jobs;
  std::vector<UnreadableJob> unreadable;  // those of them that have no line in `jobs`
  std::vector<std::string> warnings;      // for people: what was damaged, skipped or made again
};

// All are thread-safe, and safe in many processes at once.

// Puts the summary of an ended job into the index; call it before RemoveActive. Now and then it
// also merges small segments. Again is harmless.
Status AppendSummary(Ledger& ledger, const Job& job);

// The jobs in the index. When segments are damaged, or there are none although ended jobs have
// records, it is made again from the records first (as a warning says).
Result<JobList> ReadIndex(Ledger& ledger);

// Where what people say of this ledger's jobs lies.
LabelPlace Labelled(Ledger& ledger);
// What is said of one job.
Result<Labels> SaidOf(Ledger& ledger, const std::string& id);
// Puts it over what a line of the index, or a record, has.
void AddLabels(const Labels& said, Summary* job);

// What `ls` shows: the index, the records of the jobs that are active, and what people say of them
// (ledger/segments/labels.h). A record that cannot be
// read is no failure: its job is in `unreadable`, or the index has a line for it and a warning says
// so.
Result<JobList> ListJobs(Ledger& ledger);

// Marks the jobs of records that have no marker in active/ and no line in the index: somebody has
// deleted their marker, and nobody would look at them, or list them, any more. Returns their ids.
// Costs a list of all records, active jobs and segments: one request for each thousand of them.
// One that another process is just submitting is marked by it before its record is there; one that
// ends meanwhile is in the index before its marker goes. `list` gets what ListJobs gave on the way,
// without them. `dry_run`: they are only named.
Result<std::vector<std::string>> FindHidden(Ledger& ledger, JobList* list, bool dry_run = false);

// What is said of a job's metrics; empty where there are none.
Result<MetricTotals> ReadMetricTotals(ObjectStore& store, const std::string& job);

// Reads every record and writes the index anew; damaged segments go. For ReadIndex and `doctor`.
Status RebuildIndex(Ledger& ledger);

// Writes small segments together into one when there are at least `at_least` of them.
Status MergeIndex(Ledger& ledger, int at_least = 32);

}  // namespace stoker
