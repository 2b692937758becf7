// SPDX-License-Identifier: Apache-2.0
// How the local store names things below its root. Pure. docs/ledger.md tells it to people.
//
//   <key>               an object in plain form
//   <key>.rev/          an object that was written by compare-and-swap:
//     <revision>        its data
//     at-<revision>     empty; the only one of its kind: which revision is current
//     unborn            empty, instead of it: the plain form still counts, but who writes it must
//                       look here afterwards
//   .tmp/               what is being written or deleted
//
// Keys below kVersionless have the plain form alone, so that their names may look like any of
// these: "jobs/j/model.rev" and "jobs/j/.tmpfile" are files like all others.
//
// A <revision> is "<%012d number>-<16 hex nonce>-<16 hex base>". It is its own version, and no
// other write ever has the same name: that is why renaming "at-<old>" to "at-<new>" succeeds for
// exactly one of many writers. `base` is the plain object that the revisions grew out of.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "port/object_store.h"

namespace stoker::local {

// Where names of users' files lie in a ledger (docs/ledger.md). Nothing below it is ever written on
// the condition of a version, which is kInvalid there.
inline constexpr std::string_view kVersionless = "jobs/";

inline constexpr std::string_view kTmp = ".tmp";
inline constexpr std::string_view kRev = ".rev";
inline constexpr std::string_view kPointer = "at-";
inline constexpr std::string_view kUnborn = "unborn";

struct Revision {
  int64_t number = 0;  // 0: unborn
  std::string nonce;
  std::string base;
  std::string Name() const;     // of its data; also its version
  std::string Pointer() const;  // of its pointer
};

// nullopt when `name` is no name of data (or with Pointer: of a pointer or of the unborn).
std::optional<Revision> ParseRevision(std::string_view name);
std::optional<Revision> ParsePointer(std::string_view name);

// Tells one plain file from every other that ever had its name: inode, size, and a modification
// time whose last digits are random.
std::string BaseOf(const struct stat& file);
Version PlainVersion(const struct stat& file);
// The base that a plain version names; nullopt for a revision.
std::optional<std::string> ParsePlainVersion(std::string_view version);

// kInvalid, with the reason, for keys that cannot be files here.
Status ValidateKey(const std::string& key);
// Of these there is the plain form alone.
bool Versionless(std::string_view key);

inline std::string RevDir(const std::string& key) { return key + std::string(kRev); }
// "" for a key at the root.
std::string ParentOf(const std::string& key);

WallTime ModifiedAt(const struct stat& file);

}  // namespace stoker::local
