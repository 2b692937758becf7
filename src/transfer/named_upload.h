// SPDX-License-Identifier: Apache-2.0
// Files that are known by their paths on their way into the store, whatever their names are.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "transfer/staged_upload.h"

namespace stoker {

struct SendPlace {
  std::string root;    // a key, with its '/'
  std::string folder;  // "" or with its '/'
  // Whether the name of a file at `path` is somebody else's there. Null: none is.
  std::function<bool(const std::string& path)> taken = nullptr;
};

// SendStaged for files by path: each lies below the key `root` + `folder` under ObjectOf its path,
// or under OddObject where the store will not have that. Its `object` says so, beginning with
// `folder`, once it is in the store. Returns a failure that names its file, and all of them by path
// in `failed`, unless that is null. Thread-safety and blocking as SendStaged.
Status SendNamed(ObjectStore& store, const Movers& movers, const SendPlace& place,
                 const std::map<std::string, StagedFile*>& files,
                 const std::function<void(StagedFile* file)>& sent,
                 std::map<std::string, Status>* failed = nullptr);

// True for what a store says of a write that it will never take under this name.
bool RefusesName(const Status& status);

}  // namespace stoker
