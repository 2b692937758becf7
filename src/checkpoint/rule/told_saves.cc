// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/told_saves.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace stoker {
namespace {

// A program that never ends what it begins is told so long before.
constexpr size_t kMostOpen = 10'000;
constexpr int kMostRemarks = 20;

std::string_view Trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t\r"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t\r") + 1);
}

std::string_view TakeWord(std::string_view* text) {
  *text = Trimmed(*text);
  const size_t end = std::min(text->find_first_of(" \t"), text->size());
  const std::string_view word = text->substr(0, end);
  text->remove_prefix(end);
  *text = Trimmed(*text);
  return word;
}

// The JSON string that `text` begins with; false: it is none.
bool TakeQuoted(std::string_view* text, std::string* out) {
  size_t end = 1;
  while (end < text->size() && (*text)[end] != '"') end += (*text)[end] == '\\' ? 2 : 1;
  if (end >= text->size()) return false;
  const auto value = nlohmann::json::parse(text->substr(0, end + 1), nullptr, false);
  if (!value.is_string()) return false;
  *out = value.get<std::string>();
  text->remove_prefix(end + 1);
  *text = Trimmed(*text);
  return true;
}

// Without "./", "//" and a '/' at its end.
std::string Plain(const std::string& path) {
  std::string out;
  for (const std::string& part : Split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (!out.empty()) out += '/';
    out += part;
  }
  return StartsWith(path, "/") ? "/" + out : out;
}

}  // namespace

bool ToldSaves::Save::Covers(std::string_view path) const {
  return std::any_of(paths.begin(), paths.end(), [&](const std::string& own) {
    return own.empty() || path == own || (StartsWith(path, own) && path[own.size()] == '/');
  });
}

void ToldSaves::AddPath(Save* save, std::string path) {
  path = Plain(path);
  for (const std::string& name : names_) {
    if (path != name && !StartsWith(path, name + "/")) continue;
    path.erase(0, std::min(path.size(), name.size() + 1));
    break;
  }
  if (!StartsWith(path, "/") && !StartsWith(path, "../")) {
    save->paths.insert(path);
  } else {
    Remark("'" + Printable(path) + "' of save " + Printable(save->id) +
           " does not lie in the checkpoint directory");
  }
}

void ToldSaves::Begin(const std::string& id, std::string_view rest) {
  if (open_.size() >= kMostOpen && open_.count(id) == 0) return;
  Save& save = open_[id];
  save.id = id;
  save.begun = lines_;
  if (rest.empty()) save.paths.insert("");
  if (rest.empty() || rest.front() != '"') {
    if (!rest.empty()) AddPath(&save, std::string(rest));
    return;
  }
  std::string path;
  while (!rest.empty() && rest.front() == '"' && TakeQuoted(&rest, &path)) AddPath(&save, path);
  if (rest.empty()) return;
  Remark("'" + Printable(std::string(rest)) + "' of save " + Printable(id) + " is no JSON string");
}

void ToldSaves::OnLine(std::string_view line) {
  ++lines_;
  std::string_view rest = line;
  const std::string_view word = TakeWord(&rest);
  if (word.empty()) return;
  const std::string id(TakeWord(&rest));
  if (word == "begin" && !id.empty()) return Begin(id, rest);
  const bool ends = (word == "end" || word == "failed") && !id.empty() && rest.empty();
  const auto open = open_.find(id);
  if (ends && open != open_.end()) {
    open->second.ended = lines_;
    (word == "end" ? ended_ : failed_).push_back(std::move(open->second));
    open_.erase(open);
    return;
  }
  const std::string text = "'" + Printable(std::string(line.substr(0, 80))) + "'";
  Remark(ends ? text + " has no 'begin " + Printable(id) + "' before it"
              : text + " is none of 'begin ID [PATH]', 'end ID', 'failed ID'");
}

void ToldSaves::Remark(const std::string& what) {
  if (remarked_++ < kMostRemarks) remarks_.push_back(what);
}

std::vector<ToldSaves::Save> ToldSaves::TakeEnded() { return std::exchange(ended_, {}); }
std::vector<ToldSaves::Save> ToldSaves::TakeFailed() { return std::exchange(failed_, {}); }
std::vector<std::string> ToldSaves::TakeRemarks() { return std::exchange(remarks_, {}); }

std::vector<ToldSaves::Save> ToldSaves::TakeOpen() {
  std::vector<Save> out;
  for (auto& [id, save] : open_) out.push_back(std::move(save));
  open_.clear();
  return out;
}

const ToldSaves::Save* ToldSaves::Open(std::string_view path) const {
  for (const auto& [id, save] : open_) {
    if (save.Covers(path)) return &save;
  }
  return nullptr;
}

}  // namespace stoker
