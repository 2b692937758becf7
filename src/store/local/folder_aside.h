// SPDX-License-Identifier: Apache-2.0
// What stands where a copy must come, a file for a folder or the other way round: it is renamed to
// "NAME.<mark>.stoker-aside" beside its place, where <mark> are 16 hex digits that follow from
// NAME, and removed once the copy is there. Inside store/ only.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "port/object_info.h"
#include "sys/file.h"

namespace stoker::folder {

// "" = the name is too long to be set aside.
std::string AsideName(const std::string& name);
// What it was called; "" = it is none of those.
std::string NameOfAside(const std::string& aside);

// Thread-safe until End.
class Asides {
 public:
  // Whether what is at `key`, with all below it, may go.
  using May = std::function<bool(const std::string& key)>;
  // Whether `folder`, which was at `key` when all was listed, may be emptied. `listed`: it was.
  using MayEmpty = std::function<Status(int folder, const std::string& key, bool listed)>;
  Asides(May may, MayEmpty may_empty) : may_(std::move(may)), may_empty_(std::move(may_empty)) {}

  // What a killed run has set aside, and what has its name by now.
  void Adopt(sys::ScopedFd folder, const std::string& name, const std::string& key);
  // Renames `name` in `folder`, which is `key`, unless it is a folder and one is `wanted`. kExists:
  // it has to stay.
  Status MakeWay(int folder, const std::string& name, const std::string& key, bool wanted);
  // `key` is what made way, or lies below that.
  bool Took(const std::string& key);
  // Removes what made way for a copy that is there, and gives the others their names back, in place
  // of what was copied so far; those of a killed run stay. `removed` becomes the keys that are
  // gone.
  std::vector<OddKey> End(const May& copied, std::vector<std::string>* removed);

 private:
  struct Aside {
    sys::ScopedFd folder;
    std::string name;
    bool ours = true;  // of this run
  };
  const May may_;
  const MayEmpty may_empty_;
  std::mutex mutex_;
  std::map<std::string, Aside> asides_;  // by key
};

}  // namespace stoker::folder
