// SPDX-License-Identifier: Apache-2.0
#include "ledger/collect/survey.h"

#include <utility>

#include "base/text.h"
#include "ledger/index.h"
#include "ledger/paths.h"
#include "ledger/records.h"
#include "ledger/scan.h"

namespace stoker {
namespace {

void Forget(const std::string& id, Survey* survey) {
  survey->active.erase(id);
  survey->over.erase(id);
  survey->kin.erase(id);
  survey->unreadable.erase(id);
  survey->digests.erase(id);
}

Status Take(Ledger& ledger, const std::string& id, Survey* survey) {
  const auto read = ReadJob(ledger, id);
  if (read.status().Is(Code::kNotFound)) {
    survey->records.erase(id);
    return Status::Ok();
  }
  if (!read.ok()) {
    if (read.status().transient()) return read.status();
    survey->unreadable.insert(id);
    return Status::Ok();
  }
  const Job& job = read->job;
  survey->kin[id] = KinOf(job);
  survey->digests[id] = {job.code_digest, job.binary_digest, job.image_blob};
  if (IsFinal(job.state) && job.ended) {
    survey->over[id] = *job.ended;
  } else {
    survey->active.insert(id);
  }
  return Status::Ok();
}

// What a record said when its job ended, the index still says.
void AskIndex(Ledger& ledger, const std::set<std::string>& marked, Survey* survey) {
  survey->blind = survey->unreadable;
  for (const std::string& id : survey->unreadable) survey->kin.erase(id);
  if (survey->unreadable.empty()) return;
  const auto index = ReadIndex(ledger);
  if (!index.ok()) return;
  for (const Summary& job : index->jobs) {
    if (!survey->unreadable.contains(job.id) || marked.contains(job.id)) continue;
    if (!IsFinal(job.state)) continue;
    survey->kin[job.id] = KinOf(job);
    survey->blind.erase(job.id);
  }
}

}  // namespace

Status Recheck(Ledger& ledger, const std::function<void(const std::string&)>& progress,
               Survey* survey) {
  // Before the records: what ends meanwhile still counts as active.
  STOKER_ASSIGN(const std::vector<std::string> markers, ActiveJobs(ledger));
  const std::set<std::string> marked(markers.begin(), markers.end());
  STOKER_ASSIGN(const std::vector<Listed> found,
                ListBelow(ledger.store(), paths::Records(), &survey->now));
  const std::map<std::string, Version> before = std::exchange(survey->records, {});
  std::vector<std::string> changed;
  for (const Listed& one : found) {
    if (!EndsWith(one.object.key, ".json")) continue;
    const size_t length = one.object.key.size() - paths::Records().size() - 5;
    const std::string id = one.object.key.substr(paths::Records().size(), length);
    if (!IsSafeName(id)) continue;  // no job's
    survey->records[id] = one.object.version;
    const auto known = before.find(id);
    if (known == before.end() || known->second != one.object.version) changed.push_back(id);
  }
  for (const auto& [id, version] : before) {
    if (!survey->records.contains(id)) Forget(id, survey);
  }
  for (const std::string& id : changed) {
    if (progress) progress("reading records: " + id);
    Forget(id, survey);
    STOKER_TRY(Take(ledger, id, survey));
  }
  for (const std::string& id : marked) {
    if (survey->over.erase(id) > 0) survey->active.insert(id);
  }
  AskIndex(ledger, marked, survey);
  return Status::Ok();
}

std::map<std::string, std::string> NeededOf(const Survey& survey,
                                            const std::set<std::string>& going) {
  std::map<std::string, std::string> needed = NeededBy(survey.kin, going);
  std::erase_if(needed, [&](const auto& one) { return !going.contains(one.first); });
  if (survey.blind.empty()) return needed;
  for (const std::string& id : going) needed.emplace(id, *survey.blind.begin());
  return needed;
}

bool MayGo(const Survey& survey, const std::string& id) {
  return survey.over.contains(id) || !survey.records.contains(id);
}

}  // namespace stoker
