// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_private.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/text.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr char kHead[] = "stoker private 1";
constexpr int64_t kMaxPrivateBytes = 64 << 20;
constexpr int kWriteTries = 8;

std::string Folder(const std::string& state) { return state + "/private"; }

std::string File(const std::string& state, const std::string& ledger_id, const std::string& job) {
  return Folder(state) + "/" + ledger_id + "-" + job;
}

std::optional<WallTime> Changed(const std::string& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) return std::nullopt;
  return WallTime{static_cast<int64_t>(st.st_mtim.tv_sec) * 1000};
}

}  // namespace

// Fields with a NUL behind each: the head, then kind, name and value, over and over.
Status WriteLocalPrivate(const std::string& state, const std::string& ledger_id,
                         const std::string& job, const LocalPrivate& content) {
  std::string text(kHead, sizeof kHead);
  const auto add = [&text](std::string_view kind, const std::string& name,
                           const std::string& value) {
    for (const std::string_view field : {kind, std::string_view(name), std::string_view(value)}) {
      text += field;
      text += '\0';
    }
  };
  for (const auto& [name, value] : content.shell) add("shell", name, value);
  for (const auto& [name, value] : content.secrets) add("secret", name, value);
  if (!content.workdir.empty()) add("workdir", "", content.workdir);
  // Whoever removes the last file removes the folder too, perhaps between these two calls.
  Status written;
  for (int tries = 0; tries < kWriteTries; ++tries) {
    written = sys::MakeDirs(Folder(state), 0700);
    if (written.Is(Code::kExists)) continue;
    STOKER_TRY(written);
    written = sys::WriteFileAtomic(File(state, ledger_id, job), text, 0600, true);
    if (!written.Is(Code::kNotFound)) return written;
  }
  return written;
}

Result<LocalPrivate> ReadLocalPrivate(const std::string& state, const std::string& ledger_id,
                                      const std::string& job) {
  const std::string path = File(state, ledger_id, job);
  STOKER_ASSIGN(const std::string text, sys::ReadFile(path, kMaxPrivateBytes));
  const std::vector<std::string> fields = Split(text, '\0');
  if (fields[0] != kHead || fields.size() % 3 != 2 || !fields.back().empty()) {
    return Status(Code::kCorrupt, path + ": is not what stoker wrote",
                  "'stoker retry' makes a new job, with the secrets of your environment");
  }
  LocalPrivate content;
  for (size_t at = 1; at + 3 < fields.size(); at += 3) {
    const std::string& kind = fields[at];
    if (kind == "shell") content.shell.emplace_back(fields[at + 1], fields[at + 2]);
    if (kind == "secret") content.secrets.emplace_back(fields[at + 1], fields[at + 2]);
    if (kind == "workdir") content.workdir = fields[at + 2];
  }
  return content;
}

std::optional<std::string> FindPrivate(const std::string& state, const std::string& ledger_id,
                                       const std::string& job, const std::string& name) {
  const auto read = ReadLocalPrivate(state, ledger_id, job);
  if (!read.ok()) return std::nullopt;
  for (const auto& [known, value] : read->secrets) {
    if (known == name) return value;
  }
  return std::nullopt;
}

Status RemoveLocalPrivate(const std::string& state, const std::string& ledger_id,
                          const std::string& job) {
  const std::string path = File(state, ledger_id, job);
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return ErrnoStatus("removing " + path, errno);
  rmdir(Folder(state).c_str());  // unless others are there
  return Status::Ok();
}

void SweepLocalPrivate(const std::string& state, WallTime before) {
  const auto entries = sys::ListDir(Folder(state));
  for (const auto& entry : entries.ok() ? *entries : std::vector<sys::DirEntry>()) {
    const std::string path = Folder(state) + "/" + entry.name;
    const auto changed = Changed(path);
    if (StartsWith(entry.name, ".tmp-") && changed && *changed < before) unlink(path.c_str());
  }
  rmdir(Folder(state).c_str());  // unless others are there
}

std::vector<LocalPrivateSeen> ListLocalPrivate(const std::string& state,
                                               const std::string& ledger_id) {
  std::vector<LocalPrivateSeen> out;
  const auto entries = sys::ListDir(Folder(state));
  for (const auto& entry : entries.ok() ? *entries : std::vector<sys::DirEntry>()) {
    if (!entry.is_file || !StartsWith(entry.name, ledger_id + "-")) continue;
    const auto changed = Changed(Folder(state) + "/" + entry.name);
    if (changed) out.push_back({entry.name.substr(ledger_id.size() + 1), *changed});
  }
  return out;
}

}  // namespace stoker
