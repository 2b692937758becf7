// SPDX-License-Identifier: Apache-2.0
// The work directory as one file, named by what it holds: tar (pax) in zstd. The same files with
// the same modes and times give the same bytes, so the same SHA-256. docs/packing.md has the
// format.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pack/listing.h"

namespace stoker::pack {

struct PackSummary {
  int64_t files = 0;
  int64_t links = 0;
  int64_t dirs = 0;
  int64_t bytes = 0;         // of the files
  int64_t packed_bytes = 0;  // of the archive
  std::string sha256;        // of the archive, hex
  GitState git;
  std::vector<std::string> notes;  // those of the listing, and links that point outside
};

struct PackOptions {
  int64_t max_bytes = INT64_MAX;                // kInvalid when a repeated listing has grown beyond
  int retries = 4;                              // how often a directory that changes is tried again
  std::function<void(int64_t bytes)> progress;  // bytes of files read so far; may be empty
  // Shown the first MiB of each file as it is read, again where a directory that changes is tried
  // again; may be empty.
  std::function<void(const std::string& path, std::string_view head)> look;
};

// Packs what was listed into `out_path`, which must not exist and must lie outside the directory.
// When the directory changed since the listing, or changes meanwhile, it is listed and packed again
// a few times. Errors: kBusy: it keeps changing (names a file that did); kDenied: a file cannot be
// read; kInvalid: a file looks like it holds a credential (names file and line), or the
// result could not be unpacked under the default limits of extract.h; kExists; kNoSpace. On failure
// there is no `out_path`. A writer that changes a file through a shared mapping is not noticed.
Result<PackSummary> Pack(const Listing& listing, const std::string& out_path,
                         const PackOptions& options = {});

// The same into `out`, an open file that is written anew with each try; `out_name` is what errors
// call it.
Result<PackSummary> PackInto(const Listing& listing, int out, const std::string& out_name,
                             const PackOptions& options = {});

// "git 1a2b3c4 dirty, 12 files, 34 kB".
std::string Describe(const PackSummary& summary);

}  // namespace stoker::pack
