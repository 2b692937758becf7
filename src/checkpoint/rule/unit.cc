// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/unit.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "checkpoint/rule/episode.h"
#include "checkpoint/rule/step_number.h"

namespace stoker {
namespace {

std::string_view LastName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string FolderOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : std::string(path.substr(0, slash));
}

std::string Joined(const std::string& folder, std::string_view name) {
  return folder.empty() ? std::string(name) : folder + "/" + std::string(name);
}

// Of several files beside one another, with more in their names than what is the same in all.
bool IsGroup(const Layout& layout) {
  return PatternsIn(layout.unit).size() > 1 || layout.unit.find("{k}") != std::string_view::npos;
}

// "{name}-{n}.index" with what was captured; '*' for what differs within a unit.
std::string Filled(std::string_view pattern, const Captured& captured) {
  std::string out;
  for (size_t at = 0; at < pattern.size();) {
    if (pattern[at] != '{') {
      out += pattern[at++];
      continue;
    }
    const size_t end = pattern.find('}', at);
    const std::string_view word = pattern.substr(at + 1, end - at - 1);
    const bool differs = word == "i" || word == "k" || word == "w";
    const auto it = captured.find(word);
    out += differs || it == captured.end() ? "*" : it->second;
    at = end + 1;
  }
  return out;
}

class Sorter {
 public:
  Sorter(const Seen& seen, const KnownRows& known) : seen_(seen), known_(known) {}

  SaveUnits Sort() {
    for (const auto& [path, file] : seen_.files()) Add(path, false);
    for (const auto& [path, loss] : seen_.lost()) Add(path, true);
    SaveUnits out;
    for (auto& [id, unit] : units_) {
      if (unit.files.empty()) continue;
      for (const std::string& path : unit.files) out.id_of[path] = id;
      out.by_id.emplace(id, std::move(unit));
    }
    return out;
  }

 private:
  struct Place {
    bool no_save = false;  // a temporary name, or below one
    std::optional<SaveUnit> unit;
  };

  void Add(const std::string& path, bool lost) {
    if (IsStream(path)) return;
    const std::string folder = FolderOf(path);
    const Place& place = PlaceOf(folder);
    if (place.no_save) return;
    const bool temporary = IsTemporary(place.unit, folder, LastName(path));
    if (temporary && !place.unit) return;
    SaveUnit& unit = place.unit ? Known(*place.unit) : Known(UnitOfFile(folder, LastName(path)));
    if (temporary) {
      if (!lost) unit.temporary.push_back(path);
    } else if (lost) {
      unit.lost.insert(path);
    } else {
      unit.files.push_back(path);
    }
  }

  SaveUnit& Known(const SaveUnit& unit) { return units_.try_emplace(unit.id, unit).first->second; }

  // The outermost folder of `folder` that is a unit.
  const Place& PlaceOf(const std::string& folder) {
    const auto known = places_.find(folder);
    if (known != places_.end()) return known->second;
    Place place;
    if (!folder.empty()) {
      const std::string above = FolderOf(folder);
      place = PlaceOf(above);
      if (!place.no_save) place.no_save = IsTemporary(place.unit, above, LastName(folder));
      if (!place.no_save && !place.unit) place.unit = UnitOfFolder(above, folder);
    } else {
      const Layout* layout = LayoutOfFolder("", "");
      if (layout != nullptr)
        place.unit = SaveUnit{.id = ".", .folder = ".", .layout = layout, .line = "."};
    }
    return places_[folder] = std::move(place);
  }

  bool IsTemporary(const std::optional<SaveUnit>& unit, const std::string& folder,
                   std::string_view name) {
    if (MatchesAny(NamesOfNoSave(), name)) return true;
    if (unit) {
      return unit->layout != nullptr && TempOf(*unit->layout, name);
    }
    for (const Layout* layout : Beside(folder)) {
      if (TempOf(*layout, name)) return true;
    }
    return false;
  }

  static bool TempOf(const Layout& layout, std::string_view name) {
    const auto listed = PatternsIn(layout.temp);
    return std::any_of(listed.begin(), listed.end(),
                       [&](std::string_view one) { return MatchesAny(one, name); });
  }

  // Layouts that have a unit in `folder`: their temporary names are none of others.
  const std::set<const Layout*>& Beside(const std::string& folder) {
    const auto known = beside_.find(folder);
    if (known != beside_.end()) return known->second;
    std::set<const Layout*>& out = beside_[folder];
    const std::string below = folder.empty() ? "" : folder + "/";
    std::string last;
    for (auto it = seen_.files().lower_bound(below);
         it != seen_.files().end() && StartsWith(it->first, below); ++it) {
      const std::string_view rest = std::string_view(it->first).substr(below.size());
      const size_t slash = rest.find('/');
      const std::string name(rest.substr(0, slash));
      if (name == last) continue;
      last = name;
      for (const Layout& layout : Layouts()) {
        if (layout.temp.empty()) continue;
        const bool of_folder = layout.unit.back() == '/';
        if (of_folder != (slash != std::string_view::npos)) continue;
        if (of_folder ? FitsFolder(layout, name) : FitsFile(layout, name, nullptr)) {
          out.insert(&layout);
        }
      }
    }
    return out;
  }

  static bool FitsFolder(const Layout& layout, std::string_view name) {
    if (layout.unit.empty() || layout.unit.back() != '/') return false;
    const auto listed = PatternsIn(layout.unit);
    return std::any_of(listed.begin(), listed.end(), [&](std::string_view one) {
      return MatchesName(one.substr(0, one.size() - 1), name);
    });
  }

  static bool FitsFile(const Layout& layout, std::string_view name, Captured* captured) {
    if (layout.unit.back() == '/') return false;
    for (std::string_view one : PatternsIn(layout.unit)) {
      while (!one.empty()) {
        const size_t end = std::min(one.find('|'), one.size());
        if (MatchesName(one.substr(0, end), name, captured)) return true;
        one.remove_prefix(std::min(end + 1, one.size()));
      }
    }
    return false;
  }

  // Whether a file below `folder` (which ends in '/') fits `pattern`; of many, the first are looked
  // at.
  bool HasOne(const std::string& folder, std::string_view pattern) const {
    const size_t wild = std::min(pattern.find_first_of("*?{"), pattern.size());
    const std::string from = folder + std::string(pattern.substr(0, wild));
    if (wild == pattern.size()) return seen_.files().count(from) != 0;
    int looked = 0;
    for (auto it = seen_.files().lower_bound(from);
         it != seen_.files().end() && StartsWith(it->first, from) && ++looked <= kLookedAt; ++it) {
      if (MatchesName(pattern, std::string_view(it->first).substr(folder.size()))) return true;
    }
    return false;
  }

  // The folder `path`, which has any of the files that tell.
  const Layout* LayoutOfFolder(const std::string& path, std::string_view name) const {
    const std::string below = path.empty() ? "" : path + "/";
    for (const Layout& layout : Layouts()) {
      // What lies at the top has the name that the job gives it.
      if (path.empty() ? layout.unit != "*/" : !FitsFolder(layout, name)) continue;
      if (layout.known_by.empty()) return &layout;
      const auto listed = PatternsIn(layout.known_by);
      const bool known = std::any_of(listed.begin(), listed.end(),
                                     [&](std::string_view one) { return HasOne(below, one); });
      if (known) return &layout;
    }
    return nullptr;
  }

  // A folder whose name may be a number of something else, and that has saves in it.
  bool HoldsSaves(const std::string& folder) const {
    const std::string below = folder + "/";
    int looked = 0;
    for (auto it = seen_.files().lower_bound(below);
         it != seen_.files().end() && StartsWith(it->first, below) && ++looked <= kLookedAt; ++it) {
      if (StepInPath(std::string_view(it->first).substr(below.size())).certain()) return true;
    }
    return false;
  }

  std::optional<SaveUnit> UnitOfFolder(const std::string& above, const std::string& folder) {
    const std::string_view name = LastName(folder);
    SaveUnit unit{.id = folder, .folder = folder, .beside = above};
    if (known_.trees.count(folder) != 0) {
      unit.row.name = name;
      unit.line = folder;
      return unit;
    }
    unit.layout = LayoutOfFolder(folder, name);
    GiveRow(&unit, name);
    const auto row = known_.layouts.find(unit.line);
    if (unit.layout == nullptr && row != known_.layouts.end()) unit.layout = row->second;
    if (unit.layout != nullptr) return unit;
    const StepNumber step = StepInPath(name);
    const bool digits = name.find_first_not_of("0123456789") == std::string_view::npos;
    if (!known_.complete.empty() && seen_.files().count(folder + "/" + known_.complete) != 0) {
      return unit;
    }
    if (IsStamp(name)) return std::nullopt;
    const bool save = step.certain() || ((step.of != StepNumber::Of::kNothing || digits) &&
                                         unit.numbered() && !HoldsSaves(folder));
    if (!save) return std::nullopt;
    return unit;
  }

  // By its name alone, so that it is asked once.
  const NamedFile& Named(std::string_view name) const {
    if (known_.named.size() > kMostNames) known_.named.clear();
    const auto [it, fresh] = known_.named.try_emplace(std::string(name));
    NamedFile& named = it->second;
    if (!fresh) return named;
    named.own = name;
    Captured captured;
    for (const Layout& layout : Layouts()) {
      if (!FitsFile(layout, name, &captured)) continue;
      named.layout = &layout;
      break;
    }
    if (named.layout != nullptr && IsGroup(*named.layout)) {
      named.own = Filled(PatternsIn(named.layout->unit).front(), captured);
      named.group = true;
    }
    return named;
  }

  SaveUnit UnitOfFile(const std::string& folder, std::string_view name) const {
    const NamedFile& named = Named(name);
    SaveUnit unit{.beside = folder};
    unit.layout = named.layout;
    unit.group = named.group;
    unit.id = Joined(folder, named.own);
    GiveRow(&unit, named.own);
    return unit;
  }

  bool Rotated(const SaveUnit& unit, std::string_view name) const {
    return !known_.rotated.empty() &&
           known_.rotated.count(Joined(unit.beside, RowOf(name, true).name)) != 0;
  }

  // Deep in a tree, a number alone tells nothing: parts of an array have such names.
  void GiveRow(SaveUnit* unit, std::string_view name) const {
    unit->row = RowOf(name);
    const bool listed = unit->layout != nullptr && unit->layout->unit != "*/";
    const StepNumber step = StepInPath(name);
    const bool told = step.of != StepNumber::Of::kNothing;
    if (!unit->beside.empty() && !listed && !told) unit->row = SaveRow{.name = std::string(name)};
    const bool rotated = unit->layout == nullptr && !unit->numbered() && Rotated(*unit, name);
    if (rotated) unit->row = RowOf(name, true);
    unit->line = Joined(unit->beside, unit->row.name);
    unit->weak = unit->layout == nullptr && !step.certain() && unit->numbered() && !rotated;
    if (known_.none.count(unit->line) != 0) {
      unit->weak = false;
      unit->row = SaveRow{.name = std::string(name)};
      unit->line = unit->id;
    }
  }

  static constexpr int kLookedAt = 200;
  static constexpr size_t kMostNames = 200'000;

  const Seen& seen_;
  const KnownRows& known_;
  std::map<std::string, Place> places_;
  std::map<std::string, std::set<const Layout*>> beside_;
  std::map<std::string, SaveUnit> units_;
};

}  // namespace

std::string_view SaveUnit::Inside(const std::string& path) const {
  const std::string& above = folder.empty() ? beside : folder;
  if (above.empty() || above == ".") return path;
  return std::string_view(path).substr(above.size() + 1);
}

SaveUnits UnitsOf(const Seen& seen, const KnownRows& known) { return Sorter(seen, known).Sort(); }

}  // namespace stoker
