// SPDX-License-Identifier: Apache-2.0
#include "view/lineage.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "checkpoint/as_left.h"
#include "controller/restorable.h"
#include "ledger/ancestors.h"

namespace stoker {
namespace {

Result<CheckpointName> Newest(Ledger& ledger, const Job& job) {
  STOKER_ASSIGN(RestorableRead read, ReadRestorable(ledger, job, true));
  // Whoever wants it for himself may want a suspect.
  Job plain = job;
  plain.suspects.clear();
  for (Generation& generation : read.generations) generation.suspects.clear();
  CheckpointName name = SplitCheckpointName(ChooseRestore(plain, read.generations));
  if (name.name.empty()) {
    return Status(Code::kNotFound, "job " + job.id + " has no checkpoint" +
                                       (read.cut.empty() ? "" : " (" + read.cut + ")"));
  }
  if (name.job.empty()) name.job = job.id;
  return name;
}

Result<CheckpointName> LastLeft(Ledger& ledger, const Job& job) {
  STOKER_ASSIGN(const Lineage lineage, ReadLineage(ledger, job));
  for (const KnownCheckpoint& known : lineage.all) {
    if (IsAsLeft(known.info.id) && known.info.whole) {
      return CheckpointName{known.of, known.info.id};
    }
  }
  return Status(Code::kNotFound, "nothing was kept as left of job " + job.id,
                "'stoker checkpoints " + job.id + "' lists what is kept");
}

// A name that was given must be one of what is there. What is damaged is there, too.
Result<std::optional<CheckpointName>> ThatIsThere(Ledger& ledger, const Job& job,
                                                  const std::string& word, CheckpointName name) {
  if (!LoadManifest(ledger.store(), name.job, name.name).status().Is(Code::kNotFound)) {
    return std::optional(std::move(name));
  }
  return Status(Code::kNotFound, "job " + job.id + " has no checkpoint " + Printable(word),
                "'stoker checkpoints " + job.id + "' lists them");
}

}  // namespace

Result<Lineage> ReadLineage(Ledger& ledger, const Job& job) {
  STOKER_ASSIGN(const Ancestors ancestors, ReadAncestors(ledger, job));
  std::vector<const Job*> jobs = {&job};
  for (const Job& ancestor : ancestors.jobs) jobs.push_back(&ancestor);
  Lineage lineage;
  lineage.cut = ancestors.cut;
  std::vector<std::string> suspects;
  for (const Job* one : jobs) {
    const std::string prefix = one == &job ? "" : one->id;
    for (const std::string& id : one->suspects) suspects.push_back(JoinCheckpointName(prefix, id));
    STOKER_ASSIGN(std::vector<CheckpointInfo> infos, ListCheckpoints(ledger.store(), one->id));
    STOKER_ASSIGN(std::vector<CheckpointInfo> left, ListAsLeft(ledger.store(), one->id));
    infos.insert(infos.end(), left.begin(), left.end());
    STOKER_ASSIGN(left, ListLeftOfNodes(ledger.store(), one->id));
    infos.insert(infos.end(), left.begin(), left.end());
    for (CheckpointInfo& info : infos) {
      const std::string name = JoinCheckpointName(prefix, info.id);
      lineage.all.push_back({one->id, name, std::move(info), false});
    }
  }
  for (KnownCheckpoint& known : lineage.all) {
    known.suspect = std::find(suspects.begin(), suspects.end(), known.name) != suspects.end();
  }
  return lineage;
}

Result<std::optional<CheckpointName>> FindCheckpoint(Ledger& ledger, const Job& job,
                                                     const std::string& word) {
  if (word == "checkpoint") {
    STOKER_ASSIGN(CheckpointName newest, Newest(ledger, job));
    return std::optional(std::move(newest));
  }
  if (word == kAsLeft) {
    STOKER_ASSIGN(CheckpointName left, LastLeft(ledger, job));
    return std::optional(std::move(left));
  }
  CheckpointName name = SplitCheckpointName(word);
  const bool left = IsAsLeft(name.name) || ParseLeftOfNode(name.name);
  if (!left && !ParseCheckpointId(name.name)) return std::optional<CheckpointName>();
  if (name.job.empty()) name.job = job.id;
  if (name.job == job.id) return ThatIsThere(ledger, job, word, std::move(name));
  // An output may be called so, too.
  STOKER_ASSIGN(const Ancestors ancestors, ReadAncestors(ledger, job));
  const bool known = std::any_of(ancestors.jobs.begin(), ancestors.jobs.end(),
                                 [&](const Job& one) { return one.id == name.job; });
  if (!known) return std::optional<CheckpointName>();
  return ThatIsThere(ledger, job, word, std::move(name));
}

std::string SayCheckpoint(const std::string& restore) {
  if (restore.empty()) return "the beginning";
  const CheckpointName name = SplitCheckpointName(restore);
  const std::string of = name.job.empty() ? "" : " of job " + name.job;
  const auto of_node = ParseLeftOfNode(name.name);
  const int attempt = of_node ? of_node->attempt : AttemptOfAsLeft(name.name);
  if (attempt == 0) return "checkpoint " + name.name + of;
  return "what attempt " + std::to_string(attempt) + of + " left (" + name.name +
         ": as it was, not known to be whole)";
}

nlohmann::json CheckpointJson(const KnownCheckpoint& known) {
  using nlohmann::json;
  const CheckpointInfo& info = known.info;
  const bool as_left = IsAsLeft(info.id) || ParseLeftOfNode(info.id);
  const bool readable = info.created.ms > 0;  // its manifest
  return {{"id", known.name},
          {"job", known.of},
          {"attempt", info.attempt},
          {"seq", info.seq},
          {"step", info.step < 0 ? json(nullptr) : json(info.step)},
          {"bytes", info.bytes},
          {"files", info.files},
          {"nodes", info.nodes},
          {"created", readable ? json(FormatRfc3339(info.created)) : json(nullptr)},
          {"recognised_by", info.reason},
          {"whole", info.whole && !as_left},
          {"as_left", as_left},
          {"why_not", info.why_not},
          {"suspect", known.suspect}};
}

}  // namespace stoker
