// SPDX-License-Identifier: Apache-2.0
#include "ledger/collect/collect.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/deliberate_bug.h"
#include "ledger/blobs.h"
#include "ledger/collect/doomed.h"
#include "ledger/collect/take_away.h"
#include "ledger/index.h"
#include "ledger/paths.h"
#include "ledger/scan.h"

namespace stoker {
namespace {

// Whoever saw only the old copy has long opened it.
constexpr Duration kSuperseded = Duration::Hours(1);

// The copies that are old, and of each content the newest one that is not.
struct Blobs {
  std::vector<BlobCopy> old;
  std::map<std::string, BlobCopy> young;
};

Result<Blobs> ListBlobs(Ledger& ledger) {
  Blobs blobs;
  STOKER_ASSIGN(const std::vector<Listed> listed, ListBelow(ledger.store(), paths::Blobs()));
  for (const Listed& found : listed) {
    auto copy = ParseBlobCopy(found);
    if (!copy) continue;  // not ours to judge
    if (copy->age >= kBlobAge || BugIsOn("young-blob-collected")) {
      blobs.old.push_back(std::move(*copy));
    } else {
      const std::string sha256 = copy->sha256;
      blobs.young.insert_or_assign(sha256, std::move(*copy));  // they come in order
    }
  }
  return blobs;
}

bool IsSuperseded(const Blobs& blobs, const BlobCopy& old) {
  const auto young = blobs.young.find(old.sha256);
  return young != blobs.young.end() && young->second.size == old.size &&
         young->second.age >= kSuperseded;
}

// Those that a younger copy replaces; the others stay in `blobs`.
Status RemoveSuperseded(Ledger& ledger, bool dry_run, Blobs* blobs, Removed* out) {
  std::vector<BlobCopy> others;
  for (BlobCopy& blob : blobs->old) {
    if (!IsSuperseded(*blobs, blob)) {
      others.push_back(std::move(blob));
      continue;
    }
    if (!dry_run) STOKER_TRY(ledger.store().Delete(blob.key));
    ++out->blobs;
    out->blob_bytes += blob.size;
  }
  blobs->old = std::move(others);
  return Status::Ok();
}

// Old enough, as far as that was asked; the others are told apart in `kept`.
std::set<std::string> OldEnough(const Survey& survey, const CollectRequest& request,
                                KeptJobs* kept) {
  std::set<std::string> old;
  if (!request.jobs_older_than) return old;
  kept->active.assign(survey.active.begin(), survey.active.end());
  kept->unreadable.assign(survey.unreadable.begin(), survey.unreadable.end());
  for (const auto& [id, ended] : survey.over) {
    if (survey.now - ended > *request.jobs_older_than) {
      old.insert(id);
    } else {
      kept->young.push_back(id);
    }
  }
  return old;
}

// What is to be doomed now.
struct Choice {
  std::vector<std::string> jobs;
  std::vector<BlobCopy> blobs;
};

Choice Choose(const Survey& survey, const DoomedRead& doomed, const Blobs& blobs,
              const CollectRequest& request, KeptJobs* kept) {
  Choice choice;
  std::set<std::string> going = OldEnough(survey, request, kept);
  const std::set<std::string> old = going;
  std::set<std::string> there;  // keys of copies that are doomed already
  for (const DoomedList& list : doomed.lists) {
    for (const std::string& id : list.jobs) {
      if (survey.over.contains(id)) going.insert(id);
    }
    there.insert(list.blobs.begin(), list.blobs.end());
  }
  const std::map<std::string, WallTime> already = GoesAt(doomed);
  const auto needed = NeededOf(survey, going);
  for (const std::string& id : old) {
    if (const auto by = needed.find(id); by != needed.end()) {
      kept->needed.insert(*by);
    } else if (!already.contains(id)) {
      choice.jobs.push_back(id);
    }
  }
  if (!survey.unreadable.empty()) return choice;
  std::set<std::string> named;
  for (const auto& [id, digests] : survey.digests) {
    if (!going.contains(id) || needed.contains(id)) named.insert(digests.begin(), digests.end());
  }
  for (const BlobCopy& blob : blobs.old) {
    if (!named.contains(blob.sha256) && !there.contains(blob.key)) choice.blobs.push_back(blob);
  }
  return choice;
}

Status DoomThem(Ledger& ledger, const CollectRequest& request, const DoomedRead& lists,
                const Choice& choice, Collected* out) {
  Doomed& doomed = out->doomed;
  for (const std::string& id : choice.jobs) {
    if (request.progress) request.progress("looking at job " + id);
    STOKER_ASSIGN(const int64_t bytes, TakeAwayJob(ledger, id, true));
    doomed.job_bytes += bytes;
  }
  std::vector<std::string> keys;
  for (const BlobCopy& blob : choice.blobs) {
    keys.push_back(blob.key);
    doomed.blob_bytes += blob.size;
  }
  doomed.jobs = choice.jobs;
  doomed.blobs = static_cast<int>(keys.size());
  if (doomed.jobs.empty() && keys.empty()) return Status::Ok();
  doomed.goes = lists.now + kDoomedFor;
  if (request.dry_run) return Status::Ok();
  if (BugIsOn("young-blob-collected")) {
    for (const std::string& key : keys) STOKER_TRY(ledger.store().Delete(key));
    return Status::Ok();
  }
  const auto written = Doom(ledger, lists.now, doomed.jobs, keys, request.by, false);
  if (written.ok()) return Status::Ok();
  doomed = Doomed();
  out->not_doomed = written.status().WithContext("writing down what is to be removed");
  return Status::Ok();
}

// Whether the index lists a job that has no record: an earlier removal could not write it anew.
bool IsStale(Ledger& ledger, const Survey& survey) {
  const auto index = ReadIndex(ledger);
  return index.ok() && std::any_of(index->jobs.begin(), index->jobs.end(), [&](const Summary& job) {
           return !survey.records.contains(job.id);
         });
}

// What was said of jobs that are gone; `labelled` were seen before the records were listed, so that
// none of them is a job that was only just submitted.
Status ForgetLabels(Ledger& ledger, const AllLabels& labelled, const Survey& survey) {
  std::set<std::string> gone;
  for (const auto& [id, said] : labelled.of) {
    if (!survey.records.contains(id)) gone.insert(id);
  }
  return gone.empty() ? Status::Ok() : DropLabels(Labelled(ledger), gone, ledger.Nonce());
}

}  // namespace

Result<Collected> CollectGarbage(Ledger& ledger, const CollectRequest& request) {
  Collected out;
  STOKER_ASSIGN(Blobs blobs, ListBlobs(ledger));  // before the records: see the header
  STOKER_ASSIGN(const AllLabels labels, ReadLabels(Labelled(ledger)));
  Survey survey;
  STOKER_TRY(Recheck(ledger, request.progress, &survey));
  STOKER_ASSIGN(out.removed, RemoveDue(ledger, request, &survey));
  out.blind.assign(survey.blind.begin(), survey.blind.end());
  STOKER_TRY(RemoveSuperseded(ledger, request.dry_run, &blobs, &out.removed));
  STOKER_ASSIGN(LeftOver left_over, TakeAwayLeftOver(ledger, survey, request.dry_run));
  out.left_over = std::move(left_over.ids);
  out.left_over_bytes = left_over.bytes;
  STOKER_ASSIGN(const DoomedRead lists, ReadDoomed(ledger));
  for (const auto& [id, goes] : GoesAt(lists)) {
    if (survey.records.contains(id)) out.waiting[id] = goes;
  }
  for (const std::string& id : out.removed.jobs) out.waiting.erase(id);  // of a dry run
  const Choice choice = Choose(survey, lists, blobs, request, &out.kept);
  STOKER_TRY(DoomThem(ledger, request, lists, choice, &out));
  if (!request.dry_run) {
    const Status forgotten = ForgetLabels(ledger, labels, survey);
    if (out.removed.index.ok()) out.removed.index = forgotten;
  }
  // Of a removal whose last write found no room.
  if (request.jobs_older_than && !request.dry_run && out.removed.jobs.empty() &&
      IsStale(ledger, survey)) {
    out.removed.index = RebuildIndex(ledger);
  }
  return out;
}

}  // namespace stoker
