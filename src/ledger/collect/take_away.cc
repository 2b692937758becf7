// SPDX-License-Identifier: Apache-2.0
#include "ledger/collect/take_away.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "ledger/paths.h"
#include "ledger/records.h"
#include "ledger/scan.h"

namespace stoker {
namespace {

// Longer than any submit takes; CreateJob gives up long before.
constexpr Duration kLeftOverAge = Duration::Hours(24);
constexpr int kPage = 10'000;  // as ListAll

Status DeleteKeys(ObjectStore& store, const std::vector<std::string>& keys) {
  const std::vector<OddKey> failed = store.DeleteAll(keys);
  return failed.empty() ? Status::Ok()
                        : failed.front().why.WithContext("removing " + failed.front().key);
}

// The names below `folder`, by leaps: each list begins after all of the last name that the one
// before has shown.
Status AddNames(ObjectStore& store, const std::string& folder, std::set<std::string>* names) {
  std::string after;
  do {
    STOKER_ASSIGN(const Listing page, store.List(folder, after, kPage));
    std::string last;
    for (const ObjectInfo& object : page.objects) {
      const size_t end = object.key.find('/', folder.size());
      if (end == std::string::npos) continue;
      last = object.key.substr(folder.size(), end - folder.size());
      names->insert(last);
    }
    after = page.next;
    // '0' comes right after '/'.
    if (!after.empty() && !last.empty()) after = std::max(after, folder + last + "0");
  } while (!after.empty());
  return Status::Ok();
}

}  // namespace

Result<int64_t> TakeAwayJob(Ledger& ledger, const std::string& id, bool dry_run) {
  int64_t bytes = 0;
  std::vector<std::string> manifests;
  std::vector<std::string> rest;
  STOKER_TRY(ListAll(ledger.store(), paths::Job(id), [&](const ObjectInfo& object) {
    bytes += object.size;
    const bool manifest = object.key.find("/manifests/") != std::string::npos;
    (manifest ? manifests : rest).push_back(object.key);
    return Status::Ok();
  }));
  if (dry_run) return bytes;
  STOKER_TRY(ListAll(ledger.store(), paths::Reports(id), [&](const ObjectInfo& object) {
    rest.push_back(object.key);
    return Status::Ok();
  }));
  STOKER_TRY(DeleteKeys(ledger.store(), manifests));
  STOKER_TRY(DeleteKeys(ledger.store(), rest));
  STOKER_TRY(ledger.store().Delete(paths::Record(id)));
  return bytes;
}

Result<LeftOver> TakeAwayLeftOver(Ledger& ledger, const Survey& survey, bool dry_run) {
  LeftOver out;
  std::set<std::string> names;
  STOKER_TRY(AddNames(ledger.store(), paths::Jobs(), &names));
  STOKER_TRY(AddNames(ledger.store(), paths::AllReports(), &names));
  for (const std::string& id : names) {
    if (survey.records.contains(id) || !IsSafeName(id)) continue;
    WallTime now;
    WallTime newest;
    int64_t bytes = 0;
    std::vector<std::string> keys;
    for (const std::string& folder : {paths::Job(id), paths::Reports(id)}) {
      STOKER_ASSIGN(const std::vector<Listed> found, ListBelow(ledger.store(), folder, &now));
      for (const Listed& one : found) {
        newest = std::max(newest, one.object.last_modified);
        bytes += one.object.size;
        keys.push_back(one.object.key);
      }
    }
    if (keys.empty() || now - newest < kLeftOverAge) continue;
    const auto record = ledger.store().Head(paths::Record(id));
    if (record.ok()) continue;  // it was written meanwhile
    if (!record.status().Is(Code::kNotFound)) return record.status();
    if (!dry_run) STOKER_TRY(DeleteKeys(ledger.store(), keys));
    out.ids.push_back(id);
    out.bytes += bytes;
  }
  return out;
}

}  // namespace stoker
