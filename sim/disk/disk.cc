// SPDX-License-Identifier: Apache-2.0
#include "sim/disk/disk.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace stoker::sim {
namespace {

Status DeadProcess() { return Status(Code::kUnavailable, "sim: the process is dead"); }

Status NotThere(const std::string& path) {
  return Status(Code::kNotFound, "sim: '" + path + "': no such file");
}

}  // namespace

Disk::Disk(Scheduler& scheduler, SimClock& clock) : scheduler_(scheduler), clock_(clock) {}

bool Disk::Dead() const { return scheduler_.current() != nullptr && scheduler_.current()->dead(); }

void Disk::Stamp(File* file) {
  constexpr int64_t kNanos = 1'000'000;
  file->mtime_ns = clock_.Wall().ms * kNanos + ++stamps_ % kNanos;
  file->ctime_ns = file->mtime_ns;
}

bool Disk::HasFolder(const std::string& path) const {
  const std::string below = path + "/";
  const auto first = files_.lower_bound(below);
  return first != files_.end() && StartsWith(first->first, below);
}

void Disk::AnnounceFolders(const std::string& path) {
  for (size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string folder = path.substr(0, at);
    if (HasFolder(folder) || files_.count(folder) != 0) continue;
    Emit(FileEvent::Kind::kChanged, folder, true);
  }
}

void Disk::AnnounceGone(const std::string& path) {
  for (size_t at = path.rfind('/'); at != std::string::npos; at = path.rfind('/', at - 1)) {
    const std::string folder = path.substr(0, at);
    if (HasFolder(folder) || files_.count(folder) != 0) return;
    Emit(FileEvent::Kind::kGone, folder, true);
    if (at == 0) return;
  }
}

Disk::File& Disk::Make(const std::string& path, FileKind kind) {
  AnnounceFolders(path);
  File& file = files_[path];
  file.ino = next_ino_++;
  file.kind = kind;
  Stamp(&file);
  Emit(FileEvent::Kind::kChanged, path, kind == FileKind::kDirectory);
  return file;
}

Status Disk::OpenInPlace(const std::string& path) {
  if (Dead()) return DeadProcess();
  if (!IsSafeRelativePath(path) || HasFolder(path)) {
    return Status(Code::kInvalid, "sim: '" + path + "' cannot be a file");
  }
  const auto found = files_.find(path);
  File& file = found != files_.end() ? found->second : Make(path, FileKind::kFile);
  if (file.kind != FileKind::kFile) return Status(Code::kInvalid, "sim: '" + path + "': no file");
  file.open = true;
  return Status::Ok();
}

Status Disk::Open(const std::string& path) {
  STOKER_TRY(OpenInPlace(path));
  File& file = files_[path];
  if (file.data.empty()) return Status::Ok();
  file.data.clear();
  file.holes = 0;
  Stamp(&file);
  EmitWrite(path);
  return Status::Ok();
}

Status Disk::WriteAt(const std::string& path, size_t offset, std::string_view bytes) {
  if (Dead()) return DeadProcess();
  const auto found = files_.find(path);
  if (found == files_.end()) return NotThere(path);
  File& file = found->second;
  if (!file.open) return Status(Code::kInvalid, "sim: '" + path + "' is not open");
  if (bytes.empty()) return Status::Ok();
  if (full_) return Status(Code::kNoSpace, "sim: '" + path + "': no space left on the disk");
  if (offset > file.data.size()) {
    file.holes += static_cast<int64_t>(offset - file.data.size());
    file.data.resize(offset, '\0');
  }
  file.data.replace(offset, std::min(bytes.size(), file.data.size() - offset), bytes);
  Stamp(&file);
  EmitWrite(path);
  return Status::Ok();
}

Status Disk::Append(const std::string& path, std::string_view bytes) {
  const auto found = files_.find(path);
  return WriteAt(path, found == files_.end() ? 0 : found->second.data.size(), bytes);
}

void Disk::LetGo(const std::string& path) {
  const auto found = files_.find(path);
  if (found == files_.end() || !found->second.open) return;
  found->second.open = false;
  Emit(FileEvent::Kind::kClosed, path);
}

void Disk::Close(const std::string& path) {
  if (!Dead()) LetGo(path);
}

void Disk::RenameFolder(const std::string& from, const std::string& to) {
  const std::string below = from + "/";
  Files moved;
  for (auto it = files_.lower_bound(below); it != files_.end() && StartsWith(it->first, below);) {
    moved[to + it->first.substr(from.size())] = std::move(it->second);
    it = files_.erase(it);
  }
  files_.merge(moved);
}

Status Disk::Rename(const std::string& from, const std::string& to) {
  if (Dead()) return DeadProcess();
  if (!IsSafeRelativePath(to) || StartsWith(to, from + "/")) {
    return Status(Code::kInvalid, "sim: cannot rename to '" + to + "'");
  }
  if (from == to) return Status::Ok();
  const auto found = files_.find(from);
  const bool folder = HasFolder(from);
  if (found == files_.end() && !folder) return NotThere(from);
  if (HasFolder(to) || (folder && files_.count(to) != 0)) {
    return Status(Code::kExists, "sim: '" + to + "' is in the way");
  }
  AnnounceFolders(to);
  bool directory = folder;
  if (folder) RenameFolder(from, to);
  if (found != files_.end()) {
    File file = std::move(found->second);
    files_.erase(found);
    file.ctime_ns = clock_.Wall().ms * 1'000'000;
    directory = directory || file.kind == FileKind::kDirectory;
    files_[to] = std::move(file);
  }
  Emit(FileEvent::Kind::kMovedIn, to, directory, from);
  AnnounceGone(from);
  return Status::Ok();
}

void Disk::Unlink(const std::string& path) {
  const auto found = files_.find(path);
  if (found == files_.end()) return;
  const bool directory = found->second.kind == FileKind::kDirectory;
  files_.erase(found);
  Emit(FileEvent::Kind::kGone, path, directory);
  AnnounceGone(path);
}

void Disk::Remove(const std::string& path) {
  if (!Dead()) Unlink(path);
}

void Disk::RemoveTree(const std::string& path) {
  const std::string below = path + "/";
  for (;;) {
    const auto first = files_.lower_bound(below);
    if (first == files_.end() || !StartsWith(first->first, below)) break;
    Unlink(std::string(first->first));
  }
  Unlink(path);
}

Status Disk::Link(const std::string& path, const std::string& target) {
  if (Dead()) return DeadProcess();
  if (!IsSafeRelativePath(path)) return Status(Code::kInvalid, "sim: '" + path + "' is no name");
  if (HasFolder(path) || files_.count(path) != 0) {
    return Status(Code::kExists, "sim: '" + path + "' exists already");
  }
  Make(path, FileKind::kLink).target = target;
  return Status::Ok();
}

void Disk::TaskBegins() {
  task_alive_ = true;
  SetFate(Fate::kLived);
}

void Disk::TaskEnds(WriterFate fate) {
  task_alive_ = false;
  SetFate(fate == WriterFate::kEndedWell ? Fate::kLived
          : fate == WriterFate::kKilled  ? Fate::kKilled
                                         : Fate::kUnknown);
  std::vector<std::string> open;
  for (const auto& [path, file] : files_) {
    if (file.open) open.push_back(path);
  }
  for (const std::string& path : open) LetGo(path);
}

}  // namespace stoker::sim
