// SPDX-License-Identifier: Apache-2.0
#include "node/env/kept/take_env.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "ledger/envs/kept_envs.h"
#include "ledger/paths.h"
#include "pack/extract.h"
#include "sys/file.h"
#include "sys/thread_crew.h"

namespace stoker::node {
namespace {

constexpr char kNote[] = "/.stoker-store";
// While they are unpacked: what a killed one left goes with the folder that it lies in.
constexpr char kParts[] = "/.stoker-parts";
constexpr int kAtOnce = 8;

Status FetchPart(const EnvTaker& by, const EnvPart& part, const std::string& to) {
  STOKER_ASSIGN(const auto download, OpenEnvPart(by.store, part));
  const pack::ByteSource source = [&](char* buffer, int64_t size) -> Result<int64_t> {
    if (by.cancelled()) return Status(Code::kCancelled, "stopped while the node was set up");
    return download->Read(buffer, size);
  };
  pack::ExtractOptions options;
  options.sha256 = part.sha256;
  return pack::Extract(source, to, options).WithContext(paths::EnvPart(part.sha256));
}

// Each into `to`/INDEX, the largest first.
Status FetchParts(const EnvTaker& by, const std::vector<EnvPart>& parts, const std::string& to) {
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return parts[a].bytes > parts[b].bytes; });
  std::atomic<size_t> next{0};
  std::mutex mutex;
  Status first;
  ThreadCrew().Work(kAtOnce, [&](int) {
    for (size_t at = next++; at < order.size(); at = next++) {
      Status got = FetchPart(by, parts[order[at]], to + "/" + std::to_string(order[at]));
      if (got.ok()) continue;
      const std::lock_guard lock(mutex);
      if (first.ok()) first = std::move(got);
      next = order.size();
    }
  });
  return first;
}

bool IsFolder(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Status MoveInto(const std::string& from, const std::string& to) {
  STOKER_ASSIGN(const auto entries, sys::ListDir(from));
  for (const sys::DirEntry& entry : entries) {
    const std::string old = from + "/" + entry.name, name = to + "/" + entry.name;
    struct stat info {};
    if (::lstat(name.c_str(), &info) != 0) {
      if (::rename(old.c_str(), name.c_str()) == 0) continue;
      return ErrnoStatus("moving " + old + " to " + name, errno);
    }
    if (!entry.is_dir || !S_ISDIR(info.st_mode)) {
      return Status(Code::kCorrupt, "two parts hold " + name);
    }
    STOKER_TRY(MoveInto(old, name));
  }
  return Status::Ok();
}

// What was unpacked to `from` goes to `folder`/`path`, through no link.
Status PlacePart(const std::string& from, const std::string& folder, const std::string& path) {
  std::string to = folder;
  for (const std::string& name : Split(path, '/')) {
    if (name.empty()) continue;  // of ""
    to += "/" + name;
    if (::mkdir(to.c_str(), 0777) != 0 && errno != EEXIST)
      return ErrnoStatus("making " + to, errno);
    if (!IsFolder(to)) return Status(Code::kCorrupt, to + " is not a folder");
  }
  return MoveInto(from, to);
}

// Where the environment was made, these were links to that machine's interpreter.
Status LinkPython(const std::string& folder, const std::string& python) {
  for (const char* name : {"/bin/python", "/bin/python3"}) {
    const std::string link = folder + name;
    if (::symlink(python.c_str(), link.c_str()) != 0 && errno != EEXIST) {
      return ErrnoStatus("making " + link, errno);
    }
  }
  STOKER_ASSIGN(const std::string text, sys::ReadFile(folder + "/pyvenv.cfg", 1 << 16));
  std::string out;
  for (const std::string& line : Split(text, '\n')) {
    const bool home = StartsWith(line, "home =") || StartsWith(line, "home=");
    out += (home ? "home = " + python.substr(0, python.rfind('/')) : line) + "\n";
  }
  while (EndsWith(out, "\n\n")) out.pop_back();
  return sys::WriteFileAtomic(folder + "/pyvenv.cfg", out, 0644, false);
}

Status Unpack(const EnvTaker& by, const EnvManifest& manifest, const std::string& folder,
              const std::string& python) {
  STOKER_TRY(sys::RemoveTree(folder));
  const std::string parts = folder + kParts;
  STOKER_TRY(sys::MakeDirs(parts));
  STOKER_TRY(FetchParts(by, manifest.parts, parts));
  for (size_t at = 0; at < manifest.parts.size(); ++at) {
    STOKER_TRY(PlacePart(parts + "/" + std::to_string(at), folder, manifest.parts[at].path));
  }
  STOKER_TRY(sys::RemoveTree(parts));
  STOKER_TRY(LinkPython(folder, python));
  return by.check(folder + "/bin/python");
}

}  // namespace

Result<TakenEnv> TakeEnv(const EnvTaker& by, const std::string& key, const std::string& folder,
                         const std::string& python) {
  const auto begun = std::chrono::steady_clock::now();
  const auto no = [&](const Status& why) {
    by.say("the environment that is kept in the store is not used, it is built here: " +
           why.ToString());
  };
  TakenEnv taken;
  const auto found = FindEnv(by.store, key);
  if (by.cancelled()) return Status(Code::kCancelled, "stopped while the node was set up");
  if (!found.ok()) return no(found.status()), taken;
  if (!*found) return taken;
  Status status = (*found)->why;
  const auto& manifest = (*found)->manifest;
  if (manifest && !manifest->bound.empty() && manifest->bound != folder) {
    by.say("the environment that is kept in the store can be used in " + manifest->bound +
           " alone: it is built here");
    return taken;
  }
  if (manifest) status = Unpack(by, *manifest, folder, python);
  if (status.ok()) {
    taken.taken = true;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    by.say("the environment comes from the store: " + HumanSize(manifest->Bytes()) + " in " +
           FormatDuration(Duration::Ms(static_cast<int64_t>(took.count() * 1000))) + ", built " +
           FormatDuration((*found)->age) + " ago with Python " + manifest->python);
    return taken;
  }
  if (status.Is(Code::kCancelled)) return status;
  // What a newer stoker wrote stays, and what this machine could not use or fetch may be whole.
  if (status.Is(Code::kCorrupt) || status.Is(Code::kNotFound)) taken.damaged = (*found)->version;
  return no(status), taken;
}

Status WriteEnvNote(const std::string& folder, const EnvNote& note) {
  return sys::WriteFileAtomic(
      folder + kNote, note.key + "\n" + note.stamp + "\n" + note.damaged + "\n", 0600, false);
}

std::optional<EnvNote> ReadEnvNote(const std::string& folder) {
  const auto text = sys::ReadFile(folder + kNote, 4096);
  if (!text.ok()) return std::nullopt;
  const auto lines = Split(*text, '\n');
  if (lines.size() < 3 || lines[0].size() != 64) return std::nullopt;
  return EnvNote{lines[0], lines[1], lines[2]};
}

}  // namespace stoker::node
