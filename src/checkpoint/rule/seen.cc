// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/seen.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/deliberate_bug.h"
#include "base/text.h"
#include "checkpoint/rule/episode.h"

namespace stoker {
namespace {

// A hint of a write that no scan confirms is over after this long (a hard link, for example, is
// created without ever being closed).
constexpr Duration kUnconfirmed = Duration::Ms(100);
// How long before a look that found room a write may have been refused: idle looks are 3 s apart.
constexpr Duration kFullMargin = Duration::Seconds(10);
// When a part of a program is killed, the rest follows within moments.
constexpr Duration kAftermath = Duration::Seconds(2);

bool SameContent(const FileFact& a, const FileFact& b) {
  return a.kind == b.kind && a.ino == b.ino && a.size == b.size && a.mtime_ns == b.mtime_ns &&
         a.target == b.target;
}

std::string_view NameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// It, or a folder that it lies in.
bool IsOrIsIn(const std::set<std::string>& paths, const std::string& path) {
  if (paths.empty()) return false;
  for (size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
    if (paths.count(path.substr(0, at)) != 0) return true;
  }
  return paths.count(path) != 0;
}

}  // namespace

bool EndedBefore(const SeenFile& a, const SeenFile& b) {
  const bool timed = (a.unheard || b.unheard) && a.fact && b.fact && a.fact->ctime_ns != 0;
  return timed ? a.fact->ctime_ns <= b.fact->ctime_ns : a.ended <= b.ended;
}

bool LooksTemporary(std::string_view path) {
  constexpr std::array<std::string_view, 9> kWords = {
      "tmp", "temp", "part", "partial", "incomplete", "unfinished", "writing", "new", "saving"};
  const std::string_view name = NameOf(path);
  if (StartsWith(name, ".") || EndsWith(name, "~")) return true;
  std::string word;
  const auto is_one = [&] { return std::find(kWords.begin(), kWords.end(), word) != kWords.end(); };
  for (char c : name) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    if (is_one()) return true;
    word.clear();
  }
  return is_one() || StartsWith(word, "tmp");
}

void Seen::ForgetCopies() {
  for (auto& [path, file] : files_) file.copied = file.counted = 0;
}

void Seen::WritesGoOn() {
  for (auto& [path, file] : files_) {
    if (file.open) file.version = Next();
  }
}

SeenFile* Seen::Find(const std::string& path) {
  const auto it = files_.find(path);
  return it == files_.end() ? nullptr : &it->second;
}

std::vector<SeenWrite> Seen::TakeWrites() {
  std::vector<SeenWrite> out = std::move(writes_);
  writes_.clear();
  std::stable_sort(out.begin(), out.end(),
                   [](const SeenWrite& a, const SeenWrite& b) { return a.began < b.began; });
  return out;
}

bool Seen::TakeLost() { return std::exchange(events_lost_, false); }
bool Seen::TakeRenaming() { return std::exchange(renaming_, false); }

uint64_t Seen::FolderNamed(const std::string& folder) const {
  const auto it = folders_.find(folder);
  return it == folders_.end() ? 0 : it->second;
}

void Seen::Changed(const std::string& path, MonoTime at) {
  if (!IsStream(path)) last_change_ = std::max(last_change_, at);
}

void Seen::Begin(const std::string& path, MonoTime at, bool by_event, bool found) {
  const auto [it, fresh] = files_.try_emplace(path);
  SeenFile& file = it->second;
  renaming_ = renaming_ || fresh;
  const MonoTime before = file.last_change;
  if (at - last_change_ >= quiet_) paused_ = Next();
  Changed(path, at);
  file.last_change = at;
  file.touched = true;
  lost_.erase(path);
  if (file.open) return;
  file.open = true;
  file.by_event = by_event;
  file.begin = at;
  file.began = Next();
  file.version = file.began;
  file.doubtful = false;
  file.renamed = false;
  file.unheard = found;
  file.found = found;
  file.paused = paused_;
  file.shrunk = false;
  file.proof = Proof::kNotLooked;
  file.text.reset();
  if (IsStream(path)) return;
  SeenWrite write{path, file.began, at, before, file.version};
  write.found = found;
  write.paused = paused_;
  writes_.push_back(std::move(write));
}

// The disk was full while a file was written that was opened about `begin`. It is looked at now and
// then; a write that it refuses changes nothing and is not heard of, nor is the file's opening.
bool Seen::FullSince(MonoTime begin) const {
  return last_full_ && *last_full_ + kFullMargin >= begin;
}

void Seen::End(const std::string& path, MonoTime at, Fate fate, bool disk_full) {
  if (!files_[path].open) Begin(path, at, true, false);
  SeenFile& file = files_[path];
  file.open = false;
  file.mapped = false;
  file.fate = BugIsOn("tainted-file") ? Fate::kLived : fate;
  file.doubtful = file.doubtful || disk_full || FullSince(file.begin);
  file.last_change = at;
  file.ended = Next();
  file.touched = true;
  ever_closed_ = ever_closed_ || !IsStream(path);
  Changed(path, at);
}

void Seen::ForgetWrite(const std::string& path) {
  std::erase_if(writes_, [&](const SeenWrite& write) { return write.path == path; });
}

// What was written under another name was this file all along; what had been copied under it was
// whole there, and is only put aside.
void Seen::MoveFile(const std::string& from, const std::string& to, const FileEvent& event) {
  const auto it = files_.find(from);
  if (it == files_.end()) {
    Begin(to, event.at, true, false);
    files_[to].renamed = true;
    End(to, event.at, event.fate, event.disk_full);
    return;
  }
  SeenFile file = std::move(it->second);
  files_.erase(it);
  renaming_ = true;
  const bool aside = file.copied != 0 && file.copied == file.version && !LooksTemporary(from);
  ForgetWrite(from);
  file.version = Next();
  file.copied = 0;
  file.counted = 0;
  file.proof = Proof::kNotLooked;
  file.renamed = true;
  file.unheard = file.found = false;
  file.touched = true;
  file.last_change = event.at;
  file.fate = std::max(event.fate, file.fate);
  file.doubtful = file.doubtful || event.disk_full;
  if (file.began == 0) {
    file.began = Next();
    file.begin = event.at;
  }
  if (!file.open) file.ended = Next();
  ever_closed_ = ever_closed_ || !IsStream(to);
  if (file.fact) file.fact->path = to;
  lost_.erase(to);
  if (!IsStream(to)) {
    const uint64_t began = aside ? Next() : file.began;
    SeenWrite write{to, began, file.begin, file.begin, file.version, from, aside};
    write.paused = file.paused;
    writes_.push_back(std::move(write));
  }
  files_[to] = std::move(file);
  Changed(to, event.at);
}

void Seen::MoveDirectory(const FileEvent& event) {
  const std::string from = event.from + "/";
  std::vector<std::string> moved;
  for (auto it = files_.lower_bound(from); it != files_.end() && StartsWith(it->first, from); ++it)
    moved.push_back(it->first);
  const std::string to = event.path + "/";
  std::erase_if(lost_, [&](const auto& entry) {
    return StartsWith(entry.first, from) || StartsWith(entry.first, to);
  });
  for (const std::string& path : moved) {
    FileEvent one = event;
    const Fate fate = files_[path].fate;
    one.fate = std::max(fate, Fate::kLived);
    MoveFile(path, to + path.substr(from.size()), one);
  }
  folders_[event.path] = Next();
  Changed(event.path, event.at);
}

void Seen::MoveIn(const FileEvent& event) {
  if (event.directory) {
    if (!event.from.empty()) MoveDirectory(event);
    folders_[event.path] = Next();
    Changed(event.path, event.at);
    return;
  }
  MoveFile(event.from, event.path, event);
}

void Seen::Gone(const std::string& path, MonoTime at) {
  const std::string below = path + "/";
  std::vector<std::string> gone;
  if (files_.count(path) != 0) gone.push_back(path);
  for (auto it = files_.lower_bound(below); it != files_.end() && StartsWith(it->first, below);
       ++it) {
    gone.push_back(it->first);
  }
  for (const std::string& one : gone) {
    const SeenFile& file = files_.at(one);
    const bool held = file.copied != 0 && file.fact && file.fact->size > 0;
    if (one.find('/') != std::string::npos) lost_[one] = {at, file.counted != 0 || held};
    files_.erase(one);
    ForgetWrite(one);
    renaming_ = true;
    Changed(one, at);
  }
  if (gone.empty()) return;
  // Of a folder that has gone altogether nothing is missing.
  for (size_t slash = path.rfind('/');; slash = path.rfind('/', slash - 1)) {
    const std::string folder = slash == std::string::npos ? path + "/" : path.substr(0, slash + 1);
    const auto rest = files_.lower_bound(folder);
    const bool any = rest != files_.end() && StartsWith(rest->first, folder);
    if (!any) {
      std::erase_if(lost_, [&](const auto& entry) { return StartsWith(entry.first, folder); });
      folders_.erase(folder.substr(0, folder.size() - 1));
    }
    if (slash == std::string::npos || slash == 0) break;
  }
}

// What was missed is not known: each file may have been written, in any order.
void Seen::LoseAll(MonoTime at) {
  events_lost_ = true;
  for (auto& [path, file] : files_) {
    if (IsStream(path)) continue;
    file.version = Next();
    file.last_change = at;
    if (!file.open) file.begin = at;
    file.fate = Fate::kUnknown;
    file.renamed = false;
    file.proof = Proof::kNotLooked;
  }
  writes_.clear();
  last_change_ = at;
}

void Seen::OnEvents(const std::vector<FileEvent>& events) {
  for (const FileEvent& event : events) {
    if (event.disk_full) last_full_ = event.at;
    switch (event.kind) {
      case FileEvent::Kind::kChanged:
        if (event.directory) {
          Changed(event.path, event.at);
        } else {
          Begin(event.path, event.at, true, event.found);
          // It may have room again before the file is closed.
          SeenFile& file = files_[event.path];
          file.doubtful = file.doubtful || event.disk_full;
        }
        break;
      case FileEvent::Kind::kClosed:
        if (!event.directory) End(event.path, event.at, event.fate, event.disk_full);
        break;
      case FileEvent::Kind::kMovedIn:
        MoveIn(event);
        break;
      case FileEvent::Kind::kGone:
        Gone(event.path, event.at);
        break;
      case FileEvent::Kind::kLost:
        LoseAll(event.at);
        break;
    }
  }
}

void Seen::Absorb(const FileFact& fact, const DirectoryScan& scan, MonoTime now) {
  const auto [it, fresh] = files_.try_emplace(fact.path);
  SeenFile& file = it->second;
  renaming_ = renaming_ || fresh;
  const bool written = scan.written.count(fact.path) != 0 || scan.mapped.count(fact.path) != 0;
  file.held = written;
  const bool same = file.fact && SameContent(*file.fact, fact);
  const bool silent = fresh || (file.fact && !same && !file.open && !file.touched);
  if (silent) {
    // Changed without a hint, or before the hint has come. It is over when a later look finds no
    // writer: while a file is being opened it is cut to nothing already, and no process has it.
    Begin(fact.path, now, false, true);
    if (ended_) {
      End(fact.path, now, std::max(scan.fate, Fate::kUnknown), scan.disk_full);
    } else if (file.fact && fact.size < file.fact->size) {
      file.shrunk = true;
    }
  }
  if (written) {
    // One that is open and still as it was is written from now on: its time is of what was before.
    if (!file.open) Begin(fact.path, now, false, !same);
    // Hints of a write end with the first one of it.
    if (!same) {
      file.last_change = now;
      Changed(fact.path, now);
    }
    file.mapped = scan.mapped.count(fact.path) != 0;
    file.doubtful = file.doubtful || scan.disk_full;
  } else if (file.open && (same || fact.kind != FileKind::kFile)) {
    // Cutting a huge file takes the kernel a while.
    const bool sure = scan.writers_known && !file.shrunk;
    const Duration patience = sure ? kUnconfirmed : quiet_;
    if (now - file.last_change >= patience) {
      End(fact.path, file.last_change, scan.fate, scan.disk_full);
      file.unheard = true;
      if (file.found) file.ended = file.began + 1;
    }
  }
  if (!same && scan.size_limit >= 0 && fact.size >= scan.size_limit) file.doubtful = true;
  file.fact = fact;
  file.touched = false;
}

// What nobody heard comes behind all that had ended by then, by the kernel's times, and not before
// its folder was made.
void Seen::PlaceFound(bool all_heard) {
  std::vector<SeenWrite*> found;
  for (SeenWrite& write : writes_) {
    const auto it = files_.find(write.path);
    if (it == files_.end() || it->second.version != write.version || !it->second.fact) continue;
    if (it->second.held) continue;
    write.ctime_ns = it->second.fact->ctime_ns;
    if (write.found && write.ctime_ns != 0) found.push_back(&write);
  }
  if (found.empty() || !all_heard) return;
  std::map<int64_t, uint64_t> ends;  // by time: the last place at which something had ended
  for (const auto& [path, file] : files_) {
    if (!file.fact || !file.written() || file.found || file.open || IsStream(path)) continue;
    uint64_t& end = ends[file.fact->ctime_ns];
    end = std::max(end, file.ended);
  }
  uint64_t last = 0;
  for (auto& [time, end] : ends) end = last = std::max(last, end);
  std::stable_sort(found.begin(), found.end(), [](const SeenWrite* a, const SeenWrite* b) {
    return a->ctime_ns < b->ctime_ns;
  });
  uint64_t place = 0;
  for (SeenWrite* write : found) {
    SeenFile& file = files_[write->path];
    const auto later = ends.lower_bound(write->ctime_ns);
    const uint64_t behind = later == ends.begin() ? 0 : std::prev(later)->second;
    place = std::max({place, behind, file.by_event ? write->began : behind}) + 2;
    if (place == 2) place = write->began;
    write->began = file.began = place;
    write->placed = true;
    if (!file.open && file.unheard) file.ended = place + 1;
  }
}

// A change of which no hint has come: as a rule it is on its way, and tells the order.
bool Seen::HintMayCome(const FileFact& fact, const DirectoryScan& scan, MonoTime now,
                       std::map<std::string, MonoTime>* still) const {
  const auto it = files_.find(fact.path);
  const bool fresh = it == files_.end();
  const bool written = scan.written.count(fact.path) != 0 || scan.mapped.count(fact.path) != 0;
  const bool news =
      fresh || (!it->second.open && !it->second.touched &&
                (written || !it->second.fact || !SameContent(*it->second.fact, fact)));
  if (!news || ended_ || !scan.task_alive || IsStream(fact.path)) return false;
  const auto before = silent_.find(fact.path);
  const MonoTime since = before == silent_.end() ? now : before->second;
  if (now - since >= kUnconfirmed) return false;
  still->emplace(fact.path, since);
  return true;
}

void Seen::OnScan(const DirectoryScan& scan, MonoTime now, const std::vector<FileEvent>& later) {
  task_alive_ = scan.task_alive;
  if (scan.disk_full) last_full_ = now;
  // Of what changed while the scan was made, the scan shows neither the old nor the new for sure.
  std::set<std::string> moving;
  for (const FileEvent& event : later) {
    moving.insert(event.path);
    if (!event.from.empty()) moving.insert(event.from);
  }
  std::map<std::string, MonoTime> still;
  std::set<std::string> seen;
  std::vector<const FileFact*> unheard;  // in the order in which they were written
  for (const FileFact& fact : scan.files) {
    seen.insert(fact.path);
    if (IsOrIsIn(moving, fact.path) || HintMayCome(fact, scan, now, &still)) continue;
    if (files_.count(fact.path) == 0) {
      unheard.push_back(&fact);
    } else {
      Absorb(fact, scan, now);
    }
  }
  std::stable_sort(unheard.begin(), unheard.end(),
                   [](const FileFact* a, const FileFact* b) { return a->ctime_ns < b->ctime_ns; });
  for (const FileFact* fact : unheard) Absorb(*fact, scan, now);
  silent_ = std::move(still);
  PlaceFound(later.empty());
  std::vector<std::string> gone;
  for (const auto& [path, file] : files_) {
    // A file that a hint announced after the scan began is not in it yet.
    if (seen.count(path) == 0 && !IsOrIsIn(moving, path) &&
        !(file.open && now - file.last_change < kUnconfirmed)) {
      gone.push_back(path);
    }
  }
  for (const std::string& path : gone) {
    const auto it = files_.find(path);
    const bool folder =
        it != files_.end() && it->second.fact && it->second.fact->kind == FileKind::kDirectory;
    if (!folder) {
      Gone(path, now);
    } else {
      files_.erase(it);  // it is listed while it is empty
      renaming_ = true;
    }
  }
}

void Seen::OnRestored(const DirectoryScan& scan) {
  files_.clear();
  writes_.clear();
  for (const FileFact& fact : scan.files) {
    SeenFile& file = files_[fact.path];
    file.fact = fact;
    file.version = file.copied = file.counted = Next();
  }
  renaming_ = true;
}

void Seen::OnEnded(bool clean, MonoTime now) {
  ended_ = true;
  task_alive_ = false;
  for (auto& [path, file] : files_) {
    // The writer's end looked harmless because the program went on. It did not go on for long.
    const bool likely = !clean && file.fate == Fate::kLikely;
    if (likely && now - file.last_change < kAftermath) file.fate = Fate::kUnknown;
    if (!file.open) continue;
    // Still being written when the program ended: by something that it left behind. Or nobody has
    // it any more and the hint of that is late, or never came as nobody listened yet.
    const bool free = clean && file.fact && !file.held;
    End(path, now, Fate::kKilled, !free);
  }
}

}  // namespace stoker
