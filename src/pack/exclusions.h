// SPDX-License-Identifier: Apache-2.0
// What is never packed, whatever ignore files say. docs/packing.md has the list for people. Pure.
#pragma once

#include <string_view>

namespace stoker::pack {

enum class Exclusion {
  kNone,
  kQuiet,   // of no use on another machine: version control, byte code
  kSecret,  // made to hold secrets: said aloud
};

// By the last part of a path alone, file or folder.
Exclusion ExcludedName(std::string_view name);
// By any part of a relative path.
Exclusion ExcludedPath(std::string_view path);

// Left by tools that make them again: nobody misses them.
bool IsMadeAgain(std::string_view name);

// True for names that hold a private key or a certificate: only the content tells.
bool MayHoldPrivateKey(std::string_view name);

// What folders are called that hold downloads: where git ignores one, it is no result of a job.
inline constexpr const char* kDownloads[] = {"data", "datasets", "dataset", ".cache"};

// The .stokerignore of a folder that 'stoker get' has made.
inline constexpr std::string_view kFetchedFolder =
    "# made by 'stoker get': the next job does not pack this folder\n*\n";

// Files whose presence makes a folder a virtual environment of Python, or of conda.
inline constexpr const char* kVenvMarks[] = {"pyvenv.cfg", "conda-meta"};

}  // namespace stoker::pack
