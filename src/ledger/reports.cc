// SPDX-License-Identifier: Apache-2.0
#include "ledger/reports.h"

#include <algorithm>
#include <set>

#include "job/encoding.h"
#include "ledger/paths.h"
#include "ledger/segments/read_again.h"

namespace stoker {

Status WriteReport(Ledger& ledger, const NodeReport& report) {
  const std::string key = paths::Report(report.job, report.attempt, report.rank);
  const auto put = ledger.store().Put(key, EncodeReport(report));
  return put.ok() ? Status::Ok() : put.status().WithContext("writing " + key);
}

Result<NodeReport> ReadReport(Ledger& ledger, const std::string& job, int attempt, int rank) {
  const std::string key = paths::Report(job, attempt, rank);
  return GetJudged(ledger.store(), key,
                   [&](const Object& object) { return DecodeReport(key, object.data); });
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
  for (const Listed& one : listed) {
    const ObjectInfo& object = one.object;
    seen.insert(object.key);
    Cached& cached = cache[object.key];
    if (cached.version.empty() || cached.version != object.version) {
      const std::string& key = object.key;
      auto read = GetJudged(ledger_.store(), key, [&](const Object& there) -> Result<Cached> {
        STOKER_ASSIGN(NodeReport report, DecodeReport(key, there.data));
        return Cached{there.info.version, std::move(report)};
      });
      if (read.status().Is(Code::kNotFound)) continue;
      if (MayBeMomentary(read.status())) {
        if (trouble != nullptr) *trouble = read.status().ToString();
        cache.erase(key);
        continue;
      }
      if (!read.ok()) return read.status().WithContext("reading " + key);
      cached = std::move(*read);
    }
    reports.push_back({cached.report, object.last_modified});
  }
  std::erase_if(cache, [&](const auto& entry) { return !seen.contains(entry.first); });
  return reports;
}

void ReportReader::KeepOnly(const std::set<std::string>& jobs) {
  std::erase_if(cache_, [&](const auto& entry) { return !jobs.contains(entry.first); });
}

}  // namespace stoker
