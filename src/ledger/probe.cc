// SPDX-License-Identifier: Apache-2.0
#include "ledger/probe.h"

namespace stoker {
namespace {

constexpr int kTries = 4;

Status Lacks(const ObjectStore& store, const std::string& what) {
  return Status(Code::kInvalid, store.url() + " does not honour conditional writes: " + what,
                "Jobs would run twice there. Use another store: a folder, Amazon S3, Google Cloud "
                "Storage, or a service that knows If-None-Match and If-Match on PutObject");
}

// A write that a good store refuses with `expected`.
Status MustFail(ObjectStore& store, const std::string& key, const Condition& condition,
                Code expected, const std::string& what) {
  const auto put = store.Put(key, "must not be written", condition);
  if (put.ok()) return Lacks(store, what + " was accepted");
  if (put.status().Is(expected)) return Status::Ok();
  // Says nothing about conditions: who may create may lack the right to overwrite.
  if (put.status().transient() || put.status().Is(Code::kDenied)) return put.status();
  return Lacks(store, what + " was answered with: " + put.status().message());
}

// kExists or kConflict: a write that a good store takes was refused. That is said when a first copy
// of it took effect without an answer.
Status Try(ObjectStore& store, const std::string& key) {
  const auto first = store.Put(key, "1", Condition::Absent());
  if (first.status().Is(Code::kInvalid)) {
    // What refuses every write has something else to say: that there is no such bucket.
    const auto plain = store.Put(key, "1");
    if (!plain.ok()) return plain.status();
    return Lacks(store, "a create-only write was answered with: " + first.status().message());
  }
  STOKER_TRY(first.status());
  STOKER_TRY(MustFail(store, key, Condition::Absent(), Code::kExists,
                      "a create-only write of what is there"));
  const auto second = store.Put(key, "2", Condition::Match(*first));
  if (second.status().Is(Code::kInvalid)) {
    return Lacks(store, "a write on a version was answered with: " + second.status().message());
  }
  STOKER_TRY(second.status());
  return MustFail(store, key, Condition::Match(*first), Code::kConflict,
                  "a write on a version that is gone");
}

}  // namespace

Status ProbeConditions(ObjectStore& store, const std::string& key) {
  Status tried = Status::Ok();
  for (int i = 0; i < kTries; ++i) {
    const std::string mine = key + "-" + std::to_string(i);
    tried = Try(store, mine);
    const Status removed = store.Delete(mine);
    if (tried.Is(Code::kExists) || tried.Is(Code::kConflict)) continue;
    STOKER_TRY(tried);
    return removed;
  }
  return tried;
}

}  // namespace stoker
