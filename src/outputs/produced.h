// SPDX-License-Identifier: Apache-2.0
// Where a job declares no outputs: which files of the work directory the program made or changed,
// and which of them are kept. Pure, and of bounded size for any number of files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
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

struct ProducedBounds {
  int64_t bytes = int64_t{2} << 30;
  int64_t files = 10'000;
};

// A file, or files that lie directly in one folder ("" = the work directory).
struct ProducedGroup {
  std::string path;
  bool folder = false;
  int64_t files = 0;
  int64_t bytes = 0;
  int64_t of = 0;  // so many were made in this folder; 0 where that is not known
};

struct ProducedChoice {
  std::map<std::string, int64_t> keep;  // path -> bytes
  int64_t files = 0;                    // of all that was made, kept or not
  int64_t bytes = 0;
  int64_t kept_bytes = 0;
  std::vector<ProducedGroup> left_out;  // the largest first, folders before files
};

// Fed with every file that was made: once, and when Again() says so once more.
class ProducedTally {
 public:
  explicit ProducedTally(ProducedBounds bounds) : bounds_(bounds) {}
  void Add(const std::string& path, int64_t bytes);
  // There were more files than may be kept: what is one of a kind in its folder goes first, then
  // the kinds of more and more files ("frame-0001.png", "frame-0002.png", …), and of the first that
  // does not fit as many as do, by name. Whatever it says is kept is to be added anew. False:
  // Choose.
  bool Again();
  // The largest files are left out until the rest fits.
  ProducedChoice Choose();

 private:
  struct Count {
    int64_t files = 0;
    int64_t bytes = 0;
    bool kept = false;
  };
  using Kind = std::pair<std::string, std::string>;  // folder, name without its numbers
  void AddAgain(const std::string& path, int64_t bytes);
  std::vector<ProducedGroup> LeftOut() const;

  const ProducedBounds bounds_;
  std::map<Kind, Count> kinds_;
  Count others_;  // of kinds beyond those that are told apart
  std::map<std::string, int64_t> files_;
  std::optional<Kind> part_;  // the kind of which there is room for some
  int64_t part_room_ = 0;
  std::map<std::string, int64_t> part_files_;
  int64_t count_ = 0;
  int64_t bytes_ = 0;
  bool second_ = false;
};

}  // namespace stoker
