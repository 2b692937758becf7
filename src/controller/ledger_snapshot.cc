// SPDX-License-Identifier: Apache-2.0
#include "controller/ledger_snapshot.h"

#include <algorithm>
#include <utility>

#include "ledger/paths.h"

namespace stoker {
namespace {

// From so many jobs on, asking for each of them takes minutes, and lists of everything are worth
// it. With fewer, what a pass costs does not depend on how many jobs have ended, whose records and
// reports lie between.
constexpr size_t kManyJobs = 500;
// A list costs about as much as a dozen gets.
constexpr size_t kWorthRecords = 16;
// A page of a thousand takes longer than a list of one job's reports.
constexpr size_t kWorthReports = 8;

// What keys of each job begin with, in the keys' order: not that of the jobs, as "a-b/" < "a/".
std::vector<std::pair<std::string, std::string>> Prefixes(const std::vector<std::string>& jobs,
                                                          std::string (*prefix)(const std::string&),
                                                          std::vector<std::string>* prefixes) {
  std::vector<std::pair<std::string, std::string>> sorted;
  sorted.reserve(jobs.size());
  for (const std::string& job : jobs) sorted.emplace_back(prefix(job), job);
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [key, job] : sorted) prefixes->push_back(key);
  return sorted;
}

std::string RecordPrefix(const std::string& job) { return paths::Records() + job + "."; }

}  // namespace

LedgerSnapshot::LedgerSnapshot(Ledger& ledger) : ledger_(ledger), taken_(ledger.clock().Mono()) {}

Result<LedgerSnapshot> LedgerSnapshot::Take(Ledger& ledger, const std::vector<std::string>& jobs) {
  LedgerSnapshot look(ledger);
  const bool many = jobs.size() >= kManyJobs;
  if (many) STOKER_TRY(look.ListRecords(jobs));
  STOKER_TRY(look.ListReports(jobs, many));
  return look;
}

Status LedgerSnapshot::ListRecords(const std::vector<std::string>& jobs) {
  std::vector<std::string> prefixes;
  const auto sorted = Prefixes(jobs, RecordPrefix, &prefixes);
  const auto keep = [&](size_t index, Listed found) {
    const std::string& job = sorted[index].second;
    if (found.object.key == paths::Record(job)) records_[job] = std::move(found);
  };
  // Those that it leaves out are got one by one.
  return ListWhileDense(ledger_.store(), paths::Records(), prefixes, kWorthRecords, keep).status();
}

Status LedgerSnapshot::ListReports(const std::vector<std::string>& jobs, bool many) {
  std::vector<std::string> prefixes;
  const auto sorted = Prefixes(jobs, paths::Reports, &prefixes);
  const auto keep = [&](size_t index, Listed found) {
    reports_[sorted[index].second].push_back(std::move(found));
  };
  size_t done = 0;
  if (many) {
    STOKER_ASSIGN(
        done, ListWhileDense(ledger_.store(), paths::AllReports(), prefixes, kWorthReports, keep));
  }
  for (size_t index = done; index < sorted.size(); ++index) {
    STOKER_ASSIGN(reports_[sorted[index].second], ListBelow(ledger_.store(), prefixes[index]));
  }
  return Status::Ok();
}

const Listed* LedgerSnapshot::RecordOf(const std::string& job) const {
  const auto found = records_.find(job);
  return found == records_.end() ? nullptr : &found->second;
}

const std::vector<Listed>& LedgerSnapshot::ReportsOf(const std::string& job) const {
  static const std::vector<Listed> none;
  const auto found = reports_.find(job);
  return found == reports_.end() ? none : found->second;
}

Result<InstancesSeen> LedgerSnapshot::MachinesOf(const std::string& provider_name,
                                                 Provider& provider, const std::string& job) {
  auto known = machines_.find(provider_name);
  if (known == machines_.end()) {
    auto all = provider.Describe(ledger_.id(), "");
    Result<ByJob> by_job = ByJob();
    if (!all.ok()) {
      by_job = all.status();
    } else {
      for (InstanceSeen& instance : *all) by_job->of[instance.job].push_back(std::move(instance));
      by_job->unheard = std::move(all->unheard);
    }
    known = machines_.emplace(provider_name, std::move(by_job)).first;
  }
  if (!known->second.ok()) return known->second.status();
  const auto found = known->second->of.find(job);
  InstancesSeen of_job = found == known->second->of.end() ? InstancesSeen() : found->second;
  of_job.unheard = known->second->unheard;
  return of_job;
}

}  // namespace stoker
