// SPDX-License-Identifier: Apache-2.0
#include "ledger/collect.h"

#include <algorithm>
#include <set>

#include "base/deliberate_bug.h"
#include "base/text.h"
#include "ledger/index.h"
#include "ledger/paths.h"
#include "ledger/records.h"

namespace stoker {
namespace {

constexpr Duration kBlobAge = Duration::Hours(24 * 30);

bool IsOld(Duration age) { return age >= kBlobAge || BugIsOn("young-blob-collected"); }

struct OldBlob {
  std::string digest;
  int64_t size = 0;
};

Result<std::vector<OldBlob>> OldBlobs(Ledger& ledger) {
  std::vector<OldBlob> old;
  const std::string prefix = paths::Blob("");
  std::string after;
  do {
    STOKER_ASSIGN(const Listing page, ledger.store().List(prefix, after));
    for (const ObjectInfo& object : page.objects) {
      if (!IsOld(page.store_now - object.last_modified)) continue;
      old.push_back({object.key.substr(prefix.size()), object.size});
    }
    after = page.next;
  } while (!after.empty());
  return old;
}

// Whoever submits writes a blob of that age again before naming it: it may have become young since
// the listing, and is then wanted by a record that was not there when the records were read.
Result<bool> StillOld(Ledger& ledger, const std::string& key) {
  STOKER_ASSIGN(const Listing page, ledger.store().List(key, "", 1));
  if (page.objects.empty() || page.objects[0].key != key) return false;
  return IsOld(page.store_now - page.objects[0].last_modified);
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

Status DeleteAll(Ledger& ledger, const std::string& prefix) {
  std::vector<std::string> keys;
  STOKER_TRY(ListAll(ledger.store(), prefix, [&](const ObjectInfo& object) {
    keys.push_back(object.key);
    return Status::Ok();
  }));
  for (const std::string& key : keys) STOKER_TRY(ledger.store().Delete(key));
  return Status::Ok();
}

Status RemoveJob(Ledger& ledger, const std::string& id) {
  STOKER_TRY(DeleteAll(ledger, paths::Job(id)));
  STOKER_TRY(DeleteAll(ledger, paths::Reports(id)));
  return ledger.store().Delete(paths::Record(id));
}

// Jobs whose newest checkpoint a retry may still begin from are kept until that one is gone too.
struct Records {
  std::set<std::string> digests;
  std::vector<std::string> removable;
  bool all_read = true;
};

Result<Records> ReadRecords(Ledger& ledger, const CollectRequest& request) {
  Records records;
  std::set<std::string> needed;
  STOKER_ASSIGN(const std::vector<std::string> active, ActiveJobs(ledger));
  STOKER_ASSIGN(const std::vector<std::string> ids, AllRecords(ledger));
  for (const std::string& id : ids) {
    if (request.progress) request.progress("reading records: " + id);
    const auto read = ReadJob(ledger, id);
    if (read.status().Is(Code::kNotFound)) continue;
    if (!read.ok()) {
      if (read.status().transient()) return read.status();
      records.all_read = false;
      continue;
    }
    const Job& job = read->job;
    const bool is_active = std::find(active.begin(), active.end(), id) != active.end();
    const bool old = request.jobs_older_than && IsFinal(job.state) && job.ended && !is_active &&
                     read->store_now - *job.ended > *request.jobs_older_than;
    if (old) {
      records.removable.push_back(id);
      continue;
    }
    records.digests.insert(job.code_digest);
    records.digests.insert(job.binary_digest);
    if (!IsFinal(job.state)) needed.insert(job.retry_of);
  }
  std::erase_if(records.removable, [&](const std::string& id) { return needed.contains(id); });
  return records;
}

}  // namespace

Result<Collected> CollectGarbage(Ledger& ledger, const CollectRequest& request) {
  Collected collected;
  STOKER_ASSIGN(const std::vector<OldBlob> old, OldBlobs(ledger));  // before the records: see above
  STOKER_ASSIGN(const Records records, ReadRecords(ledger, request));
  for (const std::string& id : records.removable) {
    if (request.progress) request.progress("removing job " + id);
    if (!request.dry_run) STOKER_TRY(RemoveJob(ledger, id));
    collected.jobs.push_back(id);
  }
  if (!request.dry_run && !collected.jobs.empty()) STOKER_TRY(RebuildIndex(ledger));
  for (const OldBlob& blob : old) {
    if (!records.all_read || records.digests.contains(blob.digest)) continue;
    const std::string key = paths::Blob(blob.digest);
    STOKER_ASSIGN(const bool still, StillOld(ledger, key));
    if (!still) continue;
    if (!request.dry_run) STOKER_TRY(ledger.store().Delete(key));
    ++collected.blobs;
    collected.blob_bytes += blob.size;
  }
  return collected;
}

}  // namespace stoker
