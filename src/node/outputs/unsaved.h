// SPDX-License-Identifier: Apache-2.0
// Where files lie that no store had room for: out of the machine's folder, before that goes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace stoker::node {

// Below the state folder: "<job>-<attempt>-<rank>" for each node that could not save all.
inline constexpr char kUnsaved[] = "unsaved";

// In a machine's folder, made before its program starts: see UnsavedPlace.
inline constexpr char kSpare[] = "spare";

struct UnsavedPlace {
  std::string work;    // the attempt's work directory
  std::string folder;  // "<state>/unsaved", on the same file system
  std::string name;    // of the place in `folder`
  std::string
      spare;  // an empty folder that may be taken, for a disk too full to make one; "" = none
};

struct Unsaved {
  int64_t files = 0;  // that lie there now
  int64_t bytes = 0;  // of those
  std::string in;     // where; "" = nowhere: nothing was there, or nothing could be moved
  Status status;      // why not all could be moved
};

// Moves `paths` (files, links, and folders with all in them, relative to `place.work`) there by
// rename, under the same names. One that is gone, or lies behind a link, stays. Where there is no
// room for a folder all of `place.work` is moved instead. Blocks for as long as renames take.
Unsaved MoveUnsaved(const UnsavedPlace& place, const std::vector<std::string>& paths);
// All of `place.work`, where nobody knows what of it is saved. Nothing may run in it.
Unsaved MoveWork(const UnsavedPlace& place);

}  // namespace stoker::node
