// SPDX-License-Identifier: Apache-2.0
#include "client/clear/sweep.h"

#include <sys/stat.h>

#include <map>
#include <set>

#include "base/text.h"
#include "ledger/paths.h"
#include "store/open.h"
#include "sys/file.h"
#include "sys/journal_file.h"
#include "transfer/sync_memory.h"

namespace stoker::client {
namespace {

// Longer than anything is uploaded, also over a slow line.
constexpr Duration kUploadAge = Duration::Hours(72);

// What lies in a bucket without a prefix need not be ours: docs/bucket-layout.md.
bool IsOfLedger(const std::string& key) {
  for (const char* folder :
       {"active/", "blobs/", "doomed/", "env/", "index/", "jobs/", "records/", "reports/"}) {
    if (StartsWith(key, folder)) return true;
  }
  return key == paths::LedgerId();
}

// Journals of one bucket's url, and the keys that they say were begun.
struct Abandoned {
  std::vector<std::string> journals;
  std::set<std::string> keys;
};

std::map<std::string, Abandoned> FindAbandoned(const std::string& folder) {
  std::map<std::string, Abandoned> found;
  const auto entries = sys::ListDir(folder);
  for (const auto& entry : entries.ok() ? *entries : std::vector<sys::DirEntry>()) {
    if (!entry.is_file) continue;
    const auto journal = OpenJournalFile(folder + "/" + entry.name);
    SyncMemory memory(*journal, sys::BootId());
    if (!memory.Load().ok() || memory.bucket().empty() || memory.begun().empty()) continue;
    Abandoned& abandoned = found[memory.bucket()];
    abandoned.journals.push_back(folder + "/" + entry.name);
    for (const auto& [key, upload] : memory.begun()) abandoned.keys.insert(key);
  }
  return found;
}

// Nothing that was begun in it is left, so that the bucket need not be asked again.
void Forget(Client& client, const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return;
  const WallTime changed{static_cast<int64_t>(info.st_mtim.tv_sec) * 1000};
  if (client.clock().Wall() - changed < kUploadAge) return;
  const auto journal = OpenJournalFile(path);
  SyncMemory memory(*journal, sys::BootId());
  if (memory.Load().ok()) (void)memory.ForgetBegun();
}

Result<int> SweepBucket(const std::string& url, const Sweep& sweep) {
  STOKER_ASSIGN(const auto store, OpenStore(url));
  return store->SweepUnfinished(kUploadAge, sweep);
}

}  // namespace

int64_t SweepUploads(Client& client, bool dry_run) {
  int64_t swept = 0;
  const auto count = [&](const std::string& where, const Result<int>& some) {
    swept += some.value_or(0);
    if (!some.ok()) {
      client.Say("unfinished uploads in " + where + " are kept: " + some.status().ToString());
    }
    return some.ok();
  };
  std::string own;
  if (const auto store = client.store(); store.ok()) {
    own = (*store)->url();
    // Where there is no ledger, what has the names of its keys is another program's.
    const auto ours = [&](const std::string& key) {
      return !client.no_store_yet() && IsOfLedger(key);
    };
    count(own, (*store)->SweepUnfinished(kUploadAge, {ours, dry_run}));
  }
  for (const auto& [url, abandoned] : FindAbandoned(client.places().state + "/sync")) {
    // Parts of Google's have folders of their own, and all below the ledger's were swept with it.
    if (StartsWith(url, "gs://") && !own.empty() && StartsWith(url + "/", own + "/")) continue;
    const std::set<std::string>& keys = abandoned.keys;
    const auto taken = [&keys](const std::string& key) { return keys.count(key) > 0; };
    if (!count(url, SweepBucket(url, {taken, dry_run})) || dry_run) continue;
    for (const std::string& path : abandoned.journals) Forget(client, path);
  }
  return swept;
}

}  // namespace stoker::client
