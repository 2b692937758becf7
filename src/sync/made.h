// SPDX-License-Identifier: Apache-2.0
// Where a job declares no outputs: which files of the work directory the program made or changed,
// and which of them are kept. Pure, and of bounded size for any number of files.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "port/checkpoint_files.h"

namespace stoker {

// The files of a tree as they were: path, inode, size and times. Eight bytes a file.
class TreeMemory {
 public:
  void Add(const FileFact& fact);
  void Seal();  // after the last Add
  // There then, and as it is now.
  bool Has(const FileFact& fact) const;
  size_t size() const { return known_.size(); }

 private:
  std::vector<uint64_t> known_;
};

struct MadeBounds {
  int64_t bytes = int64_t{2} << 30;
  int64_t files = 10'000;
};

// A file, or all files that lie directly in one folder ("" = the work directory).
struct MadeGroup {
  std::string path;
  bool folder = false;
  int64_t files = 0;
  int64_t bytes = 0;
};

struct MadeChoice {
  std::map<std::string, int64_t> keep;  // path -> bytes
  int64_t files = 0;                    // of all that was made, kept or not
  int64_t bytes = 0;
  int64_t kept_bytes = 0;
  std::vector<MadeGroup> left_out;  // the largest first, folders before files
};

// Fed with every file that was made: once, and when Again() says so once more.
class MadeTally {
 public:
  explicit MadeTally(MadeBounds bounds) : bounds_(bounds) {}
  void Add(const std::string& path, int64_t bytes);
  // There were more files than may be kept: the folders with the most are left out, whole, until it
  // fits, and those of the others are to be added anew. False: Choose.
  bool Again();
  // The largest files are left out until the rest fits.
  MadeChoice Choose();

 private:
  const MadeBounds bounds_;
  std::map<std::string, MadeGroup> folders_;
  MadeGroup others_;  // of folders beyond those that are told apart
  std::map<std::string, int64_t> files_;
  std::vector<MadeGroup> left_out_;
  std::set<std::string> left_folders_;
  int64_t count_ = 0;
  int64_t bytes_ = 0;
  bool second_ = false;
};

}  // namespace stoker
