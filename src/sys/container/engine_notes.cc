// SPDX-License-Identifier: Apache-2.0
#include "sys/container/engine_notes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <type_traits>
#include <vector>

#include "base/digest.h"
#include "base/json_fields.h"
#include "base/text.h"
#include "container/container_spec.h"
#include "container/image_ref.h"
#include "sys/container/engines.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr size_t kMostNoteBytes = size_t{1} << 20;
constexpr size_t kMostImages = 32;

struct NotedImage {
  std::string name;
  std::string id;
  std::vector<std::string> names;
  std::string when;  // StampOfImages
};

struct EngineNote {
  std::string key;
  std::string version;
  std::string folder;
  bool rootless = false;
  bool nvidia = false;
  bool cdi = false;
  std::vector<NotedImage> images;  // the newest last
};

// T or const T.
template <typename T, typename Noun>
concept IsNoted = std::is_same_v<std::remove_const_t<T>, Noun>;

template <class A, IsNoted<NotedImage> T>
void Fields(A& a, T& t) {
  a.Need("name", t.name);
  a.Need("id", t.id);
  a("names", t.names);
  a("when", t.when);
}

template <class A, IsNoted<EngineNote> T>
void Fields(A& a, T& t) {
  a.Need("key", t.key);
  a.Need("version", t.version);
  a("folder", t.folder);
  a("rootless", t.rootless);
  a("nvidia", t.nvidia);
  a("cdi", t.cdi);
  a("images", t.images);
}

// Which file it is, and its last change.
std::string StampOf(const std::string& path) {
  struct stat s {};
  if (path.empty() || stat(path.c_str(), &s) != 0) return "";
  return std::to_string(s.st_dev) + ":" + std::to_string(s.st_ino) + ":" +
         std::to_string(s.st_size) + ":" + std::to_string(s.st_mtim.tv_sec) + "." +
         std::to_string(s.st_mtim.tv_nsec);
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Files that decide what the client does, and its daemon's socket. Not those of packages, which
// bring a client, too.
std::vector<std::string> FilesOf(EngineKind kind) {
  std::string config = Variable("XDG_CONFIG_HOME");
  if (config.empty()) config = sys::HomeDir() + "/.config";
  if (kind == EngineKind::kDocker) {
    std::string folder = Variable("DOCKER_CONFIG");
    if (folder.empty()) folder = sys::HomeDir() + "/.docker";
    constexpr std::string_view kUnix = "unix://";
    const std::string host = Variable("DOCKER_HOST");
    return {folder + "/config.json",
            StartsWith(host, kUnix) ? host.substr(kUnix.size()) : "/var/run/docker.sock"};
  }
  std::vector<std::string> out = {Variable("CONTAINERS_CONF"), Variable("CONTAINERS_STORAGE_CONF"),
                                  Variable("CONTAINERS_REGISTRIES_CONF")};
  for (const std::string& folder : {std::string("/etc"), config}) {
    for (const char* name : {"containers", "storage", "registries"}) {
      out.push_back(folder + "/containers/" + name + ".conf");
    }
  }
  return out;
}

bool Leads(const std::string& variable) {
  for (const char* lead : {"CONTAINER", "DOCKER_", "STORAGE_",
                           "XDG_CONFIG_HOME=", "XDG_DATA_HOME=", "XDG_RUNTIME_DIR=", "HOME="}) {
    if (StartsWith(variable, lead)) return true;
  }
  return false;
}

// Of a client, and all that leads it to its images and its daemon.
std::string KeyOf(const EngineFacts& engine) {
  std::vector<std::string> parts = EngineEnvironment();
  std::erase_if(parts, [](const std::string& entry) { return !Leads(entry); });
  std::sort(parts.begin(), parts.end());  // in whatever order each process has them
  parts.push_back(std::to_string(geteuid()));
  parts.push_back(engine.program);
  parts.push_back(StampOf(engine.program));
  for (const std::string& file : FilesOf(engine.kind)) parts.push_back(StampOf(file));
  return Sha256Hex(Join(parts, "\n"));
}

std::string ImagesOf(const EngineFacts& podman) { return podman.folder + "/overlay-images"; }

// Changes with each image that comes, goes or is named anew, all of which podman writes into one
// file; "" where that is not to be seen.
std::string StampOfImages(const EngineFacts& engine) {
  if (engine.kind != EngineKind::kPodman || engine.folder.empty()) return "";
  return StampOf(ImagesOf(engine) + "/images.json");
}

bool StandsForOne(const std::string& image) {
  const auto ref = ParseImageRef(image);
  return ref && !ref->digest.empty();
}
// Of one Dockerfile and code; it may be built anew, upon another image.
bool IsBuilt(const std::string& image) { return StartsWith(image, std::string(kBuiltImage) + ":"); }

std::string PathOf(const std::string& folder, EngineKind kind) {
  return folder + "/" + EngineName(kind);
}

// Of this client with these settings; else an empty one.
EngineNote Read(const std::string& path, const std::string& key) {
  EngineNote note;
  const auto text = sys::ReadFile(path, kMostNoteBytes);
  const auto object = text.ok() ? json::ParseObject(path, *text, kMostNoteBytes)
                                : Result<json::Value>(text.status());
  if (object.ok()) {
    json::JsonIn in(*object, "");
    Fields(in, note);
    if (in.status().ok() && note.key == key) return note;
  }
  note = EngineNote();
  note.key = key;
  return note;
}

Status Write(const std::string& path, const EngineNote& note) {
  json::JsonOut out;
  Fields(out, note);
  const std::string text = json::Dump(out.Take());
  if (sys::ReadFile(path, kMostNoteBytes).value_or("") == text) return Status::Ok();
  return sys::WriteFileAtomic(path, text, 0600, false);
}

const NotedImage* Find(const EngineNote& note, const std::string& image) {
  for (const NotedImage& one : note.images) {
    if (one.name == image) return &one;
  }
  return nullptr;
}

}  // namespace

Status EngineNotes::Note(const EngineFacts& engine) const {
  if (!KeepsBooks(engine.kind)) return Status::Ok();
  STOKER_TRY(sys::MakeDirs(folder_, 0700));
  const std::string path = PathOf(folder_, engine.kind);
  EngineNote note = Read(path, KeyOf(engine));
  note.version = engine.version;
  note.rootless = engine.rootless;
  note.nvidia = engine.nvidia;
  note.cdi = engine.cdi;
  note.folder = engine.folder;
  return Write(path, note);
}

bool EngineNotes::Has(const EngineFacts& engine) const {
  return sys::FileExists(PathOf(folder_, engine.kind));
}

bool EngineNotes::HasAny() const { return sys::DirExists(folder_); }

std::optional<EngineFacts> EngineNotes::Engine(const std::string& wanted) const {
  auto engine = FirstEngine(wanted);
  if (!engine || !Has(*engine)) return std::nullopt;
  const EngineNote note = Read(PathOf(folder_, engine->kind), KeyOf(*engine));
  if (note.version.empty()) return std::nullopt;
  engine->version = note.version;
  engine->rootless = note.rootless;
  engine->nvidia = note.nvidia;
  engine->cdi = note.cdi;
  engine->folder = note.folder;
  return engine;
}

Result<std::optional<ImageHere>> EngineNotes::Look(const EngineFacts& engine,
                                                   const std::string& image,
                                                   const sys::Stopped& stopped) const {
  const std::string path = PathOf(folder_, engine.kind);
  const bool noted = Has(engine);
  const std::string key = noted ? KeyOf(engine) : "", when = StampOfImages(engine);
  if (noted && !when.empty()) {
    const EngineNote note = Read(path, key);
    const NotedImage* known = Find(note, image);
    if (known != nullptr && known->when == when) return {ImageHere{known->id, known->names}};
  }
  STOKER_ASSIGN(auto found, LookForImage(engine, image, stopped));
  if (!noted || !found) return found;
  EngineNote note = Read(path, key);
  std::erase_if(note.images, [&](const NotedImage& one) { return one.name == image; });
  if (note.images.size() >= kMostImages) note.images.erase(note.images.begin());
  // Of a store beside the engine's own, whose changes are not seen, each look asks anew.
  const bool own = !when.empty() && sys::DirExists(ImagesOf(engine) + "/" + found->id);
  note.images.push_back({image, found->id, found->names, own ? when : ""});
  (void)Write(path, note);  // else it is asked again
  return found;
}

std::optional<ImageHere> EngineNotes::Recall(const EngineFacts& engine,
                                             const std::string& image) const {
  if (IsImageDigest(image)) return ImageHere{image.substr(image.find(':') + 1), {}};
  if (!(StandsForOne(image) || IsBuilt(image)) || !Has(engine)) return std::nullopt;
  const EngineNote note = Read(PathOf(folder_, engine.kind), KeyOf(engine));
  const NotedImage* known = Find(note, image);
  if (known == nullptr) return std::nullopt;
  const bool as_then = !known->when.empty() && known->when == StampOfImages(engine);
  if (IsBuilt(image) && !as_then) return std::nullopt;
  return ImageHere{known->id, known->names};
}

Status ForgetContainers(const std::string& state_dir, const std::string& owner, int64_t within_ms) {
  if (!sys::FileExists(owner + kContainerFolder)) return Status::Ok();
  Status why;
  const EngineNotes notes(state_dir);
  for (const EngineKind kind : {EngineKind::kPodman, EngineKind::kDocker}) {
    // Also where it is not quite as it was noted: it has the containers all the same.
    auto engine = FirstEngine(EngineName(kind));
    if (engine && !notes.Has(*engine)) engine.reset();
    const Status gone = engine ? RemoveContainers(*engine, owner, within_ms) : Status::Ok();
    if (!gone.ok()) why = gone;
  }
  return why;
}

std::string StoreOf(pid_t pid) {
  constexpr std::string_view kUpper = "upperdir=", kIn = "/overlay/";
  const auto mounts = sys::ReadFile("/proc/" + std::to_string(pid) + "/mountinfo", 4 << 20);
  for (const std::string& line : Split(mounts.value_or(""), '\n')) {
    const std::vector<std::string> words = Split(line, ' ');
    if (words.size() < 5 || words[4] != "/") continue;
    for (const std::string& option : Split(words.back(), ',')) {
      if (!StartsWith(option, kUpper) || option.find('\\') != std::string::npos) continue;
      const std::string upper = option.substr(kUpper.size());
      const size_t at = upper.rfind(kIn);
      if (at != std::string::npos && upper[0] == '/') return upper.substr(0, at);
    }
  }
  return "";
}

}  // namespace stoker
