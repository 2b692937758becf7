// SPDX-License-Identifier: Apache-2.0
#include "outputs/produced.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace stoker {
namespace {

// So many kinds are told apart; files of others count together and are left out.
constexpr size_t kMostKinds = 50'000;

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

bool IsHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// "frame-0001.png" and "frame-0002.png" are of one kind, and so are names made of digests.
std::string KindOf(std::string_view name) {
  std::string kind;
  for (size_t at = 0; at < name.size();) {
    size_t end = at;
    bool number = false;
    for (; end < name.size() && (IsHex(name[end]) || name[end] == '-' || name[end] == '_'); ++end) {
      number |= name[end] >= '0' && name[end] <= '9';
    }
    end = std::max(end, at + 1);
    if (number) {
      kind += '#';
    } else {
      kind += name.substr(at, end - at);
    }
    at = end;
  }
  return kind;
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

void ProducedTally::Add(const std::string& path, int64_t bytes) {
  if (second_) return AddAgain(path, bytes);
  ++count_;
  bytes_ += bytes;
  const std::string folder = ParentOf(path);
  const Kind kind{folder, KindOf(std::string_view(path).substr(folder.size()))};
  auto known = kinds_.find(kind);
  if (known == kinds_.end() && kinds_.size() < kMostKinds)
    known = kinds_.emplace(kind, Count{}).first;
  Count& count = known == kinds_.end() ? others_ : known->second;
  ++count.files;
  count.bytes += bytes;
  if (count_ <= bounds_.files) files_[path] = bytes;
}

void ProducedTally::AddAgain(const std::string& path, int64_t bytes) {
  const std::string folder = ParentOf(path);
  const Kind kind{folder, KindOf(std::string_view(path).substr(folder.size()))};
  const auto known = kinds_.find(kind);
  if (known == kinds_.end()) return;
  if (known->second.kept) {
    files_[path] = bytes;
  } else if (part_ == kind) {
    part_files_[path] = bytes;
    if (static_cast<int64_t>(part_files_.size()) > part_room_) {
      part_files_.erase(std::prev(part_files_.end()));
    }
  }
}

bool ProducedTally::Again() {
  if (second_ || count_ <= bounds_.files) return false;
  second_ = true;
  files_.clear();
  std::map<std::string, int64_t> in_folder;
  for (const auto& [kind, count] : kinds_) in_folder[kind.first] += count.files;
  std::vector<std::pair<const Kind, Count>*> by_size;
  for (auto& each : kinds_) by_size.push_back(&each);
  std::stable_sort(by_size.begin(), by_size.end(), [&](const auto* a, const auto* b) {
    if (a->second.files != b->second.files) return a->second.files < b->second.files;
    return in_folder[a->first.first] < in_folder[b->first.first];
  });
  part_room_ = bounds_.files;
  for (auto* each : by_size) {
    if (each->second.files > part_room_) {
      part_ = each->first;
      break;
    }
    each->second.kept = true;
    part_room_ -= each->second.files;
  }
  return true;
}

// By folder, those with the most files first.
std::vector<ProducedGroup> ProducedTally::LeftOut() const {
  if (!second_) return {};
  std::map<std::string, ProducedGroup> folders;
  for (const auto& [kind, count] : kinds_) {
    ProducedGroup& folder = folders[kind.first];
    folder.path = kind.first;
    folder.folder = true;
    folder.of += count.files;
    if (count.kept) continue;
    folder.files += count.files;
    folder.bytes += count.bytes;
  }
  if (part_) {
    ProducedGroup& folder = folders[part_->first];
    folder.files -= static_cast<int64_t>(part_files_.size());
    for (const auto& [path, bytes] : part_files_) folder.bytes -= bytes;
  }
  std::vector<ProducedGroup> left_out;
  for (const auto& [path, folder] : folders) {
    if (folder.files > 0) left_out.push_back(folder);
  }
  if (others_.files > 0) {
    const std::string name = "(" + std::to_string(others_.files) + " files of other names)";
    left_out.push_back({name, true, others_.files, others_.bytes});
  }
  std::stable_sort(
      left_out.begin(), left_out.end(),
      [](const ProducedGroup& a, const ProducedGroup& b) { return a.files > b.files; });
  return left_out;
}

ProducedChoice ProducedTally::Choose() {
  ProducedChoice choice;
  choice.files = count_;
  choice.bytes = bytes_;
  choice.left_out = LeftOut();
  choice.keep = std::move(files_);
  choice.keep.merge(part_files_);
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
