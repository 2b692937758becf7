// SPDX-License-Identifier: Apache-2.0
#include "sync/made.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace stoker {
namespace {

// So many folders are told apart; files of others count together and are left out.
constexpr size_t kMostFolders = 50'000;

uint64_t FingerprintOf(const FileFact& fact) {
  std::string text = fact.path;
  text += '\0';
  for (const int64_t number : {static_cast<int64_t>(fact.ino), fact.size, fact.mtime_ns,
                               fact.ctime_ns, static_cast<int64_t>(fact.kind)}) {
    text += std::to_string(number) + " ";
  }
  return std::hash<std::string_view>()(text);
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

void Count(int64_t bytes, MadeGroup* group) {
  ++group->files;
  group->bytes += bytes;
}

}  // namespace

void TreeMemory::Add(const FileFact& fact) { known_.push_back(FingerprintOf(fact)); }

void TreeMemory::Seal() {
  std::sort(known_.begin(), known_.end());
  known_.shrink_to_fit();
}

bool TreeMemory::Has(const FileFact& fact) const {
  return std::binary_search(known_.begin(), known_.end(), FingerprintOf(fact));
}

void MadeTally::Add(const std::string& path, int64_t bytes) {
  const std::string folder = ParentOf(path);
  if (second_) {
    if (folders_.count(folder) != 0 && left_folders_.count(folder) == 0) files_[path] = bytes;
    return;
  }
  ++count_;
  bytes_ += bytes;
  auto known = folders_.find(folder);
  if (known == folders_.end() && folders_.size() < kMostFolders) {
    known = folders_.emplace(folder, MadeGroup{folder, true}).first;
  }
  Count(bytes, known == folders_.end() ? &others_ : &known->second);
  if (count_ <= bounds_.files) files_[path] = bytes;
}

bool MadeTally::Again() {
  if (second_ || count_ <= bounds_.files) return false;
  second_ = true;
  files_.clear();
  std::vector<MadeGroup> groups;
  for (const auto& [path, group] : folders_) groups.push_back(group);
  std::stable_sort(groups.begin(), groups.end(),
                   [](const MadeGroup& a, const MadeGroup& b) { return a.files > b.files; });
  int64_t left = count_ - others_.files;
  if (others_.files > 0) {
    others_.path = "(" + std::to_string(others_.files) + " files in other folders)";
    left_out_.push_back(others_);
  }
  for (const MadeGroup& group : groups) {
    if (left <= bounds_.files) break;
    left -= group.files;
    left_folders_.insert(group.path);
    left_out_.push_back(group);
  }
  return true;
}

MadeChoice MadeTally::Choose() {
  MadeChoice choice;
  choice.files = count_;
  choice.bytes = bytes_;
  choice.left_out = left_out_;
  choice.keep = std::move(files_);
  for (const auto& [path, bytes] : choice.keep) choice.kept_bytes += bytes;
  if (choice.kept_bytes <= bounds_.bytes) return choice;
  std::vector<std::pair<int64_t, std::string>> by_size;
  for (const auto& [path, bytes] : choice.keep) by_size.emplace_back(bytes, path);
  std::sort(by_size.rbegin(), by_size.rend());
  for (const auto& [bytes, path] : by_size) {
    if (choice.kept_bytes <= bounds_.bytes) break;
    choice.kept_bytes -= bytes;
    choice.keep.erase(path);
    choice.left_out.push_back({path, false, 1, bytes});
  }
  return choice;
}

}  // namespace stoker
