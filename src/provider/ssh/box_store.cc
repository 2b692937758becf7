// SPDX-License-Identifier: Apache-2.0
#include "provider/ssh/box_store.h"

#include <memory>

#include "base/text.h"
#include "ledger/ledger.h"
#include "ledger/probe.h"
#include "store/open.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr char kHere[] = "written here";
constexpr char kThere[] = "written there";

Status Broken(const std::string& url, const std::string& what) {
  return Status(Code::kInvalid, url + " is no store for several computers: " + what,
                "Use a bucket, or a file system that is exact between computers (NFS version 4 "
                "mounted with 'actimeo=0,lookupcache=none', or a cluster file system)");
}

}  // namespace

Result<std::unique_ptr<ObjectStore>> OpenBoxStore(const std::string& url,
                                                  const std::string& ledger_id, Clock& clock) {
  auto store = OpenStore(url, {}, NoFolder::kLook);
  const auto ledger = store.ok() ? Ledger::Open(**store, clock, sys::RandomU64(), NewLedger::kNever)
                                 : Result<std::unique_ptr<Ledger>>(store.status());
  if (ledger.status().Is(Code::kNotFound)) {
    return Status(Code::kNotFound, "there is no ledger at " + url + " as seen from there",
                  "A folder must be the same on all machines; a bucket always is");
  }
  STOKER_TRY(ledger.status());
  if ((*ledger)->id() == ledger_id) return store;
  return Status(Code::kInvalid,
                url + " there is another one: ledger " + (*ledger)->id() + ", not " + ledger_id,
                "A folder must be the same on all machines; a bucket always is");
}

Result<Version> BeginMeeting(ObjectStore& store, const std::string& key) {
  STOKER_TRY(ProbeConditions(store, key + "-here"));
  return store.Put(key, kHere, Condition::Absent());
}

Status MeetInStore(ObjectStore& store, const std::string& key) {
  if (!IsSafeRelativePath(key) || !StartsWith(key, "probe/")) {
    return Status(Code::kInvalid, "not a key to meet at: " + Printable(key));
  }
  const std::string url = store.url();
  STOKER_TRY(ProbeConditions(store, key + "-there"));
  const auto seen = store.Get(key);
  if (seen.status().Is(Code::kNotFound)) return Broken(url, "what is written is not seen at once");
  STOKER_TRY(seen.status());
  if (seen->data != kHere) return Broken(url, "what is read is not what was written");
  const auto twice = store.Put(key, "twice", Condition::Absent());
  if (twice.ok()) return Broken(url, "two computers can create one object");
  if (!twice.status().Is(Code::kExists)) return twice.status();
  return store.Put(key, kThere, Condition::Match(seen->info.version)).status();
}

Status EndMeeting(ObjectStore& store, const std::string& key, const Version& begun) {
  const auto finish = [&]() -> Status {
    const auto seen = store.Get(key);
    STOKER_TRY(seen.status());
    if (seen->data != kThere) return Broken(store.url(), "a newer version is not seen at once");
    const auto stale = store.Put(key, "stale", Condition::Match(begun));
    if (stale.ok()) return Broken(store.url(), "a write on a version that is gone was accepted");
    return stale.status().Is(Code::kConflict) ? Status::Ok() : stale.status();
  };
  const Status met = finish();
  const Status removed = store.Delete(key);
  return met.ok() ? removed : met;
}

}  // namespace stoker
