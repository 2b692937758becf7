// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/slurm_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/json.h"
#include "base/text.h"
#include "provider/slurm/slurm_job.h"
#include "provider/slurm/slurm_queue.h"
#include "sys/file.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostBytes = 1 << 20;
constexpr int64_t kLastWords = 2000;
constexpr Duration kMarksKept = Duration::Hours(24 * 30);
constexpr Duration kUnsentKept = Duration::Hours(24);  // longer than a request may be sent
// Slurm's numbers go round, and begin anew after some time; a controller that died sooner.
constexpr Duration kGivenAgain = Duration::Hours(1);
constexpr char kSending[] = "sending-";
constexpr char kSignalled[] = "signalled-";

std::string NameOf(const std::string& ledger, const std::string& job, const std::string& token) {
  return ledger + "-" + job + "." + token;
}

// "LEDGER-JOB" of such a name; a token has no dots.
std::string_view BaseOf(std::string_view name) { return name.substr(0, name.rfind('.')); }

int64_t ReadNumber(const std::string& path) {
  const auto text = sys::ReadFile(path, 64);
  if (!text.ok()) return 0;
  const size_t end = text->find_last_not_of(" \n");
  return WholeNumber(text->substr(0, end == std::string::npos ? 0 : end + 1), 1, kMostSlurmJob)
      .value_or(0);
}

Result<Json> ReadJson(const std::string& path) {
  STOKER_ASSIGN(const std::string text, sys::ReadFile(path, kMostBytes));
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Status(Code::kCorrupt, path + ": is not a JSON object");
  return json;
}

std::string Text(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_string() ? it->get<std::string>() : "";
}

std::string TextOf(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status WriteJson(const std::string& path, const Json& json) {
  return sys::WriteFileAtomic(path, TextOf(json), 0600, false);
}

// By the file server's clock, as all times of files here.
WallTime ChangedAt(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return {};
  return {int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000};
}

constexpr const char* kEnders[] = {"self", "owner", "platform"};

}  // namespace

bool IsSlurmToken(std::string_view token) {
  return !token.empty() && token.size() <= 128 &&
         std::all_of(token.begin(), token.end(),
                     [](char c) { return IsAlnum(c) || c == '_' || c == '-'; });
}

bool SlurmFolder::Exists() const { return sys::DirExists(path_); }

Result<LaunchRequest> SlurmFolder::Request() const {
  STOKER_ASSIGN(const std::string text, sys::ReadFile(path_ + "/request.json", kMostBytes));
  return ParseSlurmRequest(text);
}

int64_t SlurmFolder::Job() const { return ReadNumber(path_ + "/job"); }

int64_t SlurmFolder::Started() const { return ReadNumber(path_ + "/started"); }

SlurmTraces SlurmFolder::Traces() const {
  const auto text = sys::ReadFile(path_ + "/begun", 64);
  const auto begun = ParseRfc3339(text.ok() ? text->substr(0, text->find('\n')) : "");
  return {begun.value_or(WallTime()), sys::FileExists(path_ + "/left"),
          sys::FileExists(path_ + "/again")};
}

void SlurmFolder::KeepBegun(WallTime begun) const {
  if (begun.ms > 0 && !sys::FileExists(path_ + "/begun"))
    (void)LinkFirst("begun", FormatRfc3339(begun) + "\n");
}

WallTime SlurmFolder::LearntAt() const {
  return std::max(ChangedAt(path_ + "/job"), ChangedAt(path_ + "/started"));
}

Result<std::string> SlurmFolder::BeginSending() const {
  const std::string name = path_ + "/" + kSending + Hex64(sys::RandomU64());
  STOKER_TRY(sys::WriteFileAtomic(name, "", 0600, false));
  return name;
}

void SlurmFolder::EndSending(const std::string& name) const { (void)unlink(name.c_str()); }

bool SlurmFolder::IsSending(WallTime since) const {
  const auto entries = sys::ListDir(path_);
  if (!entries.ok()) return false;
  return std::any_of(entries->begin(), entries->end(), [&](const sys::DirEntry& entry) {
    return StartsWith(entry.name, kSending) && ChangedAt(path_ + "/" + entry.name) >= since;
  });
}

std::optional<SlurmEnd> SlurmFolder::End() const {
  const auto json = ReadJson(path_ + "/end");
  if (json.code() == Code::kNotFound) return std::nullopt;
  SlurmEnd end;
  if (!json.ok()) return end;
  end.why = Text(*json, "why");
  const std::string by = Text(*json, "by");
  if (by == kEnders[1]) end.by = SlurmEnder::kOwner;
  if (by == kEnders[2]) end.by = SlurmEnder::kPlatform;
  return end;
}

// Written beside its place and linked there, which fails when somebody was first.
Status SlurmFolder::LinkFirst(const std::string& name, const std::string& text) const {
  const std::string fresh = path_ + "/." + name + "-" + Hex64(sys::RandomU64());
  STOKER_TRY(sys::WriteFileAtomic(fresh, text, 0600, false));
  const int linked = link(fresh.c_str(), (path_ + "/" + name).c_str());
  const int error = errno;
  (void)unlink(fresh.c_str());
  if (linked == 0 || error == EEXIST) return Status::Ok();
  return ErrnoStatus("writing " + name + " in " + path_, error);
}

Status SlurmFolder::KeepEnd(const SlurmEnd& end) const {
  return LinkFirst("end", TextOf({{"by", kEnders[static_cast<size_t>(end.by)]}, {"why", end.why}}));
}

std::optional<SlurmNodeFile> SlurmFolder::Node(int index) const {
  const auto json = ReadJson(path_ + "/node-" + std::to_string(index));
  if (!json.ok()) return std::nullopt;
  const auto expires = ParseRfc3339(Text(*json, "expires"));
  if (!expires.ok()) return std::nullopt;
  return SlurmNodeFile{Text(*json, "address"), *expires};
}

Status SlurmFolder::KeepNode(int index, const SlurmNodeFile& node) const {
  return WriteJson(path_ + "/node-" + std::to_string(index),
                   {{"address", node.address}, {"expires", FormatRfc3339(node.expires)}});
}

Result<std::optional<Notice>> SlurmFolder::ReadNotice() const {
  auto json = ReadJson(path_ + "/notice");
  if (json.code() == Code::kNotFound) return std::optional<Notice>();
  if (!json.ok()) return json.status();
  STOKER_ASSIGN(const WallTime until, ParseRfc3339(Text(*json, "until")));
  return std::optional<Notice>(Notice{"terminate", until});
}

Status SlurmFolder::GiveNotice(const Notice& notice) const {
  return WriteJson(path_ + "/notice", {{"until", FormatRfc3339(notice.until)}});
}

void SlurmFolder::Signalled(int index) const {
  (void)sys::WriteFileAtomic(path_ + "/" + kSignalled + std::to_string(index), "", 0600, false);
}

bool SlurmFolder::SignalledSince(WallTime when) const {
  const auto entries = sys::ListDir(path_);
  if (!entries.ok()) return false;
  return std::any_of(entries->begin(), entries->end(), [&](const sys::DirEntry& entry) {
    return StartsWith(entry.name, kSignalled) && ChangedAt(path_ + "/" + entry.name) >= when;
  });
}

std::string SlurmFolder::LastWords(int64_t job) const {
  const auto text = sys::ReadFile(path_ + "/slurm-" + std::to_string(job) + ".log", kMostBytes);
  if (!text.ok()) return "";
  std::string tail = text->size() > kLastWords ? text->substr(text->size() - kLastWords) : *text;
  while (!tail.empty() && tail.back() == '\n') tail.pop_back();
  return Printable(tail);
}

std::string SlurmState::PathOf(const LaunchRequest& request) const {
  return root_ + "/requests/" + NameOf(request.ledger_id, request.job, request.token);
}

Status SlurmState::Make(const LaunchRequest& request) const {
  const std::string path = PathOf(request);
  if (sys::DirExists(path)) return Status::Ok();
  STOKER_TRY(sys::MakeDirs(root_ + "/requests", 0700));
  const std::string fresh = root_ + "/requests/.new-" + Hex64(sys::RandomU64());
  STOKER_TRY(sys::MakeDirs(fresh, 0700));
  Status made = sys::WriteFileAtomic(fresh + "/request.json", EncodeSlurmRequest(request) + "\n",
                                     0600, false);
  // Only an empty folder is replaced by rename(2), and none of ours is ever empty.
  if (made.ok() && rename(fresh.c_str(), path.c_str()) != 0 && errno != EEXIST &&
      errno != ENOTEMPTY) {
    made = ErrnoStatus("making " + path, errno);
  }
  (void)sys::RemoveTree(fresh);
  return made;
}

Status SlurmState::KeepJob(const LaunchRequest& request, int64_t job) const {
  const std::string path = PathOf(request);
  if (WasOfAnother(NameOf(request.ledger_id, request.job, request.token), job)) {
    STOKER_TRY(sys::WriteFileAtomic(path + "/again", "", 0600, false));
  }
  return sys::WriteFileAtomic(path + "/job", std::to_string(job) + "\n", 0600, false);
}

bool SlurmState::WasOfAnother(const std::string& name, int64_t job) const {
  for (const SlurmFolder& folder : ListAll()) {
    const bool same = folder.path() == root_ + "/requests/" + name;
    if (!same && (folder.Job() == job || folder.Started() == job)) return true;
  }
  const auto marks = sys::ListDir(root_ + "/over");
  if (!marks.ok()) return false;
  const WallTime now = ChangedAt(root_ + "/requests");
  return std::any_of(marks->begin(), marks->end(), [&](const sys::DirEntry& mark) {
    const std::string path = root_ + "/over/" + mark.name;
    return mark.name != name && now - ChangedAt(path) < kGivenAgain && ReadNumber(path) == job;
  });
}

bool SlurmState::IsOver(const LaunchRequest& request) const {
  return sys::FileExists(root_ + "/over/" + NameOf(request.ledger_id, request.job, request.token));
}

bool SlurmState::WasOver(const LaunchRequest& request, WallTime at) const {
  const WallTime since =
      ChangedAt(root_ + "/over/" + NameOf(request.ledger_id, request.job, request.token));
  return since.ms > 0 && since < at;
}

Status SlurmState::Remove(const LaunchRequest& request) const {
  const std::string name = NameOf(request.ledger_id, request.job, request.token);
  const SlurmFolder folder = Of(request);
  const int64_t job = folder.Started() != 0 ? folder.Started() : folder.Job();
  STOKER_TRY(sys::MakeDirs(root_ + "/over", 0700));
  STOKER_TRY(sys::WriteFileAtomic(root_ + "/over/" + name,
                                  job == 0 ? "" : std::to_string(job) + "\n", 0600, false));
  STOKER_TRY(sys::RemoveTree(root_ + "/requests/" + name));
  const auto marks = sys::ListDir(root_ + "/over");
  const WallTime now = ChangedAt(root_ + "/over/" + name);
  for (const sys::DirEntry& mark : marks.ok() ? *marks : std::vector<sys::DirEntry>()) {
    const std::string path = root_ + "/over/" + mark.name;
    if (now - ChangedAt(path) > kMarksKept) (void)unlink(path.c_str());
  }
  return Status::Ok();
}

void SlurmState::ClearUnsent(WallTime now) const {
  for (const SlurmFolder& folder : ListAll()) {
    const bool sent = folder.Job() != 0 || folder.Started() != 0;
    if (sent || now - ChangedAt(folder.path()) < kUnsentKept) continue;
    const auto request = folder.Request();
    if (request.ok() && !folder.IsSending(now - kUnsentKept)) (void)Remove(*request);
  }
}

std::vector<SlurmFolder> SlurmState::ListAll() const {
  std::vector<SlurmFolder> out;
  const auto entries = sys::ListDir(root_ + "/requests");
  for (const sys::DirEntry& entry : entries.ok() ? *entries : std::vector<sys::DirEntry>()) {
    if (entry.is_dir && entry.name[0] != '.') out.emplace_back(root_ + "/requests/" + entry.name);
  }
  return out;
}

std::vector<SlurmFolder> SlurmState::List(const std::string& ledger, const std::string& job) const {
  std::vector<SlurmFolder> out;
  for (SlurmFolder& folder : ListAll()) {
    const std::string name = folder.path().substr(folder.path().rfind('/') + 1);
    const std::string_view base = BaseOf(name);
    const bool fits = job.empty() ? StartsWith(base, ledger + "-") : base == ledger + "-" + job;
    if (fits) out.push_back(std::move(folder));
  }
  return out;
}

bool SlurmState::Knows(const std::string& ledger, const std::string& job) const {
  if (!List(ledger, job).empty()) return true;
  const auto marks = sys::ListDir(root_ + "/over");
  if (!marks.ok()) return false;
  return std::any_of(marks->begin(), marks->end(), [&](const sys::DirEntry& mark) {
    return BaseOf(mark.name) == ledger + "-" + job;
  });
}

}  // namespace stoker
