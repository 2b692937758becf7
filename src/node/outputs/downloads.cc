// SPDX-License-Identifier: Apache-2.0
#include "node/outputs/downloads.h"

#include <algorithm>

#include "base/text.h"
#include "pack/exclusions.h"
#include "pack/ignore.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

constexpr int64_t kMostRules = 4 << 20;
constexpr size_t kMostTold = 5;

bool IsNamedSo(const std::string& folder) {
  const std::string name = folder.substr(folder.rfind('/') + 1);
  return std::find(std::begin(pack::kDownloads), std::end(pack::kDownloads), name) !=
         std::end(pack::kDownloads);
}

bool IsCacheFolder(const std::string& folder) {
  return folder.substr(folder.rfind('/') + 1) == ".cache";
}

}  // namespace

std::string Downloads::Around(const std::string& path) const {
  for (size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    std::string folder = path.substr(0, slash);
    if (found_.count(folder) > 0) return folder;
  }
  return "";
}

void Downloads::Enter(const std::string& folder) {
  if (!IsNamedSo(folder) || small_.count(folder) > 0 || !Around(folder).empty()) return;
  if (GitIgnores(folder)) found_[folder] = {};
}

bool Downloads::Has(const std::string& path, bool* cache) const {
  const std::string folder = Around(path + "/");
  *cache = !folder.empty() && IsCacheFolder(folder);
  return !folder.empty();
}

void Downloads::Add(const std::string& path, int64_t bytes) {
  Amount& amount = found_[Around(path)];
  ++amount.files;
  amount.bytes += bytes;
}

bool Downloads::DropSmall() {
  bool again = false;
  for (auto it = found_.begin(); it != found_.end();) {
    if (it->second.bytes > kMost) {
      ++it;
      continue;
    }
    // What tools cache is not kept in any case.
    const bool looked_at = it->second.files > 0 && !IsCacheFolder(it->first);
    if (looked_at) small_.insert(it->first);
    again = again || looked_at;
    it = found_.erase(it);
  }
  return again;
}

std::string Downloads::Sentence(bool sizes) const {
  if (found_.empty()) return "";
  std::vector<std::pair<int64_t, std::string>> folders;
  for (const auto& [folder, amount] : found_) {
    std::string said = Printable(folder) + "/";
    if (sizes) said += " (" + HumanFiles(amount.files) + ", " + HumanSize(amount.bytes) + ")";
    folders.emplace_back(sizes ? -amount.bytes : 0, said);
  }
  std::sort(folders.begin(), folders.end());
  std::vector<std::string> named;
  for (const auto& [order, said] : folders) {
    if (named.size() < kMostTold) named.push_back(said);
  }
  if (folders.size() > kMostTold) {
    named.push_back(std::to_string(folders.size() - kMostTold) + " more");
  }
  return "not kept, as downloads are no results: " + Join(named, ", ") +
         ": git ignores it, and it holds more than " + HumanSize(kMost) +
         ". To keep it, name it under 'outputs' in the job file, with all else that is to be kept";
}

// Also where git ignores whatever is put into the folder ("data/*"), and not the folder.
bool Downloads::GitIgnores(const std::string& folder) const {
  pack::IgnoreTree rules;
  rules.Add("", ignored_);
  const std::string path = folder + "/";
  for (size_t end = 0; end != std::string::npos; end = path.find('/', end + 1)) {
    const std::string at = path.substr(0, end);
    const auto text =
        sys::ReadFile(workdir_ + "/" + (at.empty() ? "" : at + "/") + ".gitignore", kMostRules);
    if (text.ok()) rules.Add(at, *text);
    if (!at.empty() && rules.IgnoresEntry(at, true)) return true;
  }
  return rules.IgnoresEntry(path + "stoker-looks", false);
}

}  // namespace stoker::node
