// SPDX-License-Identifier: Apache-2.0
// Where a job declares no outputs: what its program makes or changes in the work directory, found
// by comparing the tree at its end with the tree just before its start.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "node/outputs/downloads.h"
#include "outputs/produced.h"
#include "pack/ignore.h"
#include "sys/watch/directory_scan.h"

namespace stoker::node {

struct ProducedFilesConfig {
  std::string workdir;                 // absolute
  std::vector<std::string> leave_out;  // paths in it that are kept otherwise, with all below them
  ProducedBounds bounds;
  bool keeps = true;           // false: nothing is chosen, and what was made is told
  std::string downloads = "";  // as Job's
};

// One thread at a time.
class ProducedFiles {
 public:
  explicit ProducedFiles(ProducedFilesConfig config);

  // Before the program starts. What this cannot see is taken for made.
  Status Remember();
  // After it has ended. kTimeout: `out_of_time` said so, and nothing is chosen. May be repeated.
  Status Choose(const std::function<bool()>& out_of_time);
  // For a listing of the work directory: only what was chosen.
  TreeFilter Chosen() const;
  size_t chosen() const { return choice_.keep.size(); }
  // What the program made and is not kept: a sentence each, the largest first.
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  struct Some {  // paths, of which the first are named
    std::vector<std::string> first;
    int64_t count = 0;
    void Add(const std::string& path);
    std::string Names() const;
  };
  struct Passed {  // by a look at the whole tree
    Some secrets;
    Some closed;
    Some ignored;  // .stokerignore names them
  };
  bool Enters(const std::string& path, Passed* passed);
  bool Counts(const FileFact& fact, Passed* passed) const;
  using Sight = std::function<void(const FileFact& made)>;
  Status Walk(const std::function<bool()>& out_of_time, Passed* passed, const Sight& sight);
  void See(const FileFact& fact, Passed* passed, const Sight& sight);
  void LoadIgnoreFile(const std::string& folder);
  void DropCredentials();
  void TellDownloads(bool sizes);
  void TellLeftOut(const Passed& passed);
  Status NameAll(const std::function<bool()>& out_of_time);

  const ProducedFilesConfig config_;
  TreeMemory before_;
  std::set<std::string> passed_before_;  // folders that were there and will not be kept
  bool remembering_ = false;
  pack::IgnoreTree ignore_;
  Downloads downloads_;
  ProducedChoice choice_;
  std::vector<std::string> left_out_;
};

}  // namespace stoker::node
