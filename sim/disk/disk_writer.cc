// SPDX-License-Identifier: Apache-2.0
// Restoring into the directory, and the spools.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sim/disk/disk.h"

namespace stoker::sim {
namespace {

constexpr char kTemporary[] = ".stoker-new-";

Status Gone() { return Status(Code::kUnavailable, "sim: the process is dead"); }

}  // namespace

// Written under a name of its own beside its place, as on real disks.
class DiskNewFile : public NewFile {
 public:
  DiskNewFile(Disk& disk, std::string path, std::string temporary)
      : disk_(disk), path_(std::move(path)), temporary_(std::move(temporary)) {}
  ~DiskNewFile() override {
    if (committed_) return;
    disk_.LetGo(temporary_);
    if (!disk_.Dead()) disk_.Unlink(temporary_);
  }

  Status Write(std::string_view bytes) override { return disk_.Append(temporary_, bytes); }

  Status Commit(int mode, int64_t mtime_ns) override {
    if (disk_.Dead()) return Gone();
    disk_.LetGo(temporary_);
    const auto found = disk_.files_.find(temporary_);
    if (found == disk_.files_.end()) {
      return Status(Code::kNotFound, "sim: '" + path_ + "' was removed while it was written");
    }
    found->second.mode = mode & 0777;
    found->second.mtime_ns = mtime_ns;
    if (disk_.HasFolder(path_)) disk_.RemoveTree(path_);
    STOKER_TRY(disk_.Rename(temporary_, path_));
    committed_ = true;
    return Status::Ok();
  }

 private:
  Disk& disk_;
  const std::string path_;
  const std::string temporary_;
  bool committed_ = false;
};

class DiskWriter : public DirectoryWriter {
 public:
  explicit DiskWriter(Disk& disk) : disk_(disk) {}

  Result<std::unique_ptr<NewFile>> Create(const std::string& path) override {
    STOKER_TRY(ClearWay(path));
    const size_t name = path.rfind('/') + 1;  // 0 without a folder
    const std::string temporary =
        path.substr(0, name) + kTemporary + std::to_string(disk_.next_ino_);
    STOKER_TRY(disk_.Open(temporary));
    return std::unique_ptr<NewFile>(std::make_unique<DiskNewFile>(disk_, path, temporary));
  }

  Status MakeLink(const std::string& path, const std::string& target) override {
    STOKER_TRY(ClearWay(path));
    disk_.RemoveTree(path);
    return disk_.Link(path, target);
  }

  Status MakeDirectory(const std::string& path) override {
    STOKER_TRY(ClearWay(path));
    const auto found = disk_.files_.find(path);
    if (found != disk_.files_.end()) {
      if (found->second.kind == FileKind::kDirectory) return Status::Ok();
      disk_.Unlink(path);
    }
    disk_.Make(path, FileKind::kDirectory);
    return Status::Ok();
  }

  Status Rename(const std::string& from, const std::string& to, bool) override {
    STOKER_TRY(ClearWay(to));
    if (disk_.HasFolder(to)) disk_.RemoveTree(to);
    return disk_.Rename(from, to);
  }

  // Folders come with what is in them, and no program here links files: it is never asked for.
  Status MakeHardLink(const std::string& path, const std::string&) override {
    return Status(Code::kInvalid, "sim: no other name '" + path + "' for a file");
  }

  Status RemoveOthers(const std::set<std::string>& keep, const Spares& spares) override {
    if (disk_.Dead()) return Gone();
    std::vector<std::string> others;
    for (const auto& [path, file] : disk_.files_) {
      const bool spared = spares && spares(path.substr(0, path.find('/')));
      if (!spared && !Kept(path, keep)) others.push_back(path);
    }
    for (const std::string& path : others) disk_.Unlink(path);
    return Status::Ok();
  }

 private:
  // What is kept is kept with all below it.
  static bool Kept(const std::string& path, const std::set<std::string>& keep) {
    for (size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
      if (keep.count(path.substr(0, at)) != 0) return true;
    }
    return keep.count(path) != 0;
  }

  // What lies where the folders of `path` must be is removed.
  Status ClearWay(const std::string& path) {
    if (disk_.Dead()) return Gone();
    if (!IsSafeRelativePath(path)) {
      return Status(Code::kInvalid, "unsafe path '" + Printable(path) + "'");
    }
    for (size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
      const auto found = disk_.files_.find(path.substr(0, at));
      if (found == disk_.files_.end() || found->second.kind == FileKind::kDirectory) continue;
      disk_.Unlink(path.substr(0, at));
    }
    return Status::Ok();
  }

  Disk& disk_;
};

class DiskAppender : public SpoolAppender {
 public:
  DiskAppender(Disk& disk, std::shared_ptr<std::string> file)
      : disk_(disk), file_(std::move(file)) {}
  Status Append(std::string_view bytes) override {
    if (disk_.Dead()) return Gone();
    if (bytes.empty()) return Status::Ok();
    if (disk_.full_) {
      file_->append(bytes.substr(0, bytes.size() / 2));
      return Status(Code::kNoSpace, "sim: no space left on the disk");
    }
    file_->append(bytes);
    return Status::Ok();
  }

 private:
  Disk& disk_;
  const std::shared_ptr<std::string> file_;  // also after its name is gone
};

class DiskSpool : public SpoolFolder {
 public:
  DiskSpool(Disk& disk, std::string name) : disk_(disk), name_(std::move(name)) {}

  Result<std::vector<SpoolEntry>> List() override {
    if (disk_.Dead()) return Gone();
    std::vector<SpoolEntry> entries;
    for (const auto& [name, file] : Files()) {
      entries.push_back({name, static_cast<int64_t>(file->size())});
    }
    return entries;
  }

  Result<std::unique_ptr<SpoolAppender>> OpenAppend(const std::string& name) override {
    if (disk_.Dead()) return Gone();
    std::shared_ptr<std::string>& file = Files()[name];
    if (file == nullptr) file = std::make_shared<std::string>();
    return std::unique_ptr<SpoolAppender>(std::make_unique<DiskAppender>(disk_, file));
  }

  Result<std::string> Read(const std::string& name, int64_t offset, int64_t size) override {
    if (disk_.Dead()) return Gone();
    const auto found = Files().find(name);
    if (found == Files().end()) return Missing(name);
    const std::string& data = *found->second;
    if (offset >= static_cast<int64_t>(data.size())) return std::string();
    return data.substr(static_cast<size_t>(offset), static_cast<size_t>(size));
  }

  Status Truncate(const std::string& name, int64_t size) override {
    if (disk_.Dead()) return Gone();
    const auto found = Files().find(name);
    if (found == Files().end()) return Missing(name);
    found->second->resize(static_cast<size_t>(size), '\0');
    return Status::Ok();
  }

  Status Remove(const std::string& name) override {
    if (disk_.Dead()) return Gone();
    Files().erase(name);
    return Status::Ok();
  }

 private:
  static Status Missing(const std::string& name) {
    return Status(Code::kNotFound, "sim: '" + name + "': no such file");
  }
  std::map<std::string, std::shared_ptr<std::string>>& Files() { return disk_.spools_[name_]; }

  Disk& disk_;
  const std::string name_;
};

std::unique_ptr<DirectoryWriter> Disk::OpenWriter() { return std::make_unique<DiskWriter>(*this); }

std::unique_ptr<SpoolFolder> Disk::OpenSpool(const std::string& name) {
  return std::make_unique<DiskSpool>(*this, name);
}

}  // namespace stoker::sim
