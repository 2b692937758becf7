// SPDX-License-Identifier: Apache-2.0
#include "pack/left_behind.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "base/text.h"
#include "pack/exclusions.h"
#include "pack/git.h"
#include "sys/file.h"

namespace stoker::pack {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostFiles = 100'000;

bool IsEnvironment(const fs::path& folder) {
  return std::any_of(std::begin(kVenvMarks), std::end(kVenvMarks),
                     [&](const char* mark) { return sys::FileExists((folder / mark).string()); });
}

// By 'stoker get'.
bool IsFetched(const fs::path& folder) {
  const auto text = sys::ReadFile((folder / ".stokerignore").string(), 4096);
  return text.ok() && *text == kFetchedFolder;
}

bool NobodyMisses(const fs::path& path, bool folder) {
  const std::string name = path.filename().string();
  if (ExcludedName(name) != Exclusion::kNone || IsMadeAgain(name)) return true;
  return folder && (IsEnvironment(path) || IsFetched(path));
}

class Counting {
 public:
  explicit Counting(const Listing& listing) : listing_(listing) {}

  void Add(const std::string& entry) {
    const bool folder = EndsWith(entry, "/");
    const std::string path = folder ? entry.substr(0, entry.size() - 1) : entry;
    const fs::path full = fs::path(listing_.root) / path;
    const auto& own = listing_.options.exclude;
    if (std::find(own.begin(), own.end(), full.string()) != own.end()) return;
    if (ExcludedPath(path) == Exclusion::kSecret) {
      left_.entries.push_back({entry, LeftBy::kSecret});
      return;
    }
    if (folder && IsEnvironment(full)) left_.entries.push_back({entry, LeftBy::kEnvironment});
    if (NobodyMisses(full, folder) || left_.more) return;
    std::error_code error;
    if (fs::is_symlink(fs::symlink_status(full, error))) {
      const auto& back = listing_.included;
      const bool is_back = std::binary_search(back.begin(), back.end(), path);
      if (!is_back) left_.entries.push_back({entry, LeftBy::kGit});
      return;
    }
    const int64_t files = left_.files;
    bytes_ = 0;
    Count(full);
    left_.bytes += bytes_;
    if (left_.files == files) return;
    left_.entries.push_back({entry, LeftBy::kGit, bytes_});
    if (bytes_ > left_.largest_bytes || left_.largest.empty()) {
      left_.largest = entry;
      left_.largest_bytes = bytes_;
    }
  }

  LeftBehind Take() {
    for (const IgnoredEntry& entry : listing_.ignored) {
      if (!entry.by_git) left_.entries.push_back({entry.path, LeftBy::kIgnoreFile});
    }
    for (const std::string& path : listing_.never) {
      left_.entries.push_back({path, LeftBy::kSecret});
    }
    for (const std::string& path : listing_.environments) {
      left_.entries.push_back({path, LeftBy::kEnvironment});
    }
    std::sort(left_.entries.begin(), left_.entries.end(),
              [](const LeftEntry& a, const LeftEntry& b) {
                return std::tie(a.by, b.bytes, a.path) < std::tie(b.by, a.bytes, b.path);
              });
    return std::move(left_);
  }

 private:
  void CountFile(const fs::path& file) {
    if (!listing_.included.empty()) {
      const std::string path = file.lexically_relative(listing_.root).string();
      if (std::binary_search(listing_.included.begin(), listing_.included.end(), path)) return;
    }
    std::error_code error;
    const auto size = fs::file_size(file, error);
    if (error) return;
    ++left_.files;
    bytes_ += static_cast<int64_t>(size);
  }

  // What cannot be looked at is left out.
  void Count(const fs::path& top) {
    std::error_code error;
    if (!fs::is_directory(fs::symlink_status(top, error))) {
      if (fs::is_regular_file(fs::symlink_status(top, error))) CountFile(top);
      return;
    }
    fs::recursive_directory_iterator at(top, fs::directory_options::skip_permission_denied, error);
    for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
      if (left_.files >= kMostFiles) {
        left_.more = true;
        return;
      }
      std::error_code unseen;
      const bool folder = at->is_directory(unseen) && !at->is_symlink(unseen);
      if (NobodyMisses(at->path(), folder)) {
        if (folder) at.disable_recursion_pending();
      } else if (at->is_regular_file(unseen) && !at->is_symlink(unseen)) {
        CountFile(at->path());
      }
    }
  }

  const Listing& listing_;
  LeftBehind left_;
  int64_t bytes_ = 0;
};

}  // namespace

IgnoredByGit AskIgnored(const Listing& listing) {
  if (listing.knows_ignored) return {};
  return std::async(std::launch::async, AskGitIgnored, listing.root);
}

LeftBehind FindLeftBehind(const Listing& listing, IgnoredByGit ignored) {
  Counting counting(listing);
  for (const IgnoredEntry& entry : listing.ignored) {
    if (entry.by_git) counting.Add(entry.path);
  }
  if (ignored.valid()) {
    const auto answer = ignored.get();
    for (const std::string& entry : answer.ok() ? *answer : std::vector<std::string>()) {
      counting.Add(entry);
    }
  }
  return counting.Take();
}

}  // namespace stoker::pack
