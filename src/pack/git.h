// SPDX-License-Identifier: Apache-2.0
// What git knows of a folder: the files that it would list, the commit, and what changed since.
// git itself is asked (three short processes at once, about 3 ms), because only git knows its own
// configuration, index, submodules and sparse checkouts.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace stoker::pack {

struct GitFile {
  std::string path;  // relative to the folder, raw bytes
  bool untracked = false;
  bool repository = false;  // a submodule, or a work tree of its own: to be asked by itself
};

struct GitChange {
  std::string path;  // relative to the folder
  bool deleted = false;
  std::string section;  // its part of the diff; "" when the diff was too long
};

struct GitAnswer {
  std::vector<GitFile> files;      // may name files that are deleted, or are folders by now
  std::string commit;              // 40 or 64 hex digits; "" before the first commit
  std::string branch;              // "" = none is checked out, or there is no commit
  std::vector<GitChange> changes;  // of tracked files under the folder, against the commit
  bool changes_truncated = false;  // even the list of changes is too long: `changes` lacks some
  bool diff_truncated = false;     // the diff is longer than `max_diff`, so sections are left empty
  std::string downloads;           // as GitState's
};

// The folder that holds the .git of the work tree around `dir` (absolute); "" = none. No process.
std::string FindGitTop(const std::string& dir);

// Asks git about `dir`, which may be any folder of a work tree. kNotFound: git is not installed;
// kUnavailable: git refused, with its own words (dubious ownership, broken repository, …). Ignores
// GIT_DIR and the like in the environment; writes nothing into the repository.
Result<GitAnswer> AskGit(const std::string& dir, size_t max_diff);

// What git ignores below `dir`: relative paths; a folder of which all is ignored once, with '/' at
// its end. Errors as of AskGit, and kTimeout after some seconds.
Result<std::vector<std::string>> AskGitIgnored(const std::string& dir);

}  // namespace stoker::pack
