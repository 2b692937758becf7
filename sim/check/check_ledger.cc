// SPDX-License-Identifier: Apache-2.0
// What the ledger keeps for jobs that go on.
#include "base/text.h"
#include "ledger/blobs.h"
#include "ledger/paths.h"
#include "sim/check/checks.h"

namespace stoker::sim {
namespace {

// blobs-kept: what a job that has not ended needs is there, from the moment that its record is.
class BlobsKept : public Observer {
 public:
  explicit BlobsKept(World& world) : world_(world) {}

  void OnRecord(const Job& before, const Job& after, const std::string&) override {
    if (before.rev != 0) return;
    for (const std::string& digest : {after.code_digest, after.binary_digest}) {
      if (!IsThere(digest, "")) {
        world_.Breach("blobs-kept", "its record names " + digest + ", which is not there",
                      after.id);
      }
    }
  }
  void OnChange(const BucketChange& change) override {
    if (change.after || change.writer.empty() || !StartsWith(change.key, paths::Blobs())) return;
    for (const auto& [id, job] : world_.jobs()) {
      if (IsFinal(job.state)) continue;
      for (const std::string& digest : {job.code_digest, job.binary_digest}) {
        if (!StartsWith(change.key, paths::Blobs() + digest) || IsThere(digest, change.key)) {
          continue;
        }
        world_.Breach("blobs-kept", change.writer + " removes the last " + change.key, id);
      }
    }
  }

 private:
  // A copy other than `but`.
  bool IsThere(const std::string& digest, const std::string& but) const {
    const auto& objects = world_.bucket().objects();
    const std::string prefix = paths::Blobs() + digest;
    for (auto at = objects.lower_bound(prefix);
         at != objects.end() && StartsWith(at->first, prefix); ++at) {
      const bool copy = ParseBlobCopy({at->second.info, {}}).has_value();
      if (copy && at->first != but && at->second.data) return true;
    }
    return false;
  }

  World& world_;
};

}  // namespace

void AddLedgerChecks(World& world, Checks* checks) {
  checks->push_back(std::make_unique<BlobsKept>(world));
}

}  // namespace stoker::sim
