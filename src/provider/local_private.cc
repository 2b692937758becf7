// SPDX-License-Identifier: Apache-2.0
#include "provider/local_private.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr char kHead[] = "stoker private 1";
constexpr int64_t kMaxPrivateBytes = 64 << 20;

std::string Folder(const std::string& state) { return state + "/private"; }

std::string File(const std::string& state, const std::string& ledger_id, const std::string& job) {
  return Folder(state) + "/" + ledger_id + "-" + job;
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
  STOKER_TRY(sys::MakeDirs(Folder(state), 0700));
  return sys::WriteFileAtomic(File(state, ledger_id, job), text, 0600, true);
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

Status RemoveLocalPrivate(const std::string& state, const std::string& ledger_id,
                          const std::string& job) {
  const std::string path = File(state, ledger_id, job);
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return Status::Ok();
  return ErrnoStatus("removing " + path, errno);
}

std::vector<LocalPrivateSeen> ListLocalPrivate(const std::string& state,
                                               const std::string& ledger_id) {
  std::vector<LocalPrivateSeen> out;
  const auto entries = sys::ListDir(Folder(state));
  for (const auto& entry : entries.ok() ? *entries : std::vector<sys::DirEntry>()) {
    struct stat st {};
    if (!entry.is_file || !StartsWith(entry.name, ledger_id + "-")) continue;
    if (::stat((Folder(state) + "/" + entry.name).c_str(), &st) != 0) continue;
    out.push_back({entry.name.substr(ledger_id.size() + 1),
                   WallTime{static_cast<int64_t>(st.st_mtim.tv_sec) * 1000}});
  }
  return out;
}

}  // namespace stoker
