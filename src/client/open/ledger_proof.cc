// SPDX-License-Identifier: Apache-2.0
#include "client/open/ledger_proof.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "job/encoding.h"
#include "ledger/paths.h"

namespace stoker::client {
namespace {

// Holds each request of a job against the ids.
void Weigh(const Job& job, const std::vector<std::string>& candidates, WallTime* newest,
           LedgerProof* proof) {
  for (const Request& request : job.requests) {
    if (request.token.empty()) continue;
    ++proof->requests;
    if (!proof->id.empty() && request.opened < *newest) continue;
    for (const std::string& id : candidates) {
      if (RequestToken(id, job, request) != request.token) continue;
      proof->id = id;
      proof->job = job.id;
      *newest = request.opened;
    }
  }
}

}  // namespace

Result<bool> HasRecords(ObjectStore& store) {
  STOKER_ASSIGN(const Listing first, store.List(paths::Records(), "", 1));
  return !first.objects.empty();
}

Result<LedgerProof> ProveLedger(ObjectStore& store, const std::vector<std::string>& candidates,
                                int at_most) {
  std::vector<std::string> keys;
  STOKER_TRY(ListAll(store, paths::Active(""), [&](const ObjectInfo& object) {
    keys.push_back(paths::Record(object.key.substr(paths::Active("").size())));
    return Status::Ok();
  }));
  std::vector<ObjectInfo> others;
  STOKER_TRY(ListAll(store, paths::Records(), [&](const ObjectInfo& object) {
    others.push_back(object);
    return Status::Ok();
  }));
  std::sort(others.begin(), others.end(), [](const ObjectInfo& a, const ObjectInfo& b) {
    return a.last_modified > b.last_modified;
  });
  for (const ObjectInfo& object : others) {
    const bool enough = static_cast<int>(keys.size()) >= at_most;
    if (!enough && std::find(keys.begin(), keys.end(), object.key) == keys.end()) {
      keys.push_back(object.key);
    }
  }
  LedgerProof proof;
  WallTime newest;
  for (const std::string& key : keys) {
    const auto object = store.Get(key);
    if (object.status().transient()) return object.status();
    const auto job = object.ok() ? DecodeJob(key, object->data) : Result<Job>(object.status());
    if (job.ok()) {
      Weigh(*job, candidates, &newest, &proof);
    } else if (!object.status().Is(Code::kNotFound)) {
      ++proof.unread;
    }
  }
  return proof;
}

}  // namespace stoker::client
