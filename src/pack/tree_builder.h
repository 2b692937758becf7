// SPDX-License-Identifier: Apache-2.0
// Collects the entries of a listing: applies what holds however the names were found (never-list,
// .stokerignore, virtual environments, links that stand in for folders). Used by listing.cc.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "pack/ignore.h"
#include "pack/listing.h"
#include "sys/file.h"

namespace stoker::pack {

// fstatat without following a link. nullopt status Ok = not there.
Result<Fingerprint> LookAt(int root, const std::string& path);

class TreeBuilder {
 public:
  // `listing.root` and `.options` are set; both must outlive the builder. Not thread-safe.
  TreeBuilder(Listing& listing, int root_fd);

  // May the contents of folder `path` ("" = root) be packed? Remembered. `wanted`: it becomes an
  // entry even when it turns out to be empty.
  Result<bool> EnterDir(const std::string& path, bool wanted);
  // Adds a file or link whose folders EnterDir lets in; whatever else it is, or nothing (deleted),
  // is left out. Returns whether it was added.
  Result<bool> AddLeaf(const std::string& path);
  // What brings back `path`, which git ignores: kKeep; kIgnore: it stays away; kNone: as its
  // folder.
  // `--include` counts also where it matches a folder above (`above`), an ignore file's '!' only
  // for what git names itself.
  Verdict BringsBack(std::string_view path, bool is_dir) const;
  bool BringsBackAbove(std::string_view path) const;
  // Whether anything could.
  bool MayBringBack() const { return !include_.empty() || ignore_.negates(); }
  void NoteIgnored(const std::string& path, bool by_git);
  // By its name alone: would it be packed if it were there? For deleted files.
  bool AdmitsName(std::string_view path) const;
  // An ignore file's text; "" when there is none. A link is not followed, as git does.
  Result<std::string> ReadIgnoreFile(const std::string& path) const;
  void Note(std::string text) { listing_.notes.push_back(std::move(text)); }

  // Sorts, counts and writes the notes about what was left out. Call once, last.
  Status Finish();

 private:
  Result<bool> CheckDir(const std::string& path);
  Result<bool> HoldsKey(const std::string& path) const;
  bool IsExcludedByOption(const std::string& path) const;
  bool Ignores(const std::string& path, bool is_dir);
  void NoteIncludes();
  void AddEntry(const std::string& path, EntryKind kind, const Fingerprint& seen);
  void AddFolders(const std::string& path);

  struct Folder {
    bool enter = false;
    bool added = false;
    Fingerprint seen;
  };
  Listing& listing_;
  int root_;
  IgnoreTree ignore_;   // .stokerignore
  IgnoreFile include_;  // the options' patterns, which win
  std::unordered_map<std::string, Folder> folders_;
  // Why it was left out -> the paths.
  std::map<std::string, std::vector<std::string>> left_out_;
};

}  // namespace stoker::pack
