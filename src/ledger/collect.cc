// SPDX-License-Identifier: Apache-2.0
#include "ledger/collect.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/deliberate_bug.h"
#include "base/text.h"
#include "ledger/blobs.h"
#include "ledger/index.h"
#include "ledger/paths.h"
#include "ledger/records.h"

namespace stoker {
namespace {

constexpr Duration kBlobAge = kBlobPeriod + kBlobPeriod;
// Whoever saw only the old copy has long opened it.
constexpr Duration kSuperseded = Duration::Hours(1);

bool IsOld(Duration age) { return age >= kBlobAge || BugIsOn("young-blob-collected"); }

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
    if (IsOld(copy->age)) {
      blobs.old.push_back(std::move(*copy));
    } else {
      const std::string sha256 = copy->sha256;
      blobs.young.insert_or_assign(sha256, std::move(*copy));  // they come in order
    }
  }
  return blobs;
}

Result<std::vector<std::string>> AllRecords(Ledger& ledger) {
  std::vector<std::string> ids;
  const std::string prefix = "records/";
  STOKER_TRY(ListAll(ledger.store(), prefix, [&](const ObjectInfo& object) {
    if (EndsWith(object.key, ".json")) {
      ids.push_back(object.key.substr(prefix.size(), object.key.size() - prefix.size() - 5));
    }
    return Status::Ok();
  }));
  return ids;
}

// Returns the bytes of what was there.
Result<int64_t> DeleteAll(Ledger& ledger, const std::string& prefix, bool dry_run) {
  std::vector<std::string> keys;
  int64_t bytes = 0;
  STOKER_TRY(ListAll(ledger.store(), prefix, [&](const ObjectInfo& object) {
    keys.push_back(object.key);
    bytes += object.size;
    return Status::Ok();
  }));
  if (dry_run) return bytes;
  for (const std::string& key : keys) STOKER_TRY(ledger.store().Delete(key));
  return bytes;
}

Result<int64_t> RemoveJob(Ledger& ledger, const std::string& id, bool dry_run) {
  STOKER_ASSIGN(const int64_t bytes, DeleteAll(ledger, paths::Job(id), dry_run));
  if (dry_run) return bytes;
  STOKER_TRY(DeleteAll(ledger, paths::Reports(id), false).status());
  STOKER_TRY(ledger.store().Delete(paths::Record(id)));
  return bytes;
}

// What a job that is kept may still begin from: all that it goes on from, as far as the first that
// has saved. One that has saved itself, or is done, needs none of them any more: its own
// checkpoints are what a retry of it begins from.
void AddNeeded(const std::map<std::string, Job>& all, const Job& job,
               std::map<std::string, std::string>* needed) {
  const auto saved = [](const Job& one) {
    return std::any_of(one.attempts.begin(), one.attempts.end(),
                       [](const Attempt& a) { return !a.newest_checkpoint.empty(); });
  };
  if (job.state == JobState::kSucceeded || (IsFinal(job.state) && saved(job))) return;
  for (std::string next = job.retry_of; !next.empty() && needed->emplace(next, job.id).second;) {
    const auto found = all.find(next);
    if (found == all.end() || saved(found->second)) return;
    next = found->second.retry_of;
  }
}

struct Records {
  std::set<std::string> ids;
  std::set<std::string> digests;
  std::vector<std::string> removable;
  KeptJobs kept;
};

Result<Records> ReadRecords(Ledger& ledger, const CollectRequest& request) {
  Records records;
  std::map<std::string, Job> all;
  STOKER_ASSIGN(const std::vector<std::string> active, ActiveJobs(ledger));
  STOKER_ASSIGN(const std::vector<std::string> ids, AllRecords(ledger));
  records.ids.insert(ids.begin(), ids.end());
  for (const std::string& id : ids) {
    if (request.progress) request.progress("reading records: " + id);
    auto read = ReadJob(ledger, id);
    if (read.status().Is(Code::kNotFound)) continue;
    if (!read.ok()) {
      if (read.status().transient()) return read.status();
      records.kept.unreadable.push_back(id);
      continue;
    }
    const Job& job = all.emplace(id, std::move(read->job)).first->second;
    const bool is_active = std::find(active.begin(), active.end(), id) != active.end();
    if (is_active || !IsFinal(job.state) || !job.ended) {
      records.kept.active.push_back(id);
    } else if (request.jobs_older_than && read->store_now - *job.ended > *request.jobs_older_than) {
      records.removable.push_back(id);
    } else {
      records.kept.young.push_back(id);
    }
  }
  std::map<std::string, std::string> needed;
  const std::set<std::string> doomed(records.removable.begin(), records.removable.end());
  for (const auto& [id, job] : all) {
    if (!doomed.contains(id)) AddNeeded(all, job, &needed);
  }
  std::erase_if(records.removable, [&](const std::string& id) {
    if (!needed.contains(id)) return false;
    records.kept.needed[id] = needed[id];
    return true;
  });
  for (const auto& [id, job] : all) {
    if (doomed.contains(id) && !needed.contains(id)) continue;
    records.digests.insert(job.code_digest);
    records.digests.insert(job.binary_digest);
  }
  return records;
}

// Whether the index lists a job that has no record: an earlier removal could not write it anew.
bool IsStale(Ledger& ledger, const Records& records) {
  const auto index = ReadIndex(ledger);
  return index.ok() && std::any_of(index->jobs.begin(), index->jobs.end(), [&](const Summary& job) {
           return !records.ids.contains(job.id);
         });
}

// What was said of jobs that are gone; `labelled` were seen before the records were listed, so that
// none of them is a job that was only just submitted.
Status ForgetLabels(Ledger& ledger, const std::set<std::string>& labelled, const Records& records,
                    const std::vector<std::string>& removed) {
  std::set<std::string> gone(removed.begin(), removed.end());
  std::set_difference(labelled.begin(), labelled.end(), records.ids.begin(), records.ids.end(),
                      std::inserter(gone, gone.end()));
  return gone.empty() ? Status::Ok() : DropLabels(Labelled(ledger), gone, ledger.Nonce());
}

}  // namespace

Result<Collected> CollectGarbage(Ledger& ledger, const CollectRequest& request) {
  Collected collected;
  STOKER_ASSIGN(const Blobs blobs, ListBlobs(ledger));  // before the records: see the header
  STOKER_ASSIGN(const AllLabels labels, ReadLabels(Labelled(ledger)));
  std::set<std::string> labelled;
  for (const auto& [id, said] : labels.of) labelled.insert(id);
  STOKER_ASSIGN(const Records records, ReadRecords(ledger, request));
  if (request.jobs_older_than) collected.kept = records.kept;
  for (const std::string& id : records.removable) {
    if (request.progress)
      request.progress((request.dry_run ? "looking at job " : "removing job ") + id);
    STOKER_ASSIGN(const int64_t bytes, RemoveJob(ledger, id, request.dry_run));
    collected.job_bytes += bytes;
    collected.jobs.push_back(id);
  }
  for (const BlobCopy& blob : blobs.old) {
    const auto young = blobs.young.find(blob.sha256);
    const bool superseded = young != blobs.young.end() && young->second.size == blob.size &&
                            young->second.age >= kSuperseded;
    const bool named = !records.kept.unreadable.empty() || records.digests.contains(blob.sha256);
    if (named && !superseded) continue;
    if (!request.dry_run) STOKER_TRY(ledger.store().Delete(blob.key));
    ++collected.blobs;
    collected.blob_bytes += blob.size;
  }
  // Last, as these alone write: on a full disk all else has made room for them by now.
  if (!request.dry_run) {
    STOKER_TRY(ForgetLabels(ledger, labelled, records, collected.jobs)
                   .WithContext("forgetting tags and notes of jobs that are gone"));
  }
  const bool stale =
      !collected.jobs.empty() || (request.jobs_older_than && IsStale(ledger, records));
  if (stale && !request.dry_run) collected.index = RebuildIndex(ledger);
  return collected;
}

}  // namespace stoker
