// SPDX-License-Identifier: Apache-2.0
#include "node/outputs/stray_saves.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "base/text.h"
#include "checkpoint/rule/episode.h"
#include "checkpoint/rule/step_number.h"
#include "sys/watch/directory_scan.h"

namespace stoker::node {
namespace {

constexpr const char* kEndings[] = {".pt", ".pth", ".ckpt", ".safetensors", ".pth.tar", ".pt.tar"};
constexpr const char* kWords[] = {"ckpt", "checkpoint", "last", "latest"};
constexpr size_t kMostWords = 2;  // more: sam_vit_h_checkpoint.pth is somebody else's

bool LooksLikeOne(const FileFact& fact) {
  if (fact.kind != FileKind::kFile || fact.size == 0) return false;
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](const char* ending) { return EndsWith(fact.path, ending); });
}

// What libraries fetch lies in such folders, under names that checkpoints have, too.
bool LiesInACache(const std::string& path) {
  std::string folder = path.substr(0, path.rfind('/') + 1);
  for (char& c : folder) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return folder.find("cache") != std::string::npos || folder.find("models--") != std::string::npos;
}

std::vector<std::string> WordsOf(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  std::vector<std::string> words;
  bool inside = false;
  for (const unsigned char c : name.substr(0, name.find('.'))) {
    const bool letter = std::isalpha(c) != 0;
    if (letter && !inside) words.emplace_back();
    if (letter) words.back() += static_cast<char>(std::tolower(c));
    inside = letter;
  }
  return words;
}

bool NameTells(const std::string& path) {
  if (StepInPath(path).certain()) return true;
  const std::vector<std::string> words = WordsOf(path);
  return words.size() <= kMostWords && std::any_of(words.begin(), words.end(), [](auto& word) {
           return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
         });
}

// The folder that is the same in the next attempt: version_0 will be version_1.
std::string LastingFolder(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return "";
  const std::string folder = path.substr(0, slash);
  const size_t digit = folder.find_first_of("0123456789");
  const size_t end = digit == std::string::npos ? digit : folder.rfind('/', digit);
  if (digit == std::string::npos || end == std::string::npos) return folder;
  return folder.substr(0, end);
}

std::string Sentence(const std::string& path) {
  const std::string folder = LastingFolder(path);
  if (!folder.empty()) return Printable(path) + " is not kept: --checkpoints " + Printable(folder);
  return Printable(path) +
         " is not kept: save it in a folder of its own, and name that: --checkpoints FOLDER";
}

}  // namespace

StraySaves::StraySaves(std::string workdir, std::function<bool(const std::string& path)> passed)
    : workdir_(std::move(workdir)), passed_(std::move(passed)) {}

bool StraySaves::IsSave(const FileFact& fact) {
  if (NameTells(fact.path)) return true;
  const auto [it, first] = seen_.try_emplace(fact.path, fact);
  const FileFact known = std::exchange(it->second, fact);
  // As long as ever: one that grows is being fetched.
  if (!first && (known.ino != fact.ino || known.mtime_ns != fact.mtime_ns)) {
    return known.size == fact.size;
  }
  if (fact.path.find("-of-") != std::string::npos) return false;
  const std::string role = WithoutNumbers(fact.path);
  if (role == fact.path) return false;
  const auto [other, alone] = of_role_.try_emplace(role, fact.path);
  return !alone && other->second != fact.path && first && known.size == seen_[other->second].size;
}

std::string StraySaves::Look() {
  if (told_) return "";
  std::string found;
  TreeFilter filter;
  filter.enter = [this](const std::string& path) { return !passed_(path); };
  filter.wanted = [&](const FileFact& fact) {
    const bool made = fact.ctime_ns > begun_ns_ && LooksLikeOne(fact) && !LiesInACache(fact.path) &&
                      !passed_(fact.path);
    if (found.empty() && made && IsSave(fact)) found = fact.path;
    return false;
  };
  filter.closed = [](const std::string&, const Status&) {};
  (void)WalkTree(workdir_, filter);  // what a look cannot see is not said
  if (found.empty()) return "";
  told_ = true;
  return Sentence(found);
}

}  // namespace stoker::node
