// SPDX-License-Identifier: Apache-2.0
#include "controller/restorable.h"

#include <algorithm>

#include "base/text.h"
#include "checkpoint/as_left.h"
#include "checkpoint/checkpoint_store.h"
#include "ledger/ancestors.h"

namespace stoker {
namespace {

Result<Generation> Look(ObjectStore& store, const std::string& job) {
  Generation found;
  STOKER_ASSIGN(const std::vector<CheckpointInfo> all, ListCheckpoints(store, job));
  for (const CheckpointInfo& info : all) {
    if (info.whole) found.whole.push_back(info.id);
  }
  STOKER_ASSIGN(const std::vector<CheckpointInfo> left, ListAsLeft(store, job));
  for (const CheckpointInfo& info : left) {
    if (info.whole) found.as_left.push_back(info.id);
  }
  return found;
}

// One decision makes one of them suspect at most, and then begins from the next.
bool WillDo(const Job& job, const Generation& own) {
  const auto good = std::count_if(own.whole.begin(), own.whole.end(), [&](const std::string& id) {
    return std::find(job.suspects.begin(), job.suspects.end(), id) == job.suspects.end();
  });
  return good >= 2;
}

}  // namespace

Result<RestorableRead> ReadRestorable(Ledger& ledger, const Job& job, bool all) {
  RestorableRead read;
  STOKER_ASSIGN(Generation own, Look(ledger.store(), job.id));
  const bool enough = !all && WillDo(job, own);
  read.generations.push_back(std::move(own));
  if (job.retry_of.empty() || enough) return read;
  STOKER_ASSIGN(const Ancestors ancestors, ReadAncestors(ledger, job));
  read.cut = ancestors.cut;
  for (const Job& ancestor : ancestors.jobs) {
    STOKER_ASSIGN(Generation generation, Look(ledger.store(), ancestor.id));
    generation.job = ancestor.id;
    generation.suspects = ancestor.suspects;
    generation.from = ancestor.from;
    read.generations.push_back(std::move(generation));
  }
  // Its record is damaged, not its work. What it found suspect is not known; what fails is
  // found suspect again.
  if (!ancestors.unread.empty() && IsSafeName(ancestors.unread)) {
    STOKER_ASSIGN(Generation generation, Look(ledger.store(), ancestors.unread));
    generation.job = ancestors.unread;
    read.generations.push_back(std::move(generation));
  }
  return read;
}

}  // namespace stoker
