// SPDX-License-Identifier: Apache-2.0
#include "sys/container/images_left.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <optional>

#include "base/text.h"
#include "container/apptainer_argv.h"
#include "container/container_spec.h"
#include "container/image_ref.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr int64_t kImagesMs = 20'000;
constexpr int64_t kRemoveImageMs = 60'000;

std::string UsesIn(const std::string& state_dir) { return state_dir + "/built-images"; }

// The part of its name that stands for its content; "" = stoker has not built it.
std::string KeyOfBuilt(const std::string& image) {
  const std::string lead = std::string(kBuiltImage) + ":";
  const std::string key = StartsWith(image, lead) ? image.substr(lead.size()) : "";
  return IsSafeName(key) ? key : "";
}

void Touch(const std::string& path) { (void)utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }

// Nullopt: not known.
std::optional<WallTime> LastUse(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return WallTime{static_cast<int64_t>(info.st_mtim.tv_sec) * 1000};
}

bool Unused(const std::string& path, WallTime now) {
  const auto last = LastUse(path);
  return last && now - *last >= kImageUnusedAge;
}

std::vector<std::string> BuiltImagesOf(const EngineFacts& engine) {
  const auto said = AskEngine(ImagesArgv(engine), kImagesMs);
  std::vector<std::string> out;
  if (!said.ok() || said->exit_code != 0) return out;
  for (const std::string& line : Split(said->out, '\n')) {
    if (!KeyOfBuilt(line).empty()) out.push_back(line);
  }
  return out;
}

// A file, and beside it what it is called by.
void SweepFiles(const std::string& folder, WallTime now, bool dry_run,
                std::vector<std::string>* out) {
  for (const sys::DirEntry& entry : sys::ListDir(folder).value_or({})) {
    const std::string path = folder + "/" + entry.name;
    if (!EndsWith(entry.name, kSif) || !Unused(path, now)) continue;
    if (!dry_run) {
      (void)sys::RemoveTree(path + kSifId);  // first: without it the file counts for none
      if (!sys::RemoveTree(path).ok()) continue;
    }
    out->push_back(path);
  }
}

}  // namespace

void NoteImageUse(const std::string& state_dir, const std::string& image) {
  const std::string key = KeyOfBuilt(image);
  if (key.empty() || !sys::MakeDirs(UsesIn(state_dir), 0700).ok()) return;
  const std::string note = UsesIn(state_dir) + "/" + key;
  if (!sys::FileExists(note)) (void)sys::WriteFileAtomic(note, "", 0600, false);
  Touch(note);
}

void NoteFileUse(const std::string& state_dir, const EngineFacts& engine,
                 const std::string& image) {
  if (sys::MakeDirs(UsesIn(state_dir), 0700).ok()) Touch(ApptainerFile(engine, image));
}

bool HasImageUses(const std::string& state_dir) { return sys::DirExists(UsesIn(state_dir)); }

std::vector<std::string> SweepImages(const std::string& state_dir,
                                     const std::vector<FoundEngine>& engines, WallTime now,
                                     bool dry_run) {
  std::vector<std::string> out;
  for (const FoundEngine& found : engines) {
    const EngineFacts& engine = found.facts;
    if (!found.trouble.empty()) continue;
    if (!KeepsBooks(engine.kind)) {
      SweepFiles(engine.folder, now, dry_run, &out);
      continue;
    }
    for (const std::string& image : BuiltImagesOf(engine)) {
      const std::string note = UsesIn(state_dir) + "/" + KeyOfBuilt(image);
      // A daemon has those of its other users, too.
      if (!LastUse(note) && engine.kind == EngineKind::kDocker) continue;
      if (!LastUse(note)) NoteImageUse(state_dir, image);
      if (!Unused(note, now)) continue;
      if (!dry_run) {
        const auto removed = AskEngine(RemoveImageArgv(engine, image), kRemoveImageMs);
        if (!removed.ok() || removed->exit_code != 0) continue;
        (void)sys::RemoveTree(note);
      }
      out.push_back(image);
    }
  }
  return out;
}

}  // namespace stoker
