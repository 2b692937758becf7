// SPDX-License-Identifier: Apache-2.0
// A moment of the checkpoint directory that has been copied and is on its way into the store.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "checkpoint/rule/checkpoint_plan.h"
#include "port/checkpoint_files.h"
#include "port/object_store.h"
#include "transfer/staged_upload.h"

namespace stoker {

using StagedFiles = std::map<std::string, std::shared_ptr<StagedFile>>;  // by path

struct Moment {
  StagedFiles files;
  CandidateReason reason = CandidateReason::kQuiet;
  int64_t cycle = 0;  // Candidate::cycle
  int64_t done = 0;   // Part::done
  int64_t step = -1;
  int64_t told_step = -1;  // by the trainer itself (kTrainerState)
  int64_t wish = 0;        // by another node, whose step this is: Round::wish
  bool counted = false;    // `step` tells one moment from another, on every node
};

// Hashes and uploads what is not in the store yet; blocks. What was done before a failure is not
// done again. `folder`: DataFolder, which no other upload has had. `known`: objects by "<sha256>"
// that need no second copy. `keeps_copies`: of what is in the store now, too, until DropCopies.
Status UploadMoment(ObjectStore& store, const Movers& movers, const std::string& job,
                    const std::string& folder, const std::map<std::string, std::string>& known,
                    bool keeps_copies, Moment* moment);

// Of what is in the store: gives the room back.
void DropCopies(const Moment& moment);

// Some of its files were read where they lie (Snapshot::copied) and are not known yet to be the
// same. kConflict: one of them is not; nothing of the moment may be used then.
bool HasOriginals(const Moment& moment);
Status OriginalsSame(const Moment& moment);

// Valid once all files are in the store.
Part PartOf(const Moment& moment, int rank);

// The staged files that a restored checkpoint stands for: what lies in the directory as the
// manifest says needs no upload.
StagedFiles RestoredFiles(const Manifest& manifest, int rank, const DirectoryScan& scan);

}  // namespace stoker
