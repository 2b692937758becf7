// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/sets.h"

#include <algorithm>

#include "base/deliberate_bug.h"
#include "base/text.h"

namespace stoker {
namespace {

// A file that is opened again so soon is written in two goes.
constexpr int kSecondGo = 20;  // parts of `quiet`
// So many members show that a row is one.
constexpr int kShownBy = 3;

const SeenFile& SeenAt(const Seen& seen, const std::string& path) {
  static const SeenFile kGone;
  const auto it = seen.files().find(path);
  return it == seen.files().end() ? kGone : it->second;
}

}  // namespace

SaveLine* Sets::Find(const std::string& line) {
  const auto it = lines_.find(line);
  return it == lines_.end() ? nullptr : &it->second;
}

void Sets::OnRestored(const SaveUnits& units, const Seen& seen) {
  std::vector<std::pair<int64_t, const SaveUnit*>> ordered;
  for (const auto& [id, unit] : units.by_id) {
    int64_t newest = 0;
    for (const std::string& path : unit.files) {
      const auto& file = SeenAt(seen, path);
      at_[path] = file.version;
      if (file.fact) newest = std::max(newest, file.fact->mtime_ns / 1'000'000);
    }
    ordered.emplace_back(newest, &unit);
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  uint64_t place = 0;  // before all that this attempt writes
  int64_t before = -1;
  for (const auto& [time, unit] : ordered) {
    SaveLine& line = lines_[unit->line];
    if (time != before) ++place;
    before = time;
    line.begun = place;
    line.known = 1;
    line.unit = unit->id;
    line.facts.files = unit->files.size();
    line.facts.ranks = RanksOf(*unit);
    line.weak = unit->weak;
    if (unit->layout != nullptr) KnowLayout(unit->line, unit->layout);
  }
}

std::map<int, std::vector<std::string>> Sets::Members(const SaveUnits& units) const {
  std::set<std::string> there;
  for (const auto& [id, unit] : units.by_id) there.insert(unit.line);
  std::map<int, std::vector<std::string>> out;
  for (const auto& [name, line] : lines_) {
    if (there.count(name) != 0) out[line.set].push_back(name);
  }
  for (auto& [set, members] : out) {
    std::sort(members.begin(), members.end(), [&](const std::string& a, const std::string& b) {
      return lines_.at(a).first < lines_.at(b).first;
    });
  }
  return out;
}

uint64_t Sets::EndedAt(const SaveLine& line, const SaveUnits& units, const Seen& seen) const {
  uint64_t ended = line.begun;
  const auto unit = units.by_id.find(line.unit);
  if (unit == units.by_id.end()) return ended;
  for (const std::string& path : unit->second.files) {
    const SeenFile& file = SeenAt(seen, path);
    const bool saving = file.open && seen.last_change() - file.last_change < kLingering;
    ended = std::max(ended, saving ? kNoPlace : file.open ? file.began : file.ended);
  }
  return ended;
}

bool Sets::AllBegun(const std::vector<std::string>& members, const SaveUnits& units,
                    const Seen& seen) const {
  if (BugIsOn("set-half-saved")) return true;
  const SaveLine& first = lines_.at(members.front());
  const uint64_t round = first.begun;
  if (unsure_.count(first.set) != 0) {
    // Whatever the order: each as often as the others.
    return std::all_of(members.begin(), members.end(), [&](const std::string& name) {
      return lines_.at(name).saves == first.saves;
    });
  }
  return std::all_of(members.begin(), members.end(), [&](const std::string& name) {
    return EndedAt(lines_.at(name), units, seen) >= round;
  });
}

bool Sets::Known(const std::vector<std::string>& members) const {
  if (BugIsOn("first-save-at-once")) return true;
  if (Guessed(lines_.at(members.front()).set)) return false;
  return std::any_of(members.begin(), members.end(),
                     [&](const std::string& name) { return lines_.at(name).known >= 2; });
}

// An older member of a row is written again: its numbers count no saves. What lay there before this
// attempt may be written anew by a program that begins again.
bool Sets::NotARow(const SaveLine& line, const SaveUnit& unit, const SaveUnits& units,
                   const Seen& seen) const {
  if ((line.saves == 0 && !unit.weak) || line.unit == unit.id || !unit.numbered()) return false;
  const auto newest = units.by_id.find(line.unit);
  if (newest == units.by_id.end() || !(unit.row.numbers < newest->second.row.numbers)) return false;
  return std::any_of(unit.files.begin(), unit.files.end(), [&](const std::string& path) {
    const auto before = at_.find(path);
    return before != at_.end() && SeenAt(seen, path).version != before->second;
  });
}

// The save that is under way goes on: another file of its folder, or a file's second go.
bool Sets::Continues(const SaveLine& line, const SaveUnit& unit, const SeenWrite& write) const {
  if (line.saves == 0 || line.unit != unit.id) return false;
  const auto written = line.written.find(write.path);
  // Within a save of several files, one may be written twice, and may come late; but not after a
  // pause that nothing of it was written in.
  const bool again = written != line.written.end() && write.paused > written->second;
  if (!unit.single()) return unit.numbered() || (!line.counted && !again);
  if (written == line.written.end()) return true;
  const bool soon = write.at - write.before < quiet_ / kSecondGo && write.from.empty();
  return soon && std::none_of(lines_.begin(), lines_.end(), [&](const auto& entry) {
           return &entry.second != &line && entry.second.set == line.set &&
                  entry.second.begun > line.begun;
         });
}

// Two lines are apart once one was saved twice with no save of the other between. Returns the set
// of those that are now; 0 = there are none.
int Sets::Split(const std::string& name, const SaveLine& line, const SaveUnits& units,
                const Seen& seen) {
  int apart = 0;
  for (auto& [other_name, other] : lines_) {
    if (other_name == name || other.set != line.set) continue;
    if (EndedAt(other, units, seen) >= line.begun) continue;
    if (apart == 0) apart = ++last_set_;
    other.set = apart;
  }
  return apart;
}

// What its lines were until now is one save, and so is what has shown to be apart and was written
// before it.
void Sets::RoundIsOver(const SaveLine& line, int apart, const SaveUnits& units) {
  SavedSet saved;
  for (const auto& [name, member] : lines_) {
    if (member.set != line.set && (apart == 0 || member.set != apart)) continue;
    const auto unit = units.by_id.find(member.unit);
    std::map<std::string, uint64_t> versions;
    if (unit == units.by_id.end()) {
      versions = member.written;
    } else {
      for (const std::string& path : unit->second.files) {
        if (const auto at = at_.find(path); at != at_.end()) versions[path] = at->second;
      }
    }
    if (versions.empty()) continue;
    saved.lines.insert(name);
    saved.units.insert(member.unit);
    saved.versions.insert(versions.begin(), versions.end());
  }
  if (!saved.versions.empty()) saved_[line.set] = std::move(saved);
}

bool Sets::IsFirst(const SaveLine& line) const {
  return std::none_of(lines_.begin(), lines_.end(), [&](const auto& entry) {
    return entry.second.set == line.set && entry.second.first < line.first;
  });
}

void Sets::BeginsAgain(const std::string& name, SaveLine* line, const SeenWrite& write,
                       const SaveUnits& units, const Seen& seen) {
  const auto others = [&](const auto& holds) {
    return std::any_of(lines_.begin(), lines_.end(), [&](const auto& entry) {
      return &entry.second != line && entry.second.set == line->set && holds(entry.second);
    });
  };
  const bool alone = !others([](const SaveLine&) { return true; });
  const bool unplaced = write.found && !write.placed && !alone;
  const bool leads = !others([&](const SaveLine& one) { return one.saves > line->saves; });
  const bool unsure = unsure_.count(line->set) != 0;
  if (unsure && leads && !unplaced) {
    // Whatever came first in the round before: this begins the next.
    for (auto& [other_name, other] : lines_) {
      if (other.set == line->set) other.first = kNoPlace;
    }
    line->first = write.began;
    unsure_.erase(line->set);
    RoundIsOver(*line, 0, units);
  } else if (!unsure && !unplaced) {
    const int apart = line->unplaced ? 0 : Split(name, *line, units, seen);
    if (IsFirst(*line)) RoundIsOver(*line, apart, units);
  }
  const auto unit = units.by_id.find(line->unit);
  if (unit == units.by_id.end()) return;
  line->facts.files = unit->second.files.size();
  line->facts.ranks = RanksOf(unit->second);
  if (unit->second.layout != nullptr) KnowLayout(name, unit->second.layout);
}

// What was written under a name that went when it was whole is no line.
void Sets::ForgetWorkingName(const std::string& from, const SaveUnits& units) {
  std::erase_if(lines_, [&](const auto& entry) {
    const std::string& unit = entry.second.unit;
    const bool its = unit == from || StartsWith(from, unit + "/");
    return its && units.by_id.count(unit) == 0;
  });
}

SaveLine* Sets::Line(const SaveUnit& unit, const SeenWrite& write) {
  const auto [it, fresh] = lines_.try_emplace(unit.line);
  if (fresh) {
    it->second.first = write.began;
    it->second.set = newest_set_;
    it->second.weak = unit.weak;
  }
  return &it->second;
}

// A pause since its last save, or a third member, shows that the members of a row are saves: parts
// of one have no pause between them.
bool Sets::Guessed(int set) const {
  return std::any_of(lines_.begin(), lines_.end(), [&](const auto& entry) {
    return entry.second.set == set && entry.second.weak;
  });
}

void Sets::Begins(SaveLine* line, const SaveUnit& unit, const SeenWrite& write) {
  line->unit = unit.id;
  line->begun = write.began;
  line->ctime_ns = write.ctime_ns;
  line->found = write.found;
  newest_set_ = line->set;
  line->written.clear();
  line->counted = false;
  ++line->saves;
  ++line->known;
  saves_ = std::max<int64_t>(saves_, line->saves);
  // The kernel's times tie within a tick of its clock.
  const bool tied = std::any_of(lines_.begin(), lines_.end(), [&](const auto& entry) {
    const SaveLine& other = entry.second;
    return &other != line && other.set == line->set && other.ctime_ns == line->ctime_ns &&
           (other.found || line->found);
  });
  line->unplaced = write.found && !write.placed;
  if ((tied || line->unplaced) && (line->saves == 1 || IsFirst(*line))) unsure_.insert(line->set);
}

bool Sets::Follow(std::vector<SeenWrite>* writes, const SaveUnits& units, const Seen& seen) {
  for (auto it = writes->begin(); it != writes->end(); ++it) {
    const SeenWrite& write = *it;
    if (!write.from.empty()) ForgetWorkingName(write.from, units);
    const auto id = units.id_of.find(write.path);
    const auto& fact = SeenAt(seen, write.path).fact;
    const bool folder = fact && fact->kind == FileKind::kDirectory;
    if (id == units.id_of.end() || folder) continue;
    const SaveUnit& unit = units.by_id.at(id->second);
    if (write.put_aside) {
      at_[write.path] = write.version;
      continue;
    }
    SaveLine& line = *Line(unit, write);
    if (NotARow(line, unit, units, seen)) {
      rows_.none.insert(unit.line);
      // What was taken for saves were parts of one.
      ForgetLines();
      writes->erase(writes->begin(), it);
      return true;
    }
    if (!Continues(line, unit, write)) {
      if (line.saves == 0 || line.first == kNoPlace) line.first = write.began;
      // Written again under the same name, its number counts no saves.
      const bool other = line.known > 0 && line.unit != unit.id;
      const bool shown = other && (write.paused > line.begun || line.known + 1 >= kShownBy);
      line.weak = line.weak && (line.known == 0 || (other && !shown));
      if (line.known > 0) BeginsAgain(unit.line, &line, write, units, seen);
      Begins(&line, unit, write);
    }
    line.written[write.path] = write.version;
    at_[write.path] = write.version;
  }
  writes->clear();
  return false;
}

void Sets::Counted(const std::string& line) {
  if (SaveLine* found = Find(line)) found->counted = true;
}

// Which belong together shows from here on.
void Sets::ForgetLines() {
  lines_.clear();
  unsure_.clear();
  saved_.clear();
  newest_set_ = 0;
}

// shard-1 went, shard-2 stayed, and shard-3 came: parts of one save do not go like that.
bool Sets::KnowRotation(const SaveUnits& units) {
  std::map<std::string, std::set<int64_t>> now;
  for (const auto& [id, unit] : units.by_id) {
    if (!unit.single() || unit.layout != nullptr || unit.numbered()) continue;
    const SaveRow row = RowOf(id.substr(id.rfind('/') + 1), true);
    if (row.numbers.size() != 1) continue;
    now[unit.beside.empty() ? row.name : unit.beside + "/" + row.name].insert(row.numbers[0]);
  }
  bool news = false;
  for (const auto& [line, numbers] : now) {
    Parts& parts = parts_[line];
    const int64_t highest = *numbers.rbegin();
    if (numbers.count(parts.gone) != 0) parts.gone = -1;
    for (const int64_t number : parts.there) {
      if (numbers.count(number) == 0 && number < highest) parts.gone = std::max(parts.gone, number);
    }
    const bool later = !parts.there.empty() && highest > *parts.there.rbegin();
    const auto stayed = numbers.upper_bound(parts.gone);
    if (parts.gone >= 0 && later && stayed != numbers.end() && *stayed < highest) {
      news = rows_.rotated.insert(line).second || news;
    }
    parts.there = numbers;
  }
  if (news) ForgetLines();
  return news;
}

bool Sets::KnowTrees(const SaveUnits& units) {
  std::map<std::string, size_t> in;
  bool news = false;
  for (const auto& [id, unit] : units.by_id) {
    const size_t slash = id.find('/');
    if (slash == std::string::npos || !unit.single()) continue;
    if (++in[id.substr(0, slash)] == kMostInATree) {
      news = rows_.trees.insert(id.substr(0, slash)).second || news;
    }
  }
  return news;
}

void Sets::ForgetOrder() {
  saved_.clear();
  newest_set_ = 0;
  for (auto& [name, line] : lines_) {
    line.set = 0;
    line.known = std::min(line.known, 1);
    line.written.clear();
  }
}

}  // namespace stoker
