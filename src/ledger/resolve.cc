// SPDX-License-Identifier: Apache-2.0
#include "ledger/resolve.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.h"
#include "ledger/index.h"
#include "ledger/paths.h"

namespace stoker {
namespace {

constexpr size_t kMostCandidates = 5;

// `jobs` are newest first.
std::optional<ResolvedJob> ByName(const std::vector<Summary>& jobs, const std::string& name,
                                  const std::string& user) {
  const Summary* mine = nullptr;
  const Summary* any = nullptr;
  int count = 0;
  for (const Summary& job : jobs) {
    if (job.name != name) continue;
    if (any == nullptr) any = &job;
    if (job.user != user) continue;
    if (mine == nullptr) mine = &job;
    ++count;
  }
  if (any == nullptr) return std::nullopt;
  if (mine == nullptr) {
    return ResolvedJob{any->id, "'" + name + "' is a job of " + any->user + ": " + any->id};
  }
  std::string note;
  if (count > 1) {
    note =
        std::to_string(count) + " jobs are named '" + name + "'; this is the newest, " + mine->id;
  }
  return ResolvedJob{mine->id, note};
}

// Ids that begin with `start`: the first few.
Result<std::vector<std::string>> ByPrefix(Ledger& ledger, const std::string& start) {
  STOKER_ASSIGN(const Listing page, ledger.store().List(paths::Records() + start, "",
                                                        static_cast<int>(kMostCandidates) + 1));
  std::vector<std::string> ids;
  for (const ObjectInfo& object : page.objects) {
    const std::string_view file = std::string_view(object.key).substr(paths::Records().size());
    if (EndsWith(file, ".json")) ids.emplace_back(file.substr(0, file.size() - 5));
  }
  return ids;
}

Status NotFound(Ledger& ledger, const std::string& word, const std::vector<Summary>& jobs) {
  std::vector<std::string> names;
  for (const Summary& job : jobs) names.push_back(job.name);
  const std::string near = Nearest(word, names);
  return Status(Code::kNotFound,
                "there is no job '" + Printable(word) + "' in " + ledger.store().url(),
                near.empty() ? "'stoker ls --all' lists the jobs" : "Did you mean '" + near + "'?");
}

}  // namespace

Result<ResolvedJob> ResolveJob(Ledger& ledger, const std::string& word, const std::string& user) {
  if (word != "-" && IsSafeName(word)) {
    const auto record = ledger.store().Head(paths::Record(word));
    if (record.ok()) return ResolvedJob{word, ""};
    if (!record.status().Is(Code::kNotFound))
      return record.status().WithContext("looking for " + word);
  }
  STOKER_ASSIGN(const JobList list, ListJobs(ledger));
  if (word == "-") {
    for (const Summary& job : list.jobs) {
      if (job.user == user) return ResolvedJob{job.id, ""};
    }
    return Status(Code::kNotFound, "you have no job in " + ledger.store().url() + " yet",
                  "'stoker run' starts one");
  }
  if (auto named = ByName(list.jobs, word, user)) return *named;
  if (!IsSafeName(word)) return NotFound(ledger, word, list.jobs);
  STOKER_ASSIGN(std::vector<std::string> ids, ByPrefix(ledger, word));
  if (ids.size() == 1) return ResolvedJob{ids[0], ""};
  if (ids.empty()) return NotFound(ledger, word, list.jobs);
  const bool more = ids.size() > kMostCandidates;
  ids.resize(std::min(ids.size(), kMostCandidates));
  return Status(Code::kInvalid,
                "'" + word + "' could be " + Join(ids, ", ") + (more ? " and more" : ""),
                "Write more of the id");
}

}  // namespace stoker
