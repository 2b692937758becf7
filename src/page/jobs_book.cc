// SPDX-License-Identifier: Apache-2.0
#include "page/jobs_book.h"

#include "base/json.h"
#include "base/text.h"
#include "ledger/index.h"
#include "ledger/records.h"
#include "page/json_text.h"
#include "spec/parse.h"
#include "spec/text/arguments.h"
#include "view/job_row.h"

namespace stoker::page {
namespace {

using nlohmann::json;

json HyperparametersJson(Ledger& ledger, const std::string& id, const MetricTotals& totals) {
  json out = json::object();
  Job job;  // not compared with the record, which the table does not read
  job.id = id;
  const auto text = ReadSpec(ledger, job);
  const auto spec = text.ok() ? ParseStoredSpec(*text) : Result<JobSpec>(text.status());
  for (const auto& [name, value] :
       HyperparametersOf(spec.ok() ? &*spec : nullptr, totals.hyperparameters)) {
    out[name] = value;
  }
  return out;
}

}  // namespace

namespace {

std::string Said(const Summary& job) {
  return job.name + "\n" + Join(TagsOf(job), " ") + "\n" + NoteOf(job);
}

}  // namespace

json JobsBook::RowOf(const Summary& job, size_t* specs) {
  const bool over = IsFinal(job.state);
  const auto found = hyperparameters_.find(job.id);
  const bool known = found != hyperparameters_.end() && (found->second.of_ended || !over);
  const bool look = !known && *specs > 0;
  MetricTotals totals;
  if (job.started && (!over || look)) {
    auto read = ReadMetricTotals(ledger_.store(), job.id);
    if (read.ok()) totals = *std::move(read);
  }
  Summary shown = job;
  if (!over) shown.metrics = SummaryMetricsOf(totals);  // what runs has no line in the index yet
  json row = SummaryJson(shown);
  if (look) {
    --*specs;
    hyperparameters_[job.id] = {JsonText(HyperparametersJson(ledger_, job.id, totals)), over};
    row["hp"] = json::parse(hyperparameters_[job.id].text);
  } else if (found != hyperparameters_.end()) {
    row["hp"] = json::parse(found->second.text);
    for (const auto& [name, value] : totals.hyperparameters) {
      if (!row["hp"].contains(name)) row["hp"][name] = ShownArgument(name, value);
    }
  }
  return row;
}

Result<bool> JobsBook::Refresh(size_t specs) {
  std::lock_guard<std::mutex> one(refreshing_);
  STOKER_ASSIGN(const JobList list, ListJobs(ledger_));
  std::map<std::string, std::string> fresh;
  std::map<std::string, int64_t> ended;  // whose rows stay as they are, and at which revision
  std::map<std::string, std::string> said;
  std::vector<std::string> order;
  for (const Summary& job : list.jobs) {
    const auto known = rows_.find(job.id);  // only Refresh changes them
    const std::string& now = said[job.id] = Said(job);
    const bool same =
        known != rows_.end() && known->second.final_rev == job.rev && known->second.said == now;
    fresh[job.id] = same ? known->second.text : JsonText(RowOf(job, &specs));
    const auto given = hyperparameters_.find(job.id);
    const bool whole = given != hyperparameters_.end() && given->second.of_ended;
    if (IsFinal(job.state) && whole) ended[job.id] = job.rev;
    order.push_back(job.id);
  }
  for (const UnreadableJob& job : list.unreadable) {
    fresh[job.id] =
        JsonText({{"id", job.id}, {"state", nullptr}, {"unreadable", job.why.message()}});
    order.push_back(job.id);
  }
  std::lock_guard<std::mutex> lock(mutex_);
  const int64_t next = stamp_ + 1;
  bool changed = stamp_ == 0 || list.warnings != warnings_;
  warnings_ = list.warnings;
  for (size_t i = 0; i < order.size(); ++i) {
    Row& row = rows_[order[i]];
    row.order = static_cast<int64_t>(i);
    row.said = said[order[i]];
    if (const auto end = ended.find(order[i]); end != ended.end()) row.final_rev = end->second;
    if (row.text == fresh[order[i]]) continue;
    row.text = fresh[order[i]];
    row.changed = next;
    gone_.erase(order[i]);
    changed = true;
  }
  for (auto it = rows_.begin(); it != rows_.end();) {
    if (fresh.count(it->first) > 0) {
      ++it;
      continue;
    }
    gone_[it->first] = next;
    hyperparameters_.erase(it->first);
    it = rows_.erase(it);
    changed = true;
  }
  if (changed) stamp_ = next;
  return changed;
}

std::string JobsBook::Since(int64_t since) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const bool all = since <= 0 || since > stamp_;
  std::map<int64_t, const Row*> chosen;
  for (const auto& [id, row] : rows_) {
    if (all || row.changed > since) chosen[row.order] = &row;
  }
  json gone = json::array();
  for (const auto& [id, when] : gone_) {
    if (!all && when > since) gone.push_back(id);
  }
  std::string out = "{\"stamp\":" + std::to_string(stamp_) + ",\"all\":" + (all ? "1" : "0") +
                    ",\"gone\":" + gone.dump() + ",\"warnings\":" + JsonText(warnings_) +
                    ",\"rows\":[";
  bool first = true;
  for (const auto& [order, row] : chosen) {
    out += (first ? "" : ",\n") + row->text;
    first = false;
  }
  return out + "]}";
}

bool JobsBook::Has(const std::string& id) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return rows_.count(id) > 0;
}

}  // namespace stoker::page
