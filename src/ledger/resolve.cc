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

// The jobs of one name, newest first, counted.
struct Namesakes {
  const Summary* newest = nullptr;
  const Summary* running = nullptr;  // the newest that has not ended
  int count = 0;
  int count_running = 0;

  void Add(const Summary& job) {
    if (newest == nullptr) newest = &job;
    ++count;
    if (IsFinal(job.state)) return;
    if (running == nullptr) running = &job;
    ++count_running;
  }
};

// "k3f7 of 3 named 'train': ": which is meant, and why that one.
std::string WhichOne(const Namesakes& jobs, const Summary& meant, const std::string& name) {
  if (jobs.count == 1) return "";
  std::string note =
      meant.id + " of " + std::to_string(jobs.count) + " jobs named '" + name + "': ";
  if (jobs.running == &meant && jobs.newest != &meant) {
    return note + (jobs.count_running == 1 ? "the one that has not ended"
                                           : "the newest of " + std::to_string(jobs.count_running) +
                                                 " that have not ended");
  }
  note += "the newest";
  if (&meant == jobs.newest && jobs.running == &meant && jobs.count_running > 1) {
    return note + "; " + std::to_string(jobs.count_running - 1) + " more " +
           (jobs.count_running == 2 ? "has" : "have") + " not ended";
  }
  if (jobs.running != nullptr && jobs.running != &meant) {
    note += "; " + jobs.running->id + " has not ended";
  }
  return note;
}

// `jobs` are newest first.
std::optional<ResolvedJob> ByName(const std::vector<Summary>& jobs, const std::string& name,
                                  const Person& person, NameMeans means) {
  Namesakes mine;
  Namesakes all;
  for (const Summary& job : jobs) {
    if (job.name != name) continue;
    all.Add(job);
    if (WhoseIs(job, person) != Whose::kOther) mine.Add(job);
  }
  if (all.count == 0) return std::nullopt;
  const Namesakes& some = mine.count > 0 ? mine : all;
  const bool running = means == NameMeans::kRunning && some.running != nullptr;
  const Summary& meant = running ? *some.running : *some.newest;
  if (mine.count > 0) return ResolvedJob{meant.id, WhichOne(mine, meant, name)};
  const std::string where = meant.user == person.user && !meant.user_host.empty()
                                ? " on " + Printable(meant.user_host)
                                : "";
  return ResolvedJob{meant.id,
                     "'" + name + "' is a job of " + meant.user + where + ": " + meant.id};
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
  for (const Summary& job : jobs) {
    if (job.said && job.said->first_name == word) {
      return Status(Code::kNotFound,
                    "there is no job '" + Printable(word) + "' in " + ledger.store().url() +
                        " any more: job " + job.id + " was renamed",
                    "It is called '" + job.name + "' now");
    }
    names.push_back(job.name);
  }
  const std::string near = Nearest(word, names);
  return Status(Code::kNotFound,
                "there is no job '" + Printable(word) + "' in " + ledger.store().url(),
                near.empty() ? "'stoker ls --all' lists the jobs" : "Did you mean '" + near + "'?");
}

}  // namespace

Whose WhoseIs(const Summary& job, const Person& person) {
  if (!job.me.empty() && !person.me.empty()) {
    return job.me == person.me ? Whose::kMine : Whose::kOther;
  }
  if (job.user != person.user) return Whose::kOther;
  if (!job.host.empty() && !person.host.empty()) {
    return job.host == person.host ? Whose::kMine : Whose::kOther;
  }
  return job.me.empty() ? Whose::kUnsure : Whose::kOther;
}

Result<ResolvedJob> ResolveJob(Ledger& ledger, const std::string& word, const Person& person,
                               NameMeans means) {
  if (word != "-" && IsSafeName(word)) {
    const auto record = ledger.store().Head(paths::Record(word));
    if (record.ok()) return ResolvedJob{word, ""};
    if (!record.status().Is(Code::kNotFound))
      return record.status().WithContext("looking for " + word);
  }
  STOKER_ASSIGN(const JobList list, ListJobs(ledger));
  if (word == "-") {
    for (const Summary& job : list.jobs) {
      if (WhoseIs(job, person) != Whose::kOther) return ResolvedJob{job.id, ""};
    }
    return Status(Code::kNotFound, "you have no job in " + ledger.store().url() + " yet",
                  "'stoker run' starts one");
  }
  if (auto named = ByName(list.jobs, word, person, means)) return *named;
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
