// SPDX-License-Identifier: Apache-2.0
// Which files `stoker sync` takes. Pure.
#pragma once

#include <string>
#include <vector>

#include "pack/glob.h"

namespace stoker::cli {

// A pattern without '/' is held against every part of a key, as in .gitignore; one with '/' against
// the whole key and against the folders that it lies in.
class SyncFilter {
 public:
  SyncFilter(const std::vector<std::string>& include, const std::vector<std::string>& exclude);
  // Is among what is included, if anything is, and not among what is excluded.
  bool Takes(const std::string& key) const;

 private:
  struct Pattern {
    pack::Glob glob;
    bool whole = false;  // has a '/'
  };
  static std::vector<Pattern> Compile(const std::vector<std::string>& patterns);
  static bool Among(const std::vector<Pattern>& patterns, const std::string& key);

  const std::vector<Pattern> include_;
  const std::vector<Pattern> exclude_;
};

}  // namespace stoker::cli
