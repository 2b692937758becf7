// SPDX-License-Identifier: Apache-2.0
// What `stoker ls` can sort by and choose from: facts of a job, its metrics, its hyperparameters.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/words/ls_columns.h"
#include "ledger/ledger.h"
#include "ledger/summary.h"
#include "view/job_row.h"

namespace stoker::cli {

// One value: as text, and as a number where it is one.
struct FieldValue {
  std::string text;
  std::optional<double> number;
  std::vector<std::string> each = {};  // of tags: which there are
};

// Reads hyperparameters from job files when they are first asked for. Not thread-safe.
class JobFields {
 public:
  // `now`: for ages. Keeps `ledger`.
  JobFields(Ledger& ledger, WallTime now) : ledger_(ledger), now_(now) {}
  // id, name, state, reason, user, host, where, command, note, tag (also tags), attempt, nodes,
  // exit_code, and age, duration, ran in seconds; else the last value of the metric of that name,
  // or min.NAME, max.NAME, last.NAME; else the hyperparameter, also as hp.NAME. nullopt: this job
  // has no such thing.
  std::optional<FieldValue> Get(const Summary& job, const std::string& name);
  // Where one of these jobs has a metric of this name, it means that in all of them: no job file is
  // read to look for a hyperparameter that is called so.
  void Mean(const std::string& name, const std::vector<Summary>& jobs);
  // Its metric alone.
  std::optional<FieldValue> Metric(const Summary& job, const std::string& name) const;
  static bool IsFact(const std::string& name);

 private:
  std::optional<FieldValue> Hyperparameter(const Summary& job, const std::string& name);
  Ledger& ledger_;
  const WallTime now_;
  std::map<std::string, std::optional<Hyperparameters>> known_;
  std::map<std::string, Hyperparameters> said_;  // by programs, of jobs where known_ had not enough
  std::set<std::string> metrics_;
};

// "lr<0.1 and state=Succeeded": terms NAME OP VALUE, all of which must hold; OP is one of = != < <=
// > >=; tag=best holds where it is one of several; else where both sides are numbers by value, else
// as text; VALUE is a word, or is in quotes.
struct WhereTerm {
  std::string name;
  std::string op;
  FieldValue value;
};
// kUsage says at which column what was expected.
Result<std::vector<WhereTerm>> ParseWhere(const std::string& text);
bool Holds(const WhereTerm& term, const std::optional<FieldValue>& value);

// Best first where `name` is a metric that is better the lower it is? Nobody knows: the lowest
// first, or with `down` the highest; what is no number after all numbers, as text; jobs that have
// none last.
void SortBy(std::vector<Summary>* jobs, const std::string& name, bool down, JobFields& fields);

}  // namespace stoker::cli
