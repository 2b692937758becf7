// SPDX-License-Identifier: Apache-2.0
// What the ledger keeps for jobs that go on.
#include "base/text.h"
#include "ledger/paths.h"
#include "sim/checks.h"

namespace stoker::sim {
namespace {

// blobs-kept: what a job that has not ended needs is there, from the moment that its record is.
class BlobsKept : public Observer {
 public:
  explicit BlobsKept(World& world) : world_(world) {}

  void OnRecord(const Job& before, const Job& after, const std::string&) override {
    if (before.rev != 0) return;
    for (const std::string& digest : {after.code_digest, after.binary_digest}) {
      if (world_.bucket().Find(paths::Blob(digest)) == nullptr) {
        world_.Breach("blobs-kept", "its record names " + digest + ", which is not there",
                      after.id);
      }
    }
  }
  void OnChange(const BucketChange& change) override {
    if (change.after || change.writer.empty() || !StartsWith(change.key, paths::Blob(""))) return;
    for (const auto& [id, job] : world_.jobs()) {
      if (IsFinal(job.state)) continue;
      if (change.key == paths::Blob(job.code_digest) ||
          change.key == paths::Blob(job.binary_digest)) {
        world_.Breach("blobs-kept", change.writer + " removes " + change.key, id);
      }
    }
  }

 private:
  World& world_;
};

}  // namespace

void AddLedgerChecks(World& world, Checks* checks) {
  checks->push_back(std::make_unique<BlobsKept>(world));
}

}  // namespace stoker::sim
