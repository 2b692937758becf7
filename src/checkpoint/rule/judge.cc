// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/judge.h"

#include <algorithm>

#include "base/text.h"

namespace stoker {
namespace {

using Standing = UnitVerdict::Standing;

// Blanks separate what must all be there; `patterns` has alternatives of one.
bool Fits(std::string_view patterns, std::string_view inside) {
  return MatchesAny(patterns, inside);
}

class Judgement {
 public:
  Judgement(const SaveUnit& unit, const Seen& seen, const LineState& facts,
            const JudgeOptions& options)
      : unit_(unit), seen_(seen), facts_(facts), options_(options) {
    for (const std::string& path : unit.files) {
      const auto it = seen.files().find(path);
      if (it != seen.files().end()) files_.emplace_back(&path, &it->second);
    }
  }

  UnitVerdict Judge() {
    if (!LooksAtFiles() || IsDying()) return out_;
    if (Unfinished()) return Is(Standing::kWriting);
    if (!HoldsSomething()) return Is(Standing::kNothing);
    out_.alike = unit_.single() || (facts_.files > 0 && files_.size() >= facts_.files);
    if (!facts_.user_mark.empty()) return ByUserMark();
    if (doubtful_ != nullptr) return Is(Standing::kDoubtful, *doubtful_);
    if (!unit_.folder.empty() && NamedAsAWhole()) {
      out_.ends_save = true;
      return Whole(CandidateReason::kRenamed);
    }
    return unit_.layout != nullptr ? ByLayout() : ByItself();
  }

 private:
  using Entry = std::pair<const std::string*, const SeenFile*>;

  UnitVerdict Is(Standing standing, const std::string& file = "") {
    out_.standing = standing;
    out_.file = file;
    return out_;
  }
  UnitVerdict Whole(CandidateReason reason) {
    out_.reason = reason;
    return Is(Standing::kWhole);
  }

  // A rename or a close by who lived on; what was cut short has its format alone.
  bool LooksAtFiles() {
    for (const auto& [path, file] : files_) {
      if (file->proof == Proof::kBroken) return Is(Standing::kBroken, *path), false;
      if (file->open) {
        out_.held = !file->mapped && options_.now - file->begin >= kLingering &&
                    options_.now - file->last_change >= kLingering;
        return Is(Standing::kWriting, *path), false;
      }
      if (file->proof == Proof::kWhole || file->counted == file->version) continue;
      // Who saves because it is told to end is gone a moment later, with any exit code: that it
      // gave the file its name is its last word.
      const bool stands = options_.clean || (options_.obeyed && file->renamed);
      const bool cut = file->doubtful || (file->fate == Fate::kKilled && !stands) ||
                       (options_.ended && !stands && file->fate > Fate::kLikely);
      if (cut && file->fact && file->fact->kind == FileKind::kFile) doubtful_ = path;
      out_.unsure = out_.unsure || (file->fate == Fate::kUnknown && !stands);
    }
    return true;
  }

  // rmtree takes the mark neither first nor last. A lock or a working name that goes never counted.
  bool IsDying() {
    for (const std::string& path : unit_.lost) {
      const auto lost = seen_.lost().find(path);
      if (lost == seen_.lost().end()) continue;
      const Seen::Loss& loss = lost->second;
      const std::string_view inside = unit_.Inside(path);
      if (unit_.layout != nullptr && Fits(unit_.layout->unfinished, inside)) continue;
      const bool recent = options_.now - loss.at < options_.quiet && !options_.ended;
      const bool known =
          unit_.layout != nullptr && !LooksTemporary(path) && !EndsWith(path, "lock");
      if (loss.counted || recent || known) return Is(Standing::kDying, path), true;
    }
    return false;
  }

  bool Unfinished() const {
    if (unit_.layout == nullptr || unit_.layout->unfinished.empty()) return false;
    const std::string mark(unit_.layout->unfinished);
    return std::any_of(files_.begin(), files_.end(),
                       [&](const Entry& entry) { return Fits(mark, unit_.Inside(*entry.first)); });
  }

  bool HoldsSomething() const {
    return std::any_of(files_.begin(), files_.end(), [&](const Entry& entry) {
      const auto& fact = entry.second->fact;
      if (!fact || fact->kind == FileKind::kDirectory) return false;
      if (fact->kind == FileKind::kFile) return fact->size > 0;
      return PointsAtSomething(*entry.first, fact->target);
    });
  }

  bool PointsAtSomething(const std::string& path, std::string target) const {
    while (!target.empty() && target.back() == '/') target.pop_back();
    if (target.empty() || target[0] == '/' || target.find("..") != std::string::npos) return true;
    const size_t slash = path.rfind('/');
    const std::string at = (slash == std::string::npos ? "" : path.substr(0, slash + 1)) + target;
    const auto below = seen_.files().lower_bound(at + "/");
    const auto itself = seen_.files().find(at);
    if (itself != seen_.files().end()) {
      const auto& fact = itself->second.fact;
      return !fact || fact->kind != FileKind::kDirectory;
    }
    return below != seen_.files().end() && StartsWith(below->first, at + "/");
  }

  UnitVerdict ByUserMark() {
    const std::string mark = unit_.folder + "/" + facts_.user_mark;
    const auto it = seen_.files().find(mark);
    const bool behind_all =
        it != seen_.files().end() && std::all_of(files_.begin(), files_.end(), [&](const Entry& e) {
          return EndedBefore(*e.second, it->second);
        });
    if (!behind_all) return Is(Standing::kUnmarked, mark);
    if (doubtful_ != nullptr) return Is(Standing::kDoubtful, *doubtful_);
    out_.ends_save = true;
    return Whole(CandidateReason::kComplete);
  }

  bool NamedAsAWhole() const {
    const uint64_t named = seen_.FolderNamed(unit_.folder);
    return named != 0 && std::all_of(files_.begin(), files_.end(), [&](const Entry& entry) {
             return entry.second->renamed && entry.second->ended <= named;
           });
  }

  UnitVerdict ByLayout() {
    const Layout& layout = *unit_.layout;
    const bool folder = !unit_.folder.empty();
    switch (layout.end) {
      case SaveEnd::kLast:
        return ByMark();
      case SaveEnd::kNamed:
        return ByPointer();
      case SaveEnd::kCounted:
        return ByCount(files_.size(), facts_.files, CandidateReason::kCounted);
      case SaveEnd::kRenamed:
      case SaveEnd::kClosed:
        ByItself();
        out_.ends_save = !folder && layout.certain && layout.alone &&
                         (layout.end == SaveEnd::kClosed || ByRename());
        return out_;
      case SaveEnd::kAnyTime:
      case SaveEnd::kRest:
        break;
    }
    return Is(Standing::kClosed);
  }

  UnitVerdict ByCount(size_t now, size_t before, CandidateReason reason) {
    if (before == 0) return Is(Standing::kClosed);
    out_.fewer = now < before;
    if (out_.fewer) return Is(Standing::kClosed);
    return Whole(reason);
  }

  // The mark is there and closed, and what the layout requires was seen written before it.
  UnitVerdict ByMark() {
    const Layout& layout = *unit_.layout;
    const SeenFile* mark = nullptr;
    for (const auto& [path, file] : files_) {
      if (!Fits(layout.last, unit_.Inside(*path))) continue;
      if (mark == nullptr || file->ended > mark->ended) mark = file;
    }
    const std::string last(layout.last.substr(0, layout.last.find('|')));
    if (mark == nullptr && options_.marks_elsewhere) {
      return ByCount(files_.size(), facts_.files, CandidateReason::kCounted);
    }
    // Files beside one another that are named like a layout's may be of somebody else.
    out_.fewer = mark == nullptr && unit_.group;
    if (mark == nullptr) return Is(unit_.group ? Standing::kClosed : Standing::kUnmarked, last);
    for (std::string_view required : PatternsIn(layout.required)) {
      bool any = false;
      for (const auto& [path, file] : files_) {
        if (!Fits(required, unit_.Inside(*path))) continue;
        any = true;
        if (EndedBefore(*file, *mark) && (file->written() || !mark->written())) continue;
        // It is being written again, or it was copied in with its mark first.
        return Is(facts_.was_whole ? Standing::kUnmarked : Standing::kClosed, *path);
      }
      if (!any) return Is(Standing::kUnmarked, std::string(required));
    }
    if (MissesAlso()) return Is(Standing::kUnmarked, std::string(layout.also));
    if (!mark->written()) return Is(Standing::kClosed);
    const size_t ranks = RanksOf(unit_);
    if (ranks > 0 && !layout.barrier) {
      const UnitVerdict counted = ByCount(ranks, facts_.ranks, CandidateReason::kMark);
      if (!counted.whole()) return counted;
    }
    out_.ends_save = layout.certain;
    return Whole(CandidateReason::kMark);
  }

  bool MissesAlso() const {
    const auto any = [&](std::string_view patterns) {
      return std::any_of(files_.begin(), files_.end(), [&](const Entry& entry) {
        return Fits(patterns, unit_.Inside(*entry.first));
      });
    };
    const Layout& layout = *unit_.layout;
    return !layout.also.empty() && any(layout.where) && !any(layout.also);
  }

  // The pointer names it, and was written behind all of it.
  UnitVerdict ByPointer() {
    const Layout& layout = *unit_.layout;
    const std::string above = unit_.beside.empty() ? "" : unit_.beside + "/";
    for (auto it = seen_.files().lower_bound(above);
         it != seen_.files().end() && StartsWith(it->first, above); ++it) {
      const std::string_view inside = std::string_view(it->first).substr(above.size());
      if (inside.find('/') != std::string_view::npos || !MatchesName(layout.pointer, inside))
        continue;
      const SeenFile& pointer = it->second;
      const bool behind = std::all_of(files_.begin(), files_.end(), [&](const Entry& entry) {
        return EndedBefore(*entry.second, pointer);
      });
      if (pointer.open || !pointer.written() || (!behind && !layout.more_follows)) continue;
      if (!Names(pointer)) continue;
      out_.ends_save = layout.certain;
      return Whole(CandidateReason::kMark);
    }
    return Is(Standing::kClosed);
  }

  bool Names(const SeenFile& pointer) const {
    const std::string text = pointer.fact && pointer.fact->kind == FileKind::kLink
                                 ? pointer.fact->target
                                 : pointer.text.value_or("");
    if (text.empty()) return false;
    const std::string& id = unit_.id;
    const std::string name = id.substr(id.rfind('/') + 1);
    const std::string first = unit_.files.front().substr(unit_.files.front().rfind('/') + 1);
    if (text.find(name) != std::string::npos || text.find(first) != std::string::npos) return true;
    const size_t end = text.find_last_not_of(" \n\r\t") + 1;
    const auto number = WholeNumber(text.substr(0, end), 0, INT64_MAX);
    return number && unit_.numbered() && unit_.row.numbers.front() == *number;
  }

  // What is copied to its name instead (its working name was of another disk) may be one of two.
  bool ByRename() const { return out_.whole() && out_.reason == CandidateReason::kRenamed; }

  // One file, renamed or proven; of several, none speaks for the others.
  UnitVerdict ByItself() {
    const bool link = std::all_of(files_.begin(), files_.end(), [](const Entry& entry) {
      return entry.second->fact && entry.second->fact->kind == FileKind::kLink;
    });
    out_.link = link;
    if (link) return Whole(CandidateReason::kRenamed);
    if (files_.size() > 1 || !unit_.folder.empty()) return Is(Standing::kClosed);
    const SeenFile& file = *files_.front().second;
    if (file.renamed) return Whole(CandidateReason::kRenamed);
    if (file.proof == Proof::kWhole) return Whole(CandidateReason::kProven);
    return Is(Standing::kClosed);
  }

  const SaveUnit& unit_;
  const Seen& seen_;
  const LineState& facts_;
  const JudgeOptions& options_;
  std::vector<Entry> files_;
  const std::string* doubtful_ = nullptr;
  UnitVerdict out_;
};

}  // namespace

std::string_view Name(CandidateReason reason) {
  switch (reason) {
    case CandidateReason::kQuiet:
      return "quiet";
    case CandidateReason::kRenamed:
      return "renamed";
    case CandidateReason::kMark:
      return "mark";
    case CandidateReason::kCounted:
      return "counted";
    case CandidateReason::kNext:
      return "next";
    case CandidateReason::kProven:
      return "proven";
    case CandidateReason::kComplete:
      return "complete";
    case CandidateReason::kTold:
      return "told";
    case CandidateReason::kDone:
      return "done";
    case CandidateReason::kExit:
      return "exit";
  }
  return "quiet";
}

size_t RanksOf(const SaveUnit& unit) {
  if (unit.layout == nullptr) return 0;
  size_t ranks = 0;
  for (std::string_view list : {unit.layout->also, unit.layout->required}) {
    for (std::string_view patterns : PatternsIn(list)) {
      while (!patterns.empty()) {
        const size_t end = std::min(patterns.find('|'), patterns.size());
        const std::string_view one = patterns.substr(0, end);
        patterns.remove_prefix(std::min(end + 1, patterns.size()));
        if (one.find("{k}") == std::string_view::npos) continue;
        for (const std::string& path : unit.files) ranks += MatchesName(one, unit.Inside(path));
      }
    }
  }
  return ranks;
}

UnitVerdict Judge(const SaveUnit& unit, const Seen& seen, const LineState& facts,
                  const JudgeOptions& options) {
  return Judgement(unit, seen, facts, options).Judge();
}

}  // namespace stoker
