// SPDX-License-Identifier: Apache-2.0
#include "ledger/records.h"

#include "base/deliberate_bug.h"
#include "base/digest.h"
#include "base/text.h"
#include "job/encoding.h"
#include "ledger/paths.h"
#include "ledger/segments/read_again.h"

namespace stoker {
namespace {

constexpr int kMostConflicts = 200;
// What a submit left that died is collected after a day: one that was held up for long must not
// come back to write a record whose job file is gone.
constexpr Duration kLongestCreation = Duration::Hours(12);

Status CheckId(const std::string& id) {
  if (IsSafeName(id)) return Status::Ok();
  return Status(Code::kInvalid, "not a job id: '" + Printable(id) + "'");
}

// After a write that was not answered, or answered with a conflict that our own lost answer may
// have caused: what is there says whether it took effect.
Result<JobRead> SettleUpdate(Ledger& ledger, const Job& proposed, const Status& failure) {
  auto read = ReadJob(ledger, proposed.id);
  if (!read.ok()) return failure.transient() ? failure : read.status();
  if (read->job.writer == proposed.writer) return read;
  return Status(Code::kConflict, "job " + proposed.id + " was changed by somebody else");
}

}  // namespace

Result<JobRead> CreateJob(Ledger& ledger, Job job, const std::string& spec_text) {
  STOKER_TRY(CheckId(job.id));
  ObjectStore& store = ledger.store();
  const WallTime began = ledger.clock().Wall();
  job.rev = 1;
  job.writer = ledger.Nonce();
  const auto spec = store.Put(paths::Spec(job.id), spec_text, Condition::Absent());
  if (!spec.ok()) return spec.status().WithContext("writing the spec of job " + job.id);
  const auto active = store.Put(paths::Active(job.id), "");
  if (!active.ok() && !BugIsOn("unmarked-job"))
    return active.status().WithContext("marking job " + job.id + " active");
  if (ledger.clock().Wall() - began > kLongestCreation) {
    return Status(Code::kInvalid, "submitting job " + job.id + " was held up for half a day",
                  "Submit it again");
  }
  const auto put = store.Put(paths::Record(job.id), EncodeJob(job), Condition::Absent());
  if (!put.ok()) {
    if (!put.status().transient() && !put.status().Is(Code::kExists)) {
      return put.status().WithContext("writing the record of job " + job.id);
    }
    auto read = ReadJob(ledger, job.id);
    if (!read.ok()) return put.status();
    if (read->job.writer == job.writer) return read;
    return Status(Code::kExists, "job id " + job.id + " is taken");
  }
  JobRead created{std::move(job), *put, ledger.clock().Wall()};
  return created;
}

Result<JobRead> ReadJob(Ledger& ledger, const std::string& id) {
  return ReadJob(ledger, id, JobRead{});
}

Result<JobRead> ReadJob(Ledger& ledger, const std::string& id, const JobRead& known) {
  STOKER_TRY(CheckId(id));
  const std::string key = paths::Record(id);
  auto read = GetJudged(ledger.store(), key, [&](const Object& object) -> Result<JobRead> {
    const bool stale = BugIsOn("stale-record") && known.job.id == id;
    if (stale || (known.job.id == id && known.version == object.info.version)) {
      return JobRead{known.job, object.info.version, object.store_now};
    }
    STOKER_ASSIGN(Job job, DecodeJob(key, object.data));
    if (job.id == id) return JobRead{std::move(job), object.info.version, object.store_now};
    return Status(Code::kCorrupt, key + ": the record says it is job '" + Printable(job.id) + "'");
  });
  if (read.ok() || MayBeMomentary(read.status())) return read;
  if (read.status().Is(Code::kNotFound)) {
    return Status(Code::kNotFound, "there is no job " + id + " in " + ledger.store().url(),
                  "'stoker ls --all' lists the jobs");
  }
  return read.status().WithContext("reading job " + id);
}

Result<std::string> ReadSpec(Ledger& ledger, const Job& job) {
  STOKER_TRY(CheckId(job.id));
  const std::string key = paths::Spec(job.id);
  auto text = GetJudged(ledger.store(), key, [&](const Object& object) -> Result<std::string> {
    const std::string found = Sha256Hex(object.data);
    if (job.spec_digest.empty() || found == job.spec_digest) return object.data;
    return Status(Code::kCorrupt,
                  ledger.store().url() + "/" + key + ": is not what was submitted: changed " +
                      FormatRfc3339(object.info.last_modified) + ", its SHA-256 is " +
                      found.substr(0, 12) + "… instead of " + job.spec_digest.substr(0, 12) + "…",
                  "Put the submitted file back from a copy. To run what it says now instead: "
                  "'stoker cancel " +
                      job.id + "' unless it has ended, then 'stoker run' with a copy of that file");
  });
  return text.ok() ? text : text.status().WithContext("the spec of job " + job.id);
}

Result<JobRead> UpdateJob(Ledger& ledger, const JobRead& read, Job changed) {
  changed.rev = read.job.rev + 1;
  changed.writer = ledger.Nonce();
  const std::string text = EncodeJob(changed);
  // What nobody could read again must not be written over what can be read.
  const auto readable = DecodeJob(paths::Record(changed.id), text);
  if (!readable.ok()) {
    return Status(Code::kInternal,
                  "the record of job " + changed.id +
                      " would become one that cannot be read: " + readable.status().message());
  }
  const auto put = ledger.store().Put(
      paths::Record(changed.id), text,
      BugIsOn("blind-write") ? Condition::None() : Condition::Match(read.version));
  if (put.ok()) return JobRead{std::move(changed), *put, read.store_now};
  if (put.status().transient() || put.status().Is(Code::kConflict)) {
    return SettleUpdate(ledger, changed, put.status());
  }
  return put.status().WithContext("writing the record of job " + changed.id);
}

Result<JobRead> MutateJob(Ledger& ledger, const std::string& id,
                          const std::function<Result<bool>(Job&)>& change) {
  Status last;
  Job first;
  for (int tries = 0; tries < kMostConflicts; ++tries) {
    STOKER_ASSIGN(JobRead read, ReadJob(ledger, id));
    Job job = read.job;
    if (BugIsOn("stale-retry")) job = tries == 0 ? first = job : first;
    STOKER_ASSIGN(const bool write, change(job));
    if (!write) return read;
    auto updated = UpdateJob(ledger, read, std::move(job));
    if (updated.ok() || !updated.status().Is(Code::kConflict)) return updated;
    last = updated.status();
  }
  return last;
}

Result<JobRead> CancelInRecord(Ledger& ledger, const std::string& id, const std::string& by) {
  STOKER_ASSIGN(const JobRead asked, ReadJob(ledger, id));
  return MutateJob(ledger, id, [&](Job& record) -> Result<bool> {
    if (IsFinal(record.state) || record.cancel) return false;
    record.cancel = CancelRequest{asked.store_now, by};
    return true;
  });
}

Result<JobRead> EndKeptInRecord(Ledger& ledger, const std::string& id, const std::string& by) {
  STOKER_ASSIGN(const JobRead asked, ReadJob(ledger, id));
  return MutateJob(ledger, id, [&](Job& record) -> Result<bool> {
    bool any = false;
    for (Launch& launch : record.launches) {
      if (!IsKept(launch, asked.store_now)) continue;
      launch.kept_until = asked.store_now;
      launch.close_why += "; its time was ended by " + by;
      any = true;
    }
    return any;
  });
}

Result<std::vector<std::string>> ActiveJobs(Ledger& ledger) {
  std::vector<std::string> ids;
  const std::string prefix = paths::Active("");
  STOKER_TRY(ListAll(ledger.store(), prefix, [&](const ObjectInfo& object) {
    const std::string id = object.key.substr(prefix.size());
    if (IsSafeName(id)) ids.push_back(id);
    return Status::Ok();
  }));
  return ids;
}

Status RemoveActive(Ledger& ledger, const std::string& id) {
  STOKER_TRY(CheckId(id));
  return ledger.store().Delete(paths::Active(id));
}

}  // namespace stoker
