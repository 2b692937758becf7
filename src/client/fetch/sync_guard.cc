// SPDX-License-Identifier: Apache-2.0
#include "client/fetch/sync_guard.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "ledger/paths.h"
#include "store/open.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

constexpr size_t kFewObjects = 100;  // of so many, all may go unasked
constexpr int64_t kMostLedgerFile = 64 << 10;
constexpr int kFirstUser = 1000;

bool Named(const std::vector<std::string>& allowed, const std::string& word) {
  return std::find(allowed.begin(), allowed.end(), word) != allowed.end();
}

Status Refuse(const std::string& what, const std::string& word) {
  return Status(Code::kUsage, what + ": --delete could remove all of it",
                "Name a folder for these files alone; if you mean it, add --delete-in " + word);
}

// Of people, and of who runs this.
std::vector<std::string> Homes() {
  std::vector<std::string> homes = {sys::HomeDir()};
  const auto passwd = sys::ReadFile("/etc/passwd", 16 << 20);
  for (const std::string& line : Split(passwd.value_or(""), '\n')) {
    const std::vector<std::string> fields = Split(line, ':');
    if (fields.size() < 6 || !StartsWith(fields[5], "/")) continue;
    const int64_t uid = std::strtoll(fields[2].c_str(), nullptr, 10);
    if (fields[2] == "0" || uid >= kFirstUser) homes.push_back(fields[5]);
  }
  std::erase(homes, "/");
  return homes;
}

// What Ledger::Open makes; a file of that name may be anything else.
bool DescribesLedger(const std::string& text) {
  const auto parsed = nlohmann::json::parse(text, nullptr, false);
  return parsed.is_object() && parsed.contains("format") && parsed.contains("id") &&
         parsed.contains("created") && parsed["id"].is_string();
}

Result<std::string> ReadObject(TransferSide& side, const ObjectInfo& info) {
  STOKER_ASSIGN(const auto reader, side.OpenReader(info));
  std::string text;
  STOKER_TRY(reader->Read(0, info.size, [&](std::string_view bytes) {
    text += bytes;
    return Status::Ok();
  }));
  return text;
}

// The place around the target that is a ledger; "" = none.
std::string LedgerAround(const SyncSide& target) {
  std::string at = target.side->url();
  if (target.folder != nullptr) at = sys::RealPath(at).value_or(at);
  const size_t top = target.folder != nullptr ? 0 : at.find("://") + 3;
  for (size_t slash = at.rfind('/'); slash != std::string::npos && slash >= top && !at.empty();
       slash = at.rfind('/')) {
    at.resize(slash);
    std::string text;
    if (target.folder != nullptr) {
      text = sys::ReadFile(at + "/" + paths::LedgerId(), kMostLedgerFile).value_or("");
    } else if (const auto store = OpenStore(at); store.ok()) {
      const auto object = (*store)->Get(paths::LedgerId());
      if (object.ok()) text = object->data;
    }
    if (DescribesLedger(text)) return at.empty() ? "/" : at;
  }
  return "";
}

}  // namespace

Status CheckApart(const SyncSide& source, const SyncSide& target) {
  if (source.folder != nullptr && target.folder != nullptr) {
    return target.folder->CheckApart(*source.folder);
  }
  // A bucket's prefixes are text. Two services may hold one bucket: nobody can tell.
  const std::string from = source.side->url();
  const std::string to = target.side->url();
  if (from != to && !StartsWith(to, from + "/") && !StartsWith(from, to + "/")) {
    return Status::Ok();
  }
  return Status(Code::kUsage, from + " and " + to + " overlap",
                "Name two places that have nothing in common");
}

Status CheckWholeSource(const SyncSide& source) {
  if (source.only.empty()) return Status::Ok();
  return Status(Code::kUsage,
                source.side->url() + " is one file: --delete would remove all else from DST",
                "Leave out --delete, or name the folder that the file lies in");
}

Status CheckWholePlaces(const SyncSide& target, const std::vector<std::string>& allowed) {
  const std::string where = target.side->url();
  if (target.folder == nullptr) {
    const bool whole = where.find('/', where.find("://") + 3) == std::string::npos;
    if (whole && !Named(allowed, "bucket")) return Refuse(where + " is a whole bucket", "bucket");
    return Status::Ok();
  }
  if (target.folder->Holds("/")) {
    if (Named(allowed, "root")) return Status::Ok();
    return Refuse(where + " is the root of the file system", "root");
  }
  if (Named(allowed, "home")) return Status::Ok();
  for (const std::string& home : Homes()) {
    if (target.folder->Holds(home)) {
      return Refuse(where + " is or contains the home folder " + Printable(home), "home");
    }
  }
  return Status::Ok();
}

Status CheckLedgers(SyncSide& target, const SideListing& there, const SyncPlan& plan,
                    const std::vector<std::string>& allowed) {
  if (plan.remove.empty() || Named(allowed, "ledger")) return Status::Ok();
  const std::string where = target.side->url();
  const std::string around = LedgerAround(target);
  if (!around.empty()) return Refuse(where + " lies in the ledger " + around, "ledger");
  const std::string name = paths::LedgerId();
  for (const ObjectInfo& object : there.objects) {
    const bool below = EndsWith(object.key, "/" + name);
    if ((object.key != name && !below) || object.size > kMostLedgerFile) continue;
    const std::string prefix = object.key.substr(0, object.key.size() - name.size());
    const bool touched = std::any_of(plan.remove.begin(), plan.remove.end(),
                                     [&](const auto& key) { return StartsWith(key, prefix); });
    if (!touched) continue;
    STOKER_ASSIGN(const std::string text, ReadObject(*target.side, object));
    if (!DescribesLedger(text)) continue;
    return Refuse(
        where + (below ? " has the ledger " + Printable(prefix) + " in it" : " is a ledger"),
        "ledger");
  }
  return Status::Ok();
}

Status CheckShare(Client& client, const std::string& target, size_t objects, const SyncPlan& plan,
                  bool yes) {
  const size_t gone = plan.remove.size();
  if (yes || objects <= kFewObjects || 2 * gone <= objects) return Status::Ok();
  const std::string what = std::to_string(gone) + " of the " + std::to_string(objects) +
                           " files in " + Printable(target);
  if (client.Confirm("This removes " + what + ". Go on?")) return Status::Ok();
  return Status(Code::kUsage, "--delete would remove " + what + ": nothing was done",
                "Look with --dry-run; if you mean it, add --yes");
}

}  // namespace stoker::client
