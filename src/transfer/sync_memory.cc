// SPDX-License-Identifier: Apache-2.0
#include "transfer/sync_memory.h"

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
  in_doubt_ = false;
  writing_ = false;
  unsettled_.clear();
  std::string boot;
  for (const std::string& line : lines) {
    std::vector<std::string> words = Split(line, '\t');
    if (words[0] == "!" && words.size() == 2) {
      if (writing_ && boot != words[1]) Doubt();
      writing_ = true;
      boot = words[1];
    } else if (line == ".") {
      in_doubt_ = writing_ = false;
      unsettled_.clear();
    } else if (words[0] == "@" && words.size() == 2) {
      bucket_ = words[1];
    }
    if (words.size() != 4) continue;
    if (words[0] == "=") {
      if (writing_) unsettled_.insert(words[1]);
      begun_.erase(words[1]);
      known_[words[1]] = {std::move(words[2]), std::move(words[3])};
    } else if (words[0] == "+") {
      begun_[words[1]] = {std::move(words[2]), std::move(words[3])};
    }
  }
  if (writing_ && (boot != boot_ || boot_.empty())) Doubt();
  return Status::Ok();
}

void SyncMemory::Doubt() {
  for (const std::string& key : unsettled_) known_.erase(key);
  unsettled_.clear();
  in_doubt_ = true;
}

Status SyncMemory::BeginWriting(const TransferSide& target) {
  // Elsewhere times are not trusted, and what was acknowledged lasts.
  if (!target.keeps_times()) return Status::Ok();
  writing_ = true;
  STOKER_TRY(journal_.Add("!\t" + boot_));
  return journal_.Settle();
}

Status SyncMemory::EndWriting(TransferSide& target, bool all) {
  if (!writing_) return Status::Ok();
  STOKER_TRY(target.Settle());
  if (in_doubt_ && !all) return Status::Ok();
  STOKER_TRY(journal_.Add("."));
  in_doubt_ = writing_ = false;
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

Status SyncMemory::NoteBucket(const std::string& url) {
  if (url == bucket_ || !FitsLine(url)) return Status::Ok();
  bucket_ = url;
  return journal_.Add("@\t" + url);
}

Status SyncMemory::ForgetBegun() {
  STOKER_ASSIGN(std::vector<std::string> lines, journal_.Lines());
  std::erase_if(lines, [](const std::string& line) { return StartsWith(line, "+\t"); });
  begun_.clear();
  return journal_.Replace(lines);
}

Status SyncMemory::Compact(const std::vector<ObjectInfo>& source) {
  if (writing_) return Status::Ok();
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
  if (!bucket_.empty()) kept.push_back("@\t" + bucket_);
  for (const auto& [key, line] : last) kept.push_back(*line);
  return journal_.Replace(kept);
}

}  // namespace stoker
