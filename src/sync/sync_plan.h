// SPDX-License-Identifier: Apache-2.0
// What a transfer from one side to another has to do, out of what both sides hold. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "port/object_info.h"

namespace stoker {

// What was once seen to be equal: these versions of one key on both sides.
struct KnownPair {
  Version source;
  Version target;
};

// A part upload that was begun and not ended, of this version of the source.
struct OpenUpload {
  Version source;
  std::string id;
};

struct SideListing {
  std::vector<ObjectInfo> objects;
  std::vector<OddKey> odd;  // kInvalid: it is no file; anything else: it could not be looked at
  Duration ahead;           // the clock that stamps last_modified, of this machine's
};

struct PlanRules {
  // The target keeps the time of its source, so that equal times mean equal files.
  bool target_keeps_times = false;
  // Files of at most so many bytes in the target may be torn, whatever their times say.
  int64_t doubt_up_to = -1;
  // Keys that are taken; others are neither copied nor removed. Empty: all.
  std::function<bool(const std::string& key)> taken;
  bool remove = false;  // what is only in the target
};

struct SyncPlan {
  std::vector<ObjectInfo> copy;  // large ones first
  std::vector<std::string> remove;
  std::vector<OddKey> refused;  // of the source: cannot be transferred
  std::vector<OddKey> skipped;  // of the source: no files
  int64_t copy_bytes = 0;
  int64_t same = 0;  // files that are equal on both sides
  int64_t same_bytes = 0;
  int64_t left_out = 0;  // not taken
  // The source could not be read whole: then nothing is removed.
  bool incomplete = false;
};

// Two files are the same when they were seen to be (`known`), or when their sizes are equal and
//  - where the target keeps times: so are their times, and the file is not in doubt;
//  - else: the target was written clearly after the source was, by the target's clock. What was
//    changed only just before is copied once more rather than once too little.
SyncPlan PlanSync(const SideListing& source, const SideListing& target,
                  const std::map<std::string, KnownPair>& known, const PlanRules& rules);

// Why `key` is not transferred, in either direction: it could lead out of a folder, or drive a
// terminal. Ok for others.
Status CheckSyncKey(const std::string& key);

}  // namespace stoker
