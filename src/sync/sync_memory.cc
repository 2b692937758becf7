// SPDX-License-Identifier: Apache-2.0
#include "sync/sync_memory.h"

#include <set>
#include <utility>

#include "base/text.h"

namespace stoker {
namespace {

bool FitsLine(const std::string& text) {
  return !text.empty() && text.find_first_of("\t\n") == std::string::npos;
}

}  // namespace

Status SyncMemory::Load() {
  STOKER_ASSIGN(const std::vector<std::string> lines, journal_.Lines());
  lines_ = lines.size();
  for (const std::string& line : lines) {
    std::vector<std::string> words = Split(line, '\t');
    if (words.size() != 4) continue;
    if (words[0] == "=") {
      begun_.erase(words[1]);
      known_[words[1]] = {std::move(words[2]), std::move(words[3])};
    } else if (words[0] == "+") {
      begun_[words[1]] = {std::move(words[2]), std::move(words[3])};
    }
  }
  return Status::Ok();
}

std::string SyncMemory::Begun(const std::string& key, const Version& source) const {
  const auto found = begun_.find(key);
  return found != begun_.end() && found->second.source == source ? found->second.id : "";
}

Status SyncMemory::NoteSame(const std::string& key, const Version& source, const Version& target) {
  if (!FitsLine(key) || !FitsLine(source) || !FitsLine(target)) return Status::Ok();
  return journal_.Add("=\t" + key + "\t" + source + "\t" + target);
}

Status SyncMemory::NoteBegun(const std::string& key, const Version& source, const std::string& id) {
  if (!FitsLine(key) || !FitsLine(source) || !FitsLine(id)) return Status::Ok();
  return journal_.Add("+\t" + key + "\t" + source + "\t" + id);
}

Status SyncMemory::Compact(const std::vector<ObjectInfo>& source) {
  // Lines of this run are not known yet: they count the next time.
  if (lines_ < 2 * (known_.size() + begun_.size()) + 1000 &&
      known_.size() <= source.size() + 1000) {
    return Status::Ok();
  }
  STOKER_ASSIGN(const std::vector<std::string> lines, journal_.Lines());
  std::set<std::string_view> there;
  for (const ObjectInfo& object : source) there.insert(object.key);
  std::map<std::string, const std::string*> last;
  for (const std::string& line : lines) {
    const std::vector<std::string> words = Split(line, '\t');
    if (words.size() == 4 && there.count(words[1]) > 0) last[words[1]] = &line;
  }
  std::vector<std::string> kept;
  for (const auto& [key, line] : last) kept.push_back(*line);
  return journal_.Replace(kept);
}

}  // namespace stoker
