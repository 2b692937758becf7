// SPDX-License-Identifier: Apache-2.0
// The bookkeeping of CheckpointPlan: what hints and scans say of each file. The decisions are in
// checkpoint_decide.cc.
#include "checkpoint/rule/checkpoint_plan.h"

#include <algorithm>
#include <iterator>

#include "base/deliberate_bug.h"
#include "base/text.h"

namespace stoker {
namespace {

constexpr size_t kHistory = 256;
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

// `path` with the digit runs that also occur in its first component replaced:
// "checkpoint-100/global_step100/model.pt" -> "checkpoint-#/global_step#/model.pt".
std::string WithoutStep(const std::string& path, const std::string& top) {
  std::set<std::string> numbers;
  std::string run;
  for (char c : top + "/") {
    if (c >= '0' && c <= '9') {
      run += c;
    } else if (!run.empty()) {
      numbers.insert(run);
      run.clear();
    }
  }
  std::string out = WithoutNumbers(top);
  for (char c : path.substr(top.size()) + '\0') {
    if (c >= '0' && c <= '9') {
      run += c;
      continue;
    }
    if (!run.empty()) out += numbers.count(run) != 0 ? "#" : run;
    run.clear();
    if (c != '\0') out += c;
  }
  return out;
}

}  // namespace

std::string_view Name(CandidateReason reason) {
  switch (reason) {
    case CandidateReason::kQuiet:
      return "quiet";
    case CandidateReason::kRhythm:
      return "rhythm";
    case CandidateReason::kNext:
      return "next";
    case CandidateReason::kComplete:
      return "complete";
    case CandidateReason::kDone:
      return "done";
    case CandidateReason::kExit:
      return "exit";
    case CandidateReason::kProven:
      return "proven";
  }
  return "quiet";
}

CheckpointPlan::CheckpointPlan(PlanOptions options)
    : options_(std::move(options)), bursts_(options_.quiet / 4) {}

std::string CheckpointPlan::RoleOf(const std::string& path) const {
  const std::string top = TopOf(path);
  const std::string general = WithoutNumbers(top);
  if (general == top || numbered_.count(general) != 0) return path;
  return WithoutStep(path, top);
}

void CheckpointPlan::Changed(const std::string& path, MonoTime at) {
  if (IsStream(path)) return;
  last_change_ = std::max(last_change_, at);
  if (!first_change_) first_change_ = at;
  refused_ = false;
}

void CheckpointPlan::Begin(const std::string& path, MonoTime at, bool by_event) {
  File& file = files_[path];
  Changed(path, at);
  file.last_change = at;
  file.touched = true;
  if (file.open) return;
  const bool since_taken = file.taken != 0 && file.taken == file.version;
  if (since_taken && file.fact) file.size_before = file.fact->size;
  if (since_taken || SisterSince(path)) {
    const std::string general = WithoutNumbers(TopOf(path));
    if (general != TopOf(path) && numbered_.insert(general).second) {
      NotSteps(general);
    }
  }
  file.open = true;
  file.by_event = by_event;
  file.begin = at;
  ++file.version;
  file.doubtful = false;
  file.refused = false;
  file.shrunk = false;
}

// `path` has been written, and another of its row since: what comes now is its next round.
bool CheckpointPlan::SisterSince(const std::string& path) const {
  const std::string unit = TopOf(path);
  if (!Numbered(unit)) return false;
  const auto writes = writes_.find(path);
  if (writes == writes_.end() || writes->second == 0) return false;
  const std::string row = WithoutNumbers(unit);
  for (auto it = history_.rbegin(); it != history_.rend() && it->path != path; ++it) {
    const std::string other = TopOf(it->path);
    if (other != unit && WithoutNumbers(other) == row) return true;
  }
  return false;
}

// The disk was full while a file was written that was opened about `begin`. It is looked at now and
// then; a write that it refuses changes nothing and is not heard of, nor is the file's opening.
bool CheckpointPlan::FullSince(MonoTime begin) const {
  return last_full_ && *last_full_ + kFullMargin >= begin;
}

void CheckpointPlan::End(const std::string& path, MonoTime at, Fate fate, bool disk_full) {
  File& file = files_[path];
  if (!file.open) Begin(path, at, true);
  file.open = false;
  file.mapped = false;
  file.fate = BugIsOn("tainted-file") ? Fate::kLived : fate;
  file.doubtful = file.doubtful || disk_full || FullSince(file.begin);
  file.last_change = at;
  file.touched = true;
  Changed(path, at);
  Remember({path, "", file.begin, at, -1, fate <= Fate::kLikely});
}

void CheckpointPlan::NoteUnit(const std::string& unit) {
  const std::string row = WithoutNumbers(unit);
  if (row != unit && rows_[row].size() < 2) rows_[row].insert(unit);
}

// The numbers of these names do not count steps: the same name is written again and again.
void CheckpointPlan::NotSteps(const std::string& row) {
  for (Episode& episode : history_) episode.role = RoleOf(episode.path);
  std::erase_if(written_, [&](const auto& entry) { return TopOf(entry.first) == row; });
  std::erase_if(goes_, [&](const auto& entry) { return TopOf(entry.first) == row; });
  for (const auto& [path, count] : writes_) {
    if (WithoutNumbers(TopOf(path)) == row) written_[path] = count;
  }
  cycle_ = saves_ = 0;
  for (const auto& [role, count] : written_) {
    const auto go = goes_.find(role);
    cycle_ = std::max<int64_t>(cycle_, count);
    saves_ = std::max<int64_t>(saves_, count - (go == goes_.end() ? 0 : go->second.more));
  }
  save_times_.AreOnly(saves_);
}

// A row may be the steps, or what is written together at each: then that is one save.
void CheckpointPlan::Count(const Episode& episode) {
  const int count = ++written_[episode.role];
  cycle_ = std::max<int64_t>(cycle_, count);
  int more = 0;
  if (episode.role != episode.path) {
    Go& go = goes_[episode.role];
    const bool another = go.paths.empty() || episode.begin - go.end >= options_.quiet / 4 ||
                         go.paths.count(episode.path) != 0;
    if (another) go.paths.clear();
    go.more += another ? 0 : 1;
    go.paths.insert(episode.path);
    go.end = std::max(go.end, episode.end);
    more = go.more;
  }
  if (count - more <= saves_) return;
  saves_ = count - more;
  save_times_.Began(saves_, episode.begin);
}

void CheckpointPlan::Uncount(const Episode& episode) {
  if (auto it = written_.find(episode.role); it != written_.end() && it->second > 0) --it->second;
  if (auto it = writes_.find(episode.path); it != writes_.end() && it->second > 0) --it->second;
}

void CheckpointPlan::Remember(Episode episode) {
  ++writes_[episode.path];
  NoteUnit(TopOf(episode.path));
  if (IsStream(episode.path)) return;
  episode.role = RoleOf(episode.path);
  Count(episode);
  // A scan may notice late that a write is over: others may have come and gone since.
  auto at = history_.end();
  while (at != history_.begin() && std::prev(at)->end > episode.end) --at;
  const bool tree = episode.path.find('/') != std::string::npos && !Numbered(TopOf(episode.path));
  const bool last = at == history_.end();
  history_.insert(at, std::move(episode));
  if (tree && last) bursts_.Added(&history_);
  if (history_.size() > kHistory) history_.pop_front();
}

void CheckpointPlan::FillSize(const std::string& path, int64_t size) {
  for (auto it = history_.rbegin(); it != history_.rend(); ++it) {
    if (it->size < 0 && it->path == path) it->size = size;
  }
}

// A folder takes the place of one that was moved out of its way: what was written in that one was
// written for this place, wherever it lies now.
void CheckpointPlan::GiveRoleBack(const std::string& place) {
  const auto moved = vacated_.find(place);
  if (moved == vacated_.end()) return;
  const std::string now = moved->second + "/";
  for (Episode& episode : history_) {
    if (!StartsWith(episode.path, now) || episode.role != RoleOf(episode.path)) continue;
    if (int& count = written_[episode.role]; count > 0) --count;
    episode.role = RoleOf(place + "/" + episode.path.substr(now.size()));
    ++written_[episode.role];
  }
  vacated_.erase(moved);
}

void CheckpointPlan::MoveDirectory(const FileEvent& event) {
  const std::string from = event.from + "/";
  Files moved;
  for (auto it = files_.lower_bound(from); it != files_.end() && StartsWith(it->first, from);) {
    moved[event.path + "/" + it->first.substr(from.size())] = std::move(it->second);
    it = files_.erase(it);
  }
  for (auto& [path, file] : moved) {
    file.taken = 0;
    files_[path] = std::move(file);
  }
  GiveRoleBack(event.path);
  for (Episode& episode : history_) {
    if (!StartsWith(episode.path, from)) continue;
    Uncount(episode);
    const bool succeeded = episode.role != RoleOf(episode.path);
    episode.path = event.path + "/" + episode.path.substr(from.size());
    NoteUnit(TopOf(episode.path));
    if (!succeeded) episode.role = RoleOf(episode.path);
    ++writes_[episode.path];
    Count(episode);
  }
  vacated_[event.from] = event.path;
  dying_.erase(TopOf(event.path));
  Changed(event.path, event.at);
}

void CheckpointPlan::MoveIn(const FileEvent& event) {
  if (event.directory) {
    if (!event.from.empty()) MoveDirectory(event);
    Changed(event.path, event.at);
    return;
  }
  MonoTime begin = event.at;
  Fate fate = event.fate;
  bool doubtful = event.disk_full;
  bool open = false;
  std::optional<FileFact> fact;
  // What was written under another name was this file all along.
  if (auto it = files_.find(event.from); !event.from.empty() && it != files_.end()) {
    begin = it->second.begin;
    fate = std::max(fate, it->second.fate);
    doubtful = doubtful || it->second.doubtful;
    open = it->second.open;
    fact = it->second.fact;
    files_.erase(it);
  }
  for (auto old = history_.rbegin(); !event.from.empty() && old != history_.rend(); ++old) {
    if (old->path != event.from) continue;
    begin = std::min(begin, old->begin);
    if (!old->lived) fate = std::max(fate, Fate::kUnknown);
    Uncount(*old);
    history_.erase(std::next(old).base());
    break;
  }
  Begin(event.path, event.at, true);
  File& file = files_[event.path];
  file.begin = std::min(begin, event.at);
  if (fact) {
    fact->path = event.path;
    file.fact = fact;
  }
  file.doubtful = doubtful;
  if (open) return;
  End(event.path, event.at, fate, doubtful);
}

void CheckpointPlan::Gone(const std::string& path, MonoTime at) {
  const std::string below = path + "/";
  bool any = files_.erase(path) != 0;
  for (auto it = files_.lower_bound(below); it != files_.end() && StartsWith(it->first, below);) {
    it = files_.erase(it);
    any = true;
  }
  if (!any) return;
  writes_.erase(path);
  const std::string unit = TopOf(path);
  const auto rest = files_.lower_bound(unit + "/");
  if (rest != files_.end() && StartsWith(rest->first, unit + "/")) {
    dying_[unit] = at;
  } else {
    dying_.erase(unit);
  }
  if (!IsStream(path)) last_change_ = std::max(last_change_, at);
  refused_ = false;
}

void CheckpointPlan::LoseAll(MonoTime at) {
  // What was learned is as doubtful as what was missed: only quiet counts from here on.
  history_.clear();
  bursts_ = Bursts(options_.quiet / 4);
  settled_.clear();
  for (auto& [path, file] : files_) {
    if (IsStream(path)) continue;
    ++file.version;
    file.last_change = at;
    if (!file.open) file.begin = at;
    file.fate = Fate::kUnknown;
  }
  last_change_ = at;
  if (!first_change_) first_change_ = at;
}

void CheckpointPlan::OnEvents(const std::vector<FileEvent>& events) {
  for (const FileEvent& event : events) {
    if (event.disk_full) last_full_ = event.at;
    if (event.path == kDoneMark) {
      done_mark_ = event.kind != FileEvent::Kind::kGone;
      continue;
    }
    switch (event.kind) {
      case FileEvent::Kind::kChanged:
        if (event.directory) {
          Changed(event.path, event.at);
        } else {
          Begin(event.path, event.at, true);
          // It may have room again before the file is closed.
          File& file = files_[event.path];
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

void CheckpointPlan::Absorb(const FileFact& fact, const DirectoryScan& scan, MonoTime now) {
  const bool known = files_.count(fact.path) != 0;
  File& file = files_[fact.path];
  const bool written = scan.written.count(fact.path) != 0 || scan.mapped.count(fact.path) != 0;
  file.held = written;
  const bool same = file.fact && SameContent(*file.fact, fact);
  const bool silent = known ? file.fact && !same && !file.open && !file.touched : true;
  if (silent) {
    // Changed without a hint, or before the hint has come. It is over when a later look finds no
    // writer: while a file is being opened it is cut to nothing already, and no process has it.
    if (!known) file.version = 0;
    Begin(fact.path, now, false);
    if (ended_) {
      End(fact.path, now, std::max(scan.fate, Fate::kUnknown), scan.disk_full);
    } else if (file.fact && fact.size < file.fact->size) {
      file.shrunk = true;
    }
  }
  if (written) {
    if (!file.open) Begin(fact.path, now, false);
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
    const Duration patience = sure ? kUnconfirmed : options_.quiet;
    if (now - file.last_change >= patience) {
      End(fact.path, file.last_change, scan.fate, scan.disk_full);
    }
  }
  if (!same && scan.size_limit >= 0 && fact.size >= scan.size_limit) file.doubtful = true;
  file.fact = fact;
  file.touched = false;
  if (!file.open) FillSize(fact.path, fact.size);
}

void CheckpointPlan::OnScan(const DirectoryScan& scan, MonoTime now,
                            const std::vector<FileEvent>& later) {
  task_alive_ = scan.task_alive;
  if (scan.disk_full) last_full_ = now;
  // Of what changed while the scan was made, the scan shows neither the old nor the new for sure.
  std::set<std::string> moving;
  for (const FileEvent& event : later) {
    moving.insert(event.path);
    if (!event.from.empty()) moving.insert(event.from);
  }
  // It, or a folder that it lies in.
  const auto in_motion = [&](const std::string& path) {
    if (moving.empty()) return false;
    for (size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
      if (moving.count(path.substr(0, at)) != 0) return true;
    }
    return moving.count(path) != 0;
  };
  std::set<std::string> seen;
  bool marked = false;
  for (const FileFact& fact : scan.files) {
    if (fact.path == kDoneMark) {
      marked = true;
      continue;
    }
    seen.insert(fact.path);
    if (in_motion(fact.path)) continue;
    Absorb(fact, scan, now);
    if (EndsWith(fact.path, std::string("/") + kCompleteMark)) {
      explicit_.insert(WithoutNumbers(TopOf(fact.path)));
    }
  }
  done_mark_ = marked;
  std::vector<std::string> gone;
  for (const auto& [path, file] : files_) {
    // A file that a hint announced after the scan began is not in it yet.
    if (seen.count(path) == 0 && !in_motion(path) &&
        !(file.open && now - file.last_change < kUnconfirmed)) {
      gone.push_back(path);
    }
  }
  for (const std::string& path : gone) Gone(path, now);
  Relearn();
}

void CheckpointPlan::OnRestored(const DirectoryScan& scan) {
  files_.clear();
  history_.clear();
  for (const FileFact& fact : scan.files) {
    if (fact.path == kDoneMark) continue;
    File& file = files_[fact.path];
    file.fact = fact;
    file.taken = file.version;
    file.size_before = fact.size;
    taken_units_.insert(TopOf(fact.path));
    NoteUnit(TopOf(fact.path));
    if (EndsWith(fact.path, std::string("/") + kCompleteMark)) {
      explicit_.insert(WithoutNumbers(TopOf(fact.path)));
    }
  }
  first_change_.reset();
}

void CheckpointPlan::OnTaken(const Candidate& candidate) {
  std::set<std::string> included;
  for (const auto* list : {&candidate.copy, &candidate.stay, &candidate.prefix}) {
    for (const FileFact& fact : *list) included.insert(fact.path);
  }
  first_change_.reset();
  for (auto& [path, file] : files_) {
    if (included.count(path) != 0) {
      file.taken = file.version;
      if (file.fact) file.size_before = file.fact->size;
      // What stays open or mapped is written on without any further sign.
      if (file.open) ++file.version;
    } else {
      file.taken = 0;
      if (!first_change_) first_change_ = file.last_change;
    }
  }
  taken_units_ = candidate.units;
  settled_.clear();
  if (candidate.reason == CandidateReason::kDone) {
    done_used_ = true;
    done_mark_ = false;
  }
}

void CheckpointPlan::OnRefused(const Candidate& candidate, const std::set<std::string>& broken) {
  if (broken.empty()) refused_ = true;
  settled_.clear();
  for (const std::string& path : broken) {
    if (auto it = files_.find(path); it != files_.end()) it->second.refused = true;
  }
  if (candidate.reason == CandidateReason::kDone) done_mark_ = false;
}

// The writer's end looked harmless because the program went on. It did not go on for long.
void CheckpointPlan::DoubtTheLikely(MonoTime now) {
  for (auto& [path, file] : files_) {
    if (file.fate != Fate::kLikely || now - file.last_change >= kAftermath) continue;
    file.fate = Fate::kUnknown;
    const std::string tree = TopOf(path) + "/*";
    for (auto it = history_.rbegin(); it != history_.rend(); ++it) {
      if (it->path != path && !(IsBurst(*it) && it->path == tree)) continue;
      it->lived = false;
      break;
    }
    // A boundary that was seen in between stood on the same belief.
    settled_.clear();
  }
}

void CheckpointPlan::OnEnded(bool clean, bool graceful, MonoTime now) {
  ended_ = true;
  clean_ = clean;
  graceful_ = graceful;
  task_alive_ = false;
  if (!clean) DoubtTheLikely(now);
  std::vector<std::string> open;
  for (const auto& [path, file] : files_) {
    if (file.open) open.push_back(path);
  }
  for (const std::string& path : open) {
    // Still being written when the program ended: by something that it left behind. Or nobody has
    // it any more and the hint of that is late, or never came as nobody listened yet.
    const bool free = clean && files_.at(path).fact && !files_.at(path).held;
    End(path, now, Fate::kKilled, !free);
  }
  for (const std::string& path : open) {
    if (auto it = files_.find(path); it != files_.end() && it->second.fact) {
      FillSize(path, it->second.fact->size);
    }
  }
  Relearn();
}

void CheckpointPlan::ForgetTaken() {
  for (auto& [path, file] : files_) file.taken = 0;
  if (!first_change_) first_change_ = last_change_;
}

void CheckpointPlan::Relearn() {
  // The same episodes teach the same.
  if (learned_from_ && learned_from_->first == history_ && learned_from_->second == rhythm_.lead) {
    return;
  }
  learned_from_ = {history_, rhythm_.lead};
  rhythm_ = LearnRhythm(history_, options_.quiet, rhythm_.lead);
  if (rhythm_.together.empty()) rhythm_.together = options_.together;
}

bool CheckpointPlan::Pending() const {
  if (done_mark_) return true;
  return std::any_of(files_.begin(), files_.end(), [](const auto& entry) {
    return entry.second.version != entry.second.taken && !IsStream(entry.first);
  });
}

MonoTime CheckpointPlan::NextLook(MonoTime now) const {
  MonoTime next = now + Duration::Seconds(5);
  if (!Pending()) return next;
  for (Duration wait : {rhythm_.hold, options_.quiet, options_.quiet * 10}) {
    const MonoTime at = last_change_ + wait;
    if (at > now) next = std::min(next, at);
  }
  return std::max(next, now + Duration::Ms(1));
}

}  // namespace stoker
