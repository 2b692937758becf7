// SPDX-License-Identifier: Apache-2.0
#include "ledger/reports.h"

#include <algorithm>
#include <set>

#include "job/encoding.h"
#include "ledger/paths.h"

namespace stoker {

Status WriteReport(Ledger& ledger, const NodeReport& report) {
  const std::string key = paths::Report(report.job, report.attempt, report.rank);
  const auto put = ledger.store().Put(key, EncodeReport(report));
  return put.ok() ? Status::Ok() : put.status().WithContext("writing " + key);
}

Result<NodeReport> ReadReport(Ledger& ledger, const std::string& job, int attempt, int rank) {
  const std::string key = paths::Report(job, attempt, rank);
  auto object = ledger.store().Get(key);
  if (!object.ok()) return object.status();
  return DecodeReport(key, object->data);
}

Result<std::vector<ReportRead>> ReportReader::Read(const std::string& job, std::string* trouble) {
  STOKER_ASSIGN(const std::vector<Listed> listed, ListBelow(ledger_.store(), paths::Reports(job)));
  return Read(job, listed, trouble);
}

Result<std::vector<ReportRead>> ReportReader::Read(const std::string& job,
                                                   const std::vector<Listed>& listed,
                                                   std::string* trouble) {
  std::vector<ReportRead> reports;
  std::set<std::string> seen;
  std::map<std::string, Cached>& cache = cache_[job];
  for (const auto& [object, now] : listed) {
    seen.insert(object.key);
    Cached& cached = cache[object.key];
    if (cached.version.empty() || cached.version != object.version) {
      auto read = ledger_.store().Get(object.key);
      if (read.status().Is(Code::kNotFound)) continue;
      if (!read.ok()) return read.status().WithContext("reading " + object.key);
      auto report = DecodeReport(object.key, read->data);
      if (!report.ok()) {
        if (trouble != nullptr) *trouble = report.status().ToString();
        cache.erase(object.key);
        continue;
      }
      cached = {read->info.version, std::move(*report)};
    }
    const Duration age = now - object.last_modified;
    reports.push_back({cached.report, std::max(Duration{}, age)});
  }
  std::erase_if(cache, [&](const auto& entry) { return !seen.contains(entry.first); });
  return reports;
}

void ReportReader::KeepOnly(const std::set<std::string>& jobs) {
  std::erase_if(cache_, [&](const auto& entry) { return !jobs.contains(entry.first); });
}

}  // namespace stoker
