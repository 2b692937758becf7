// SPDX-License-Identifier: Apache-2.0
// What hints and scans say of each file of a checkpoint directory, and in which order its writes
// began and ended. It judges nothing: rule/judge.h does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "port/checkpoint_files.h"

namespace stoker {

// A file held open this long without a sign of change is not being saved, and holds nothing up.
inline constexpr Duration kLingering = Duration::Seconds(30);

// Whether a file's own bytes show that it is whole, as far as anybody looked.
enum class Proof { kNotLooked, kWhole, kUnknown, kBroken };

struct SeenFile {
  std::optional<FileFact> fact;
  bool open = false;  // being written, as far as is known
  bool mapped = false;
  bool by_event = false;  // `open` comes from a hint; a scan may disprove it
  bool held = false;      // somebody had it open or mapped at the last look
  bool touched = false;   // a hint came since the last scan: no wonder it looks different
  bool shrunk = false;    // the write under way was noticed by the file being shorter
  MonoTime begin;         // of the last write
  MonoTime last_change;
  // Places of that write's beginning and end in the order of all events; times tie, and copies keep
  // the times of what they are copies of. 0 = it lay there before.
  uint64_t began = 0;
  uint64_t ended = 0;
  uint64_t version = 0;      // another one for each write, of no other file
  uint64_t copied = 0;       // the version that a copy is there of; 0 = there is none
  uint64_t counted = 0;      // the version in the last moment that counted; 0 = it is in none
  Fate fate = Fate::kLived;  // how the last write ended
  bool doubtful = false;     // the disk was full or the size limit met
  bool unheard = false;      // its last write was seen by a look alone: its places tell no order
  bool found = false;        // nobody heard that its last write began
  uint64_t paused = 0;       // place of the newest pause of `quiet` before that write began
  bool renamed = false;      // the last write ended under another name, and it was given this one
  Proof proof = Proof::kNotLooked;  // of `version`
  std::optional<std::string> text;  // of `version`, of a small file that may point somewhere
  bool written() const { return began != 0; }  // in this attempt
};

// Whether the last write of `a` had ended when that of `b` did: by their places, or where no hint
// of one came (its folder was too new to be watched), by the kernel's times.
bool EndedBefore(const SeenFile& a, const SeenFile& b);

// A write that began, in the order of places.
struct SeenWrite {
  std::string path;
  uint64_t began = 0;
  MonoTime at;
  MonoTime before;  // the last change of the write before it
  uint64_t version = 0;
  // It was written under this name and then given the one above; "" = written where it is.
  std::string from = "";
  // A file that had been copied under its former name was given another: no save.
  bool put_aside = false;
  bool found = false;    // nobody heard it begin
  bool placed = false;   // found, and `began` goes by the kernel's times
  int64_t ctime_ns = 0;  // of the file as this write left it; 0 = not known
  uint64_t paused = 0;   // place of the newest pause of `quiet` before it began
};

// Not thread-safe.
class Seen {
 public:
  using Files = std::map<std::string, SeenFile>;
  explicit Seen(Duration quiet) : quiet_(quiet) {}

  // What lies there before the program starts counts already.
  void OnRestored(const DirectoryScan& scan);
  void OnEvents(const std::vector<FileEvent>& events);
  // `later`: hints that came while the scan was made; to be given to OnEvents afterwards.
  void OnScan(const DirectoryScan& scan, MonoTime now, const std::vector<FileEvent>& later);
  void OnEnded(bool clean, MonoTime now);

  // No copy is of use any more.
  void ForgetCopies();
  // What is open now has been counted as it lies there, and is written on.
  void WritesGoOn();

  const Files& files() const { return files_; }
  SeenFile* Find(const std::string& path);
  // Since the last call: writes that began, ordered; what was written under a name that has gone
  // since is not in it.
  std::vector<SeenWrite> TakeWrites();
  // Those that TakeWrites would give.
  const std::vector<SeenWrite>& writes() const { return writes_; }
  // The last look found changes whose hints may be on their way.
  bool awaits_hints() const { return !silent_.empty(); }
  bool has_writes() const { return !writes_.empty(); }
  // Events were lost since the last call: whose order is not known.
  bool TakeLost();
  // Files that went, though others of their folder are still there, and when.
  struct Loss {
    MonoTime at;
    bool counted = false;  // it was part of what lay there: it counted, or had something in it
  };
  const std::map<std::string, Loss>& lost() const { return lost_; }
  // A folder was given this name with all that was in it, at this place.
  uint64_t FolderNamed(const std::string& folder) const;
  // Names of files changed since the last call.
  bool TakeRenaming();
  // Something that is no log was written, and let go of.
  bool ever_closed() const { return ever_closed_; }
  bool task_alive() const { return task_alive_; }
  MonoTime last_change() const { return last_change_; }
  // The disk was full since `begin`, or shortly before.
  bool FullSince(MonoTime begin) const;

 private:
  void Begin(const std::string& path, MonoTime at, bool by_event, bool found);
  void End(const std::string& path, MonoTime at, Fate fate, bool disk_full);
  uint64_t Next() { return place_ += kStride; }
  void PlaceFound(bool all_heard);
  bool HintMayCome(const FileFact& fact, const DirectoryScan& scan, MonoTime now,
                   std::map<std::string, MonoTime>* still) const;
  void MoveIn(const FileEvent& event);
  void MoveFile(const std::string& from, const std::string& to, const FileEvent& event);
  void MoveDirectory(const FileEvent& event);
  void ForgetWrite(const std::string& path);
  void Gone(const std::string& path, MonoTime at);
  void LoseAll(MonoTime at);
  void Absorb(const FileFact& fact, const DirectoryScan& scan, MonoTime now);
  void Changed(const std::string& path, MonoTime at);

  // Between two places, what nobody heard has room.
  static constexpr uint64_t kStride = 1 << 16;

  Duration quiet_;
  Files files_;
  std::vector<SeenWrite> writes_;
  std::map<std::string, Loss> lost_;
  std::map<std::string, uint64_t> folders_;  // that were renamed, by their name
  uint64_t place_ = 0;
  uint64_t paused_ = 0;  // place of the newest pause of `quiet`
  bool events_lost_ = false;
  bool renaming_ = true;
  bool task_alive_ = false;
  bool ever_closed_ = false;
  bool ended_ = false;
  MonoTime last_change_;
  std::map<std::string, MonoTime> silent_;  // changes without a hint: when each was first seen
  std::optional<MonoTime> last_full_;       // when the disk was last seen full
};

// A name under which something is written that gets another when it is whole.
bool LooksTemporary(std::string_view path);

}  // namespace stoker
