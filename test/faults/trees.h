// SPDX-License-Identifier: Apache-2.0
// Small trees that go up and down as `stoker sync`, checkpoints and inputs go: by MoveFiles, with
// one file that has parts and some that have none. What fails is asked for again as somebody would
// who gives the command again; each try goes on where the one before it failed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "port/object_store.h"
#include "sys/file.h"
#include "test/faults/tally.h"

namespace stoker::faults {

class Trees {
 public:
  // `harmed` is what moves the trees, `direct` looks past the faults. All outlive it.
  Trees(ObjectStore& harmed, ObjectStore& direct, Tally& tally)
      : harmed_(harmed), direct_(direct), tally_(tally) {}

  // A tree in a folder and the same in the bucket, before the faults begin.
  Status Prepare(uint64_t seed);
  // Trial `number`; thread-safe. What is wrong is in the tally.
  Status Up(int number);
  Status Down(int number);

 private:
  void Check(const std::string& what, const std::string& name, bool arrived,
             const Result<std::string>& there);

  ObjectStore& harmed_;
  ObjectStore& direct_;
  Tally& tally_;
  std::optional<sys::TempDir> dir_;
  std::map<std::string, std::string> tree_;  // bytes by name
  std::vector<ObjectInfo> standing_;         // the same in the bucket
};

}  // namespace stoker::faults
