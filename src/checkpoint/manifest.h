// SPDX-License-Identifier: Apache-2.0
// What a committed checkpoint consists of, and its JSON form. docs/checkpoint-store.md has the
// layout.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "port/checkpoint_files.h"
#include "port/object_store.h"

namespace stoker {

inline constexpr int kManifestFormat = 1;

// "<attempt>-<seq>": names a checkpoint of a job.
struct CheckpointId {
  int attempt = 0;
  int64_t seq = 0;
  auto operator<=>(const CheckpointId&) const = default;
  std::string ToString() const;
};
std::optional<CheckpointId> ParseCheckpointId(const std::string& text);

struct ManifestFile {
  std::string path;  // IsSafeRelativePath
  FileKind kind = FileKind::kFile;
  int64_t size = 0;
  std::string sha256;
  int mode = 0644;
  int64_t mtime_ns = 0;  // of a file
  // When it was changed last by the kernel's own time: what came before what. 0 = not known.
  int64_t ctime_ns = 0;
  // Another name of the file of this path, which was saved with it; "" = it has no other. Who does
  // not know this member finds a file of its own.
  std::string same_as;
  std::string target;     // of a link: relative, inside the directory
  std::string object;     // key below jobs/<job>/checkpoints/
  bool restored = false;  // as it was restored; nobody has written it in this attempt
};

// What one node has of a checkpoint.
struct Part {
  int rank = 0;
  bool none = false;  // this node keeps no checkpoint files of its own
  bool late = false;  // it has moved on: this round cannot be completed
  int64_t done = 0;   // of how many times its program has said that it is done; 0 = it did not
  int64_t step = -1;
  int64_t wish = 0;  // of an answer: the newest wish of this node, if it is for this; 0 = it is not
  bool rests = false;  // of an answer: there is nothing newer, and there has not been for long
  bool ended = false;  // of an answer: the program has ended well, and this is its last
  std::vector<ManifestFile> files;  // ordered by path
};

struct Manifest {
  std::string job;
  CheckpointId id;
  WallTime created;         // by rank 0's clock
  std::string writer;       // random: an answer lost on the way can be told from a rival
  std::string reason;       // how it was recognised; Name(CandidateReason)
  int64_t step = -1;        // for people: checkpoint/rule/step_number.h; -1 = none is told
  int64_t bytes = 0;        // of all files
  std::vector<Part> parts;  // ordered by rank
};

// Equal for two checkpoints that give every node the same files, byte for byte.
std::string ContentOf(const Manifest& manifest);

// A request of rank 0 to all others: what have you got of this? Or a wish of another node, by its
// own numbers.
struct Round {
  int64_t seq = 0;
  int64_t done = 0;  // Part::done of the node that asks or wishes
  int64_t step = -1;
  bool any = false;    // where nothing tells saves apart: what each has, if it rests there
  int64_t wish = 0;    // the wish of another node that this is about; 0 = it is of rank 0's own
  bool ended = false;  // with `any`: the program has just ended well; asked is for others' last
};
// Is `part` of the same moment as the round? By the number in the names where both have one, else
// by how often the programs have said that they are done, else by rest.
bool Matches(const Round& round, const Part& part);
// Whether anything tells this moment from the one before.
inline bool IsTold(int64_t step, int64_t done) { return step >= 0 || done > 0; }

std::string EncodeManifest(const Manifest& manifest);
// kCorrupt when it is not one (untrusted input), kTooNew when a newer stoker wrote it.
Result<Manifest> DecodeManifest(const std::string& text);
std::string EncodePart(const Part& part);
Result<Part> DecodePart(const std::string& text);
std::string EncodeRound(const Round& round);
Result<Round> DecodeRound(const std::string& text);

// Of the files that were written last in this attempt and whose names tell a step; -1: none does.
int64_t StepOf(const std::vector<Part>& parts);

// Keys.
std::string ManifestsPrefix(const std::string& job);
std::string ManifestKey(const std::string& job, const CheckpointId& id);
std::optional<CheckpointId> IdOfManifestKey(const std::string& key);
// An empty one only takes the number, for good: a manifest that is still on its way to this key
// comes to nothing there.
inline bool IsCommitted(const ObjectInfo& manifest) { return manifest.size > 0; }
std::string PartKey(const std::string& job, const CheckpointId& id, int rank);
std::string RoundKey(const std::string& job, const CheckpointId& id);
// What a node has for good, once its program ended: stands for its answer to every later round.
std::string FinalPartKey(const std::string& job, int attempt, int rank);
// A node other than rank 0 has something to commit.
std::string WishKey(const std::string& job, int attempt, int rank);
// Below jobs/<job>/checkpoints/. `again` > 0 tells one upload under the same number from another:
// a write that was given up may still come, and must not fall on what another one has put there.
std::string DataFolder(const CheckpointId& id, int rank, int again = 0);
// The other way round, from a key below "data/".
std::optional<CheckpointId> IdOfData(const std::string& name);
// "" when a file of this name can be kept, else why not.
std::string WhyNotKept(const std::string& job, const std::string& path);

// The files that node `rank` gets of all parts together: ordered by path, each once. A file that
// somebody wrote wins over one that was merely restored, then a node's own, then rank 0's.
std::vector<ManifestFile> UnionFor(const Manifest& manifest, int rank);

}  // namespace stoker
