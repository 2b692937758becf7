// SPDX-License-Identifier: Apache-2.0
#include "node/env/kept/env_keeper.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "ledger/envs/kept_envs.h"
#include "node/env/kept/env_parts.h"
#include "node/env/kept/take_env.h"
#include "sys/file.h"
#include "sys/file_lock.h"

namespace stoker::node {
namespace {

// It yields to the program, and is not starved by it: where the program wants each core, a thread
// gets a 60th of one at 19, and an environment of gigabytes is not there before the job's end; at
// 10 a tenth, for some minutes once a ledger.
constexpr int kNice = 10;

struct Sending {
  ObjectStore& store;
  const KeepEnv& what;
  const std::function<bool()>& stop;
  bool again = false;  // what is there is damaged
  int64_t sent = 0;
};

// "3.11.2", of pyvenv.cfg: uv writes version_info, venv version.
std::string VersionOf(const std::string& folder) {
  const auto text = sys::ReadFile(folder + "/pyvenv.cfg", 1 << 16);
  for (const std::string& line : Split(text.value_or(""), '\n')) {
    if (StartsWith(line, "version")) return line.substr(line.rfind(' ') + 1);
  }
  return "";
}

std::string Platform() {
  struct utsname name {};
  return ::uname(&name) == 0 ? std::string(name.sysname) + " " + name.machine : "";
}

// A file without a name: whoever is killed leaves nothing.
Result<sys::ScopedFd> OpenScratch(const std::string& folder) {
  const std::string path = folder + "/env-part";
  sys::ScopedFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus("making " + path, errno);
  (void)::unlink(path.c_str());
  return fd;
}

Status Send(Sending& to, const EnvPart& part, int fd) {
  int64_t at = 0;
  const auto read = [&](char* buffer, int64_t size) -> Result<int64_t> {
    if (to.stop()) return Status(Code::kCancelled, "it was stopped");
    const ssize_t got = ::pread(fd, buffer, static_cast<size_t>(size), at);
    if (got < 0) return ErrnoStatus("reading a part of the environment", errno);
    at += got;
    return static_cast<int64_t>(got);
  };
  STOKER_ASSIGN(const bool sent, PutEnvPart(to.store, part, to.again, read));
  if (sent) to.sent += part.bytes;
  return Status::Ok();
}

Result<EnvManifest> SendParts(Sending& to, const EnvTree& tree) {
  const PartWriter writer{to.what.folder, tree, to.stop, to.what.holds_secret};
  EnvManifest manifest{VersionOf(to.what.folder), Platform(), "", {}};
  for (const PartPlan& plan : PlanParts(tree)) {
    STOKER_ASSIGN(const sys::ScopedFd fd, OpenScratch(to.what.scratch));
    STOKER_ASSIGN(const WrittenPart written, WritePart(writer, plan, fd.get()));
    if (written.names_folder && to.what.passing) {
      return Status(Code::kInvalid, "its files name their folder, which goes with the attempt");
    }
    if (written.names_folder) manifest.bound = to.what.folder;
    STOKER_TRY(Send(to, written.part, fd.get()));
    manifest.parts.push_back(written.part);
  }
  return manifest;
}

// It is as it was made: a program may have installed something in it since.
Result<EnvTree> SeeUnchanged(const std::string& folder, const std::string& stamp) {
  STOKER_ASSIGN(EnvTree tree, SeeEnv(folder));
  if (StampOf(tree) == stamp) return tree;
  return Status(Code::kInvalid, "it is not any more as it was built");
}

Status Keep(ObjectStore& store, const KeepEnv& what, const EnvNote& note,
            const std::function<bool()>& stop) {
  const auto begun = std::chrono::steady_clock::now();
  Sending to{store, what, stop, !note.damaged.empty()};
  if (!to.again) {
    STOKER_ASSIGN(const auto found, FindEnv(store, note.key));
    if (found) return Status::Ok();
  }
  STOKER_ASSIGN(const EnvTree tree, SeeUnchanged(what.folder, note.stamp));
  STOKER_ASSIGN(const EnvManifest manifest, SendParts(to, tree));
  STOKER_TRY(SeeUnchanged(what.folder, note.stamp).status());
  if (stop()) return Status(Code::kCancelled, "it was stopped");
  STOKER_ASSIGN(const bool first,
                PutEnv(store, note.key, manifest,
                       to.again ? std::optional<Version>(note.damaged) : std::nullopt));
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begun);
  if (!first) {
    what.say("stoker: another node was quicker to keep this environment in the store");
    return Status::Ok();
  }
  what.say("stoker: the environment is kept in the store for other machines: " +
           HumanSize(manifest.Bytes()) + ", of which " + HumanSize(to.sent) + " were sent, in " +
           FormatDuration(Duration::Ms(took.count())) +
           (manifest.bound.empty() ? ""
                                   : "; its files name their folder, so they can be used in " +
                                         manifest.bound + " alone"));
  return Status::Ok();
}

}  // namespace

Status KeepNotedEnv(ObjectStore& store, const KeepEnv& what, const std::function<bool()>& stop) {
  auto note = ReadEnvNote(what.folder);
  if (!note || note->stamp == kSpoiltStamp) return Status::Ok();
  const auto lock = sys::TryFileLock(what.folder + ".kept.lock");
  if (!lock.ok()) return Status::Ok();  // another node of this machine is at it
  if (note->stamp != kKeptStamp) {
    const Status kept = Keep(store, what, *note, stop);
    if (kept.Is(Code::kInvalid)) {
      note->stamp = kSpoiltStamp;
      (void)WriteEnvNote(what.folder, *note);
    }
    STOKER_TRY(kept);
    note->stamp = kKeptStamp;
    note->damaged.clear();
    STOKER_TRY(WriteEnvNote(what.folder, *note));
  }
  return MarkEnvUsed(store, note->key);
}

Status NoteSetupKept(const std::string& folder) {
  auto note = ReadEnvNote(folder);
  if (!note || note->stamp != kSpoiltStamp) return Status::Ok();
  STOKER_ASSIGN(const EnvTree tree, SeeEnv(folder));
  note->stamp = StampOf(tree);
  return WriteEnvNote(folder, *note);
}

EnvKeeper::~EnvKeeper() {
  Stop();
  if (thread_.joinable()) thread_.join();
}

void EnvKeeper::Start(ObjectStore& store, KeepEnv what) {
  try {
    thread_ = std::thread([this, &store, what = std::move(what)] {
      (void)::setpriority(PRIO_PROCESS, 0, kNice);  // of this thread alone
      const Status kept = KeepNotedEnv(store, what, [this] { return stopped_.load(); });
      if (kept.ok()) return;
      what.say("stoker: the environment is not kept in the store: " +
               (kept.Is(Code::kCancelled) ? "the program ended, or is about to, before it was there"
                                          : kept.ToString()));
    });
  } catch (const std::system_error& error) {
    what.say(std::string("stoker: the environment is not kept in the store: ") + error.what());
  }
}

}  // namespace stoker::node
