// SPDX-License-Identifier: Apache-2.0
#include "client/submit/packing_notes.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"

namespace stoker::client {

std::string LargestParts(const pack::Listing& listing) {
  constexpr size_t kNamed = 3;
  std::map<std::string, int64_t> sizes;
  for (const pack::ListedEntry& entry : listing.entries) {
    if (entry.kind != pack::EntryKind::kFile) continue;
    const size_t slash = entry.path.find('/');
    sizes[entry.path.substr(0, slash) + (slash == std::string::npos ? "" : "/")] += entry.seen.size;
  }
  std::vector<std::pair<int64_t, std::string>> parts;
  for (const auto& [name, size] : sizes) parts.emplace_back(size, name);
  std::sort(parts.rbegin(), parts.rend());
  std::vector<std::string> said;
  int64_t rest = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i < kNamed) {
      said.push_back(Printable(parts[i].second) + " " + HumanSize(parts[i].first));
    } else {
      rest += parts[i].first;
    }
  }
  if (parts.size() > kNamed) {
    said.push_back(std::to_string(parts.size() - kNamed) + " more " + HumanSize(rest));
  }
  return Join(said, ", ");
}

std::string LeftBehindText(const pack::LeftBehind& left) {
  if (left.files == 0) return "";
  const std::string largest = Printable(left.largest) + " with " + HumanSize(left.largest_bytes);
  const std::string count = left.files == 1 ? "1 file" : std::to_string(left.files) + " files";
  return "left behind, because git ignores it: " + std::string(left.more ? "more than " : "") +
         count + ", " + HumanSize(left.bytes) + (left.files > 1 ? "; the largest is " : ": ") +
         largest + ". '--include PATH' takes it along; large data goes under 'inputs'";
}

namespace {

const char* By(pack::LeftBy by) {
  switch (by) {
    case pack::LeftBy::kGit:
      return kByGit;
    case pack::LeftBy::kIgnoreFile:
      return kByIgnoreFile;
    case pack::LeftBy::kSecret:
      return kByRule;
    case pack::LeftBy::kEnvironment:
      break;
  }
  return kByEnvironment;
}

}  // namespace

std::vector<LeftOut> LeftOutOf(const pack::LeftBehind& left) {
  std::vector<LeftOut> out;
  size_t bytes = 0;
  for (const pack::LeftEntry& entry : left.entries) {
    if (out.size() >= kMostLeftBehind) break;
    if (!IsUtf8(entry.path) || bytes + entry.path.size() > kMostLeftBehindBytes) continue;
    bytes += entry.path.size();
    out.push_back({entry.path, By(entry.by)});
  }
  return out;
}

}  // namespace stoker::client
