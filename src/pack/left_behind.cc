// SPDX-License-Identifier: Apache-2.0
#include "pack/left_behind.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text.h"
#include "pack/exclusions.h"
#include "pack/git.h"
#include "sys/file.h"

namespace stoker::pack {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostFiles = 100'000;
// Left by tools that make them again.
constexpr std::array<std::string_view, 9> kMadeAgain = {
    "node_modules", ".mypy_cache", ".pytest_cache",      ".ruff_cache", ".tox",
    ".nox",         ".cache",      ".ipynb_checkpoints", ".DS_Store"};

bool NobodyMisses(const fs::path& path, bool folder) {
  const std::string name = path.filename().string();
  if (ExcludedName(name) != Exclusion::kNone || EndsWith(name, ".egg-info")) return true;
  if (std::find(kMadeAgain.begin(), kMadeAgain.end(), name) != kMadeAgain.end()) return true;
  return folder && std::any_of(std::begin(kVenvMarks), std::end(kVenvMarks), [&](const char* mark) {
           return sys::FileExists((path / mark).string());
         });
}

// Adds what lies at `top`; what cannot be looked at is left out.
void Count(const fs::path& top, LeftBehind* all, int64_t* bytes) {
  std::error_code error;
  const auto add = [&](const fs::path& file) {
    const auto size = fs::file_size(file, error);
    if (error) return;
    ++all->files;
    *bytes += static_cast<int64_t>(size);
  };
  if (!fs::is_directory(fs::symlink_status(top, error))) {
    if (fs::is_regular_file(fs::symlink_status(top, error))) add(top);
    return;
  }
  fs::recursive_directory_iterator at(top, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    if (all->files >= kMostFiles) {
      all->more = true;
      return;
    }
    std::error_code unseen;
    const bool folder = at->is_directory(unseen) && !at->is_symlink(unseen);
    if (NobodyMisses(at->path(), folder)) {
      if (folder) at.disable_recursion_pending();
    } else if (at->is_regular_file(unseen) && !at->is_symlink(unseen)) {
      add(at->path());
    }
  }
}

}  // namespace

LeftBehind CountLeftBehind(const Listing& listing) {
  LeftBehind left;
  if (!listing.git.used) return left;
  const auto ignored = AskGitIgnored(listing.root);
  if (!ignored.ok()) return left;
  for (const std::string& entry : *ignored) {
    const bool folder = EndsWith(entry, "/");
    const fs::path path =
        fs::path(listing.root) / (folder ? entry.substr(0, entry.size() - 1) : entry);
    const auto& own = listing.options.exclude;
    if (std::find(own.begin(), own.end(), path.string()) != own.end()) continue;
    if (NobodyMisses(path, folder)) continue;
    int64_t bytes = 0;
    Count(path, &left, &bytes);
    left.bytes += bytes;
    if (bytes > left.largest_bytes || left.largest.empty()) {
      left.largest = entry;
      left.largest_bytes = bytes;
    }
    if (left.more) break;
  }
  return left;
}

}  // namespace stoker::pack
