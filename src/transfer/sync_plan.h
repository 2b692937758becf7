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
};

struct PlanRules {
  // The target keeps the time of its source, so that equal times mean equal files.
  bool target_keeps_times = false;
  // Files of at most so many bytes in the target may be torn, whatever their times say.
  int64_t doubt_up_to = -1;
  // What names may be: any bytes, as between two folders; else UTF-8 without control characters.
  bool any_bytes = false;
  size_t most_key = 0;   // bytes of a key that the target takes; 0 = any number
  size_t most_part = 0;  // bytes between two slashes that it takes; 0 = any number
  // The target cannot hold both "a" and "a/b".
  bool folders = false;
  // Keys that are taken; others are neither copied nor removed. Empty: all.
  std::function<bool(const std::string& key)> taken;
  bool remove = false;  // what is only in the target
  bool update = false;  // leave what is newer in the target, by the two sides' own times
  // Both keep the executable bit, so that one alone may be a difference.
  bool modes = false;
};

struct UnsurePair {
  ObjectInfo source;
  ObjectInfo target;
};

struct SyncPlan {
  std::vector<ObjectInfo> copy;  // large ones first
  std::vector<std::string> remove;
  std::vector<ObjectInfo> modes;  // the same, but for the executable bit
  // The same size on both sides, and nothing else is known of them: only their bytes can tell.
  std::vector<UnsurePair> unsure;
  std::vector<OddKey> refused;  // of the source: cannot be transferred
  std::vector<OddKey> skipped;  // of the source: no files
  int64_t copy_bytes = 0;
  int64_t same = 0;  // files that are equal on both sides
  int64_t same_bytes = 0;
  int64_t left_out = 0;  // not taken
  int64_t newer = 0;     // they differ, and the target's is left for being newer
  // The source could not be read whole: then nothing is removed.
  bool incomplete = false;
  // What of the target would be removed may make way for what is copied.
  bool replaces = false;
  std::vector<std::string> stays;  // sorted: what of the target would not
};

// Whether what the target has at `key`, with all that was listed below it, may go.
bool MayReplace(const SyncPlan& plan, const std::string& key);

// Two files are the same when they were seen to be (`known`), or when their sizes are equal and,
// where the target keeps times, so are their times, and the file is not in doubt. Elsewhere times
// tell nothing: what was put in the place of a file may well be older than it.
SyncPlan PlanSync(const SideListing& source, const SideListing& target,
                  const std::map<std::string, KnownPair>& known, const PlanRules& rules);

// Why `key` is not transferred: it could lead out of a folder, or one of the sides cannot hold it.
// kInvalid. Ok for others.
Status CheckSyncKey(const std::string& key, const PlanRules& rules);

}  // namespace stoker
