// SPDX-License-Identifier: Apache-2.0
#include "ledger/collect/kin.h"

#include <algorithm>

#include "job/checkpoint_name.h"
#include "ledger/ancestors.h"

namespace stoker {
namespace {

// As JOB/CHECKPOINT.
void AddSuspects(const std::string& id, const Kin& kin, std::set<std::string>* suspects) {
  for (const std::string& one : kin.suspects) suspects->insert(JoinCheckpointName(id, one));
}

bool HasSaved(const std::string& id, const Kin& kin, const std::set<std::string>& suspects) {
  return std::any_of(kin.saves.begin(), kin.saves.end(), [&](const std::string& save) {
    return !suspects.contains(JoinCheckpointName(id, save));
  });
}

void Walk(const Kinship& all, const std::string& id, const Kin& kin,
          std::map<std::string, std::string>* needed) {
  std::set<std::string> suspects;
  AddSuspects(id, kin, &suspects);
  if (kin.succeeded || (kin.ended && HasSaved(id, kin, suspects))) return;
  std::set<std::string> named(kin.named.begin(), kin.named.end());
  named.erase(id);
  for (const std::string& one : named) needed->emplace(one, id);
  std::set<std::string> seen = {id};
  std::string next = kin.retry_of;
  for (int far = 0; far < kMostAncestors && !next.empty() && seen.insert(next).second; ++far) {
    needed->emplace(next, id);
    named.erase(next);
    const auto found = all.find(next);
    if (found == all.end()) return;
    AddSuspects(next, found->second, &suspects);
    if (named.empty() && HasSaved(next, found->second, suspects)) return;
    next = found->second.retry_of;
  }
}

}  // namespace

Kin KinOf(const Job& job) {
  Kin kin;
  kin.retry_of = job.retry_of;
  kin.suspects = job.suspects;
  kin.ended = IsFinal(job.state);
  kin.succeeded = job.state == JobState::kSucceeded;
  const auto name = [&](const std::string& word) {
    const CheckpointName split = SplitCheckpointName(word);
    if (!split.job.empty()) kin.named.push_back(split.job);
  };
  name(job.from);
  name(job.promised);
  for (const Attempt& attempt : job.attempts) {
    name(attempt.restore);
    if (!attempt.newest_checkpoint.empty()) kin.saves.push_back(attempt.newest_checkpoint);
  }
  return kin;
}

Kin KinOf(const Summary& job) {
  Kin kin;
  kin.retry_of = job.retry_of;
  kin.ended = true;
  kin.succeeded = job.state == JobState::kSucceeded;
  return kin;
}

std::map<std::string, std::string> NeededBy(const Kinship& all,
                                            const std::set<std::string>& going) {
  std::map<std::string, std::string> needed;
  for (const auto& [id, kin] : all) {
    if (!going.contains(id)) Walk(all, id, kin, &needed);
  }
  return needed;
}

}  // namespace stoker
