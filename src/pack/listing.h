// SPDX-License-Identifier: Apache-2.0
// What of a work directory is packed: see docs/packing.md. Listing reads names and sizes, not
// contents, so that the size is known before anything is packed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace stoker::pack {

// Enough to notice that something was changed, replaced or moved.
struct Fingerprint {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint32_t mode = 0;
  uint64_t links = 0;
  int64_t size = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  bool operator==(const Fingerprint&) const = default;
};

enum class EntryKind { kFile, kDir, kLink };

struct ListedEntry {
  std::string path;  // relative, raw bytes
  EntryKind kind = EntryKind::kFile;
  Fingerprint seen;
};

// The state of the git work tree that the directory belongs to.
struct GitState {
  bool used = false;   // git listed the files
  std::string commit;  // "" before the first commit
  std::string branch;  // "" = none is checked out
  bool dirty = false;  // packed files differ from the commit, or are not in it
  std::string diff;    // `git diff HEAD` of what is packed; "" when clean or left out (see notes)
  // Of kDownloads, what git ignores, whether it is there or not: lines of an ignore file. It may
  // follow from files that are not packed.
  std::string downloads;
};

struct ListOptions {
  // Patterns of an ignore file, relative to the directory: what matches, or lies in a folder that
  // does, is packed though git ignores it; what matches itself, though a .stokerignore names it.
  // What is never packed stays so.
  std::vector<std::string> include;
  // Absolute real paths that are left out with all below them: a ledger inside the directory.
  std::vector<std::string> exclude;
  int64_t max_entries = 1'000'000;
  size_t max_diff = 1 << 20;  // bytes; a longer diff is not recorded
  bool scan_credentials = true;
};

// What an ignore file names: a folder once, with '/' at its end, where all in it is meant.
struct IgnoredEntry {
  std::string path;
  bool by_git = true;  // else a .stokerignore
};

struct Listing {
  static constexpr size_t kMostIgnored = 10'000;
  std::string root;  // absolute, without links
  ListOptions options;
  std::vector<ListedEntry> entries;  // ordered bytewise by path; folders before their contents
  Fingerprint root_seen;
  int64_t files = 0;
  int64_t links = 0;
  int64_t dirs = 0;
  int64_t bytes = 0;  // of the files; names of one file (hard links) count once
  GitState git;
  // Some of what ignore files name and is not packed, at most kMostIgnored; of what git ignores
  // only if `knows_ignored`: see left_behind.h.
  std::vector<IgnoredEntry> ignored;
  bool knows_ignored = false;
  std::vector<std::string> never;         // paths of what is made to hold secrets, and was left out
  std::vector<std::string> environments;  // folders that are virtual environments
  std::vector<std::string> included;      // files of which git ignores each; sorted
  std::vector<std::string> notes;  // for people, one sentence each: what was left out, and why
};

// Errors: kNotFound/kInvalid: `dir` is not a directory; kDenied: something in it cannot be looked
// at, with its name; kInvalid: more than max_entries. Follows no link below `dir`.
Result<Listing> ListWorkdir(const std::string& dir, const ListOptions& options = {});

}  // namespace stoker::pack
