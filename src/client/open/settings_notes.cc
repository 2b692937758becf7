// SPDX-License-Identifier: Apache-2.0
#include "client/open/settings_notes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/digest.h"
#include "base/json.h"
#include "base/prng.h"
#include "base/text.h"
#include "client/open/client.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

using nlohmann::json;

constexpr int64_t kMaxNote = 64 << 10;
constexpr size_t kMostIds = 100;
constexpr size_t kNameDigits = 32;

std::string MeFile(const std::string& folder) { return folder + "/me"; }
std::string StoresFolder(const std::string& folder) { return folder + "/stores"; }
std::string NoteFile(const std::string& folder, const std::string& url) {
  return StoresFolder(folder) + "/" + Sha256Hex(url).substr(0, kNameDigits) + ".json";
}

bool Has(const std::vector<std::string>& list, const std::string& id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

std::vector<std::string> Ids(const json& note, const char* member) {
  std::vector<std::string> ids;
  const auto found = note.find(member);
  if (found == note.end() || !found->is_array()) return ids;
  for (const json& each : *found) {
    if (each.is_string() && IsSafeName(each.get<std::string>())) {
      ids.push_back(each.get<std::string>());
    }
  }
  // The newest stand at the end.
  if (ids.size() > kMostIds) ids.erase(ids.begin(), ids.end() - static_cast<int>(kMostIds));
  return ids;
}

// "" = there is no such file, or no id in it.
std::string ReadMe(const std::string& path) {
  std::string text = sys::ReadFile(path, kMaxNote).value_or("");
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return IsSafeName(text) ? text : "";
}

// Under its name it is whole, and the first of two stays.
Status WriteOnce(const std::string& path, const std::string& text) {
  const std::string draft = path + ".tmp-" + Hex64(sys::RandomU64());
  STOKER_TRY(sys::WriteFileAtomic(draft, text, 0600));
  const int linked = ::link(draft.c_str(), path.c_str());
  const int error = errno;
  // Not every file system has links.
  if (linked != 0 && error != EEXIST && ::rename(draft.c_str(), path.c_str()) == 0) {
    return Status::Ok();
  }
  (void)::unlink(draft.c_str());
  return linked == 0 || error == EEXIST ? Status::Ok() : ErrnoStatus("writing " + path, error);
}

}  // namespace

bool Learn(const std::string& id, StoreNote* note, std::string* instead) {
  if (!note->ids.empty() && note->ids.back() == id) return false;
  if (!note->ids.empty()) *instead = note->ids.back();
  std::erase(note->replaced, id);
  std::erase(note->ids, id);
  note->ids.push_back(id);
  return true;
}

void GiveUp(StoreNote* note) {
  for (const std::string& id : note->ids) {
    if (!Has(note->replaced, id)) note->replaced.push_back(id);
  }
  note->ids.clear();
}

StoreNote DecodeNote(const std::string& url, const std::string& text) {
  const json note = json::parse(text, nullptr, false);
  // Two addresses of one name: the newer one's note is kept.
  if (!note.is_object() || note.value("store", json()) != json(url)) return {url, {}, {}};
  return {url, Ids(note, "ids"), Ids(note, "replaced")};
}

std::string EncodeNote(const StoreNote& note) {
  const json out = {{"store", note.url}, {"ids", note.ids}, {"replaced", note.replaced}};
  return out.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

SettingsNotes::SettingsNotes(const Places& places)
    : folders_{places.config_file.substr(0, places.config_file.rfind('/')), places.state} {}

std::string SettingsNotes::Me() const {
  for (const std::string& folder : folders_) {
    if (const std::string me = ReadMe(MeFile(folder)); !me.empty()) return me;
  }
  return "";
}

Result<std::string> SettingsNotes::MakeMe() const {
  if (const std::string me = Me(); !me.empty()) return me;
  Prng prng(sys::RandomU64());
  const std::string fresh = "p" + prng.Base32(16);
  Status first;
  for (const std::string& folder : folders_) {
    Status made = sys::MakeDirs(folder, 0700);
    if (made.ok()) made = WriteOnce(MeFile(folder), fresh + "\n");
    if (made.ok()) {
      if (const std::string me = ReadMe(MeFile(folder)); !me.empty()) return me;
      made = Status(Code::kCorrupt, MeFile(folder) + " does not hold an id", "Remove the file");
    }
    if (first.ok()) first = made;
  }
  return first;
}

StoreNote SettingsNotes::OfStore(const std::string& url) const {
  for (const std::string& folder : folders_) {
    const auto text = sys::ReadFile(NoteFile(folder, url), kMaxNote);
    if (text.ok()) return DecodeNote(url, *text);
  }
  return {url, {}, {}};
}

Status SettingsNotes::Save(const StoreNote& note) const {
  Status saved;
  for (const std::string& folder : folders_) {
    saved = sys::MakeDirs(StoresFolder(folder), 0700);
    if (saved.ok())
      saved = sys::WriteFileAtomic(NoteFile(folder, note.url), EncodeNote(note), 0600);
    if (saved.ok()) return saved;
  }
  return saved;
}

std::vector<StoreNote> SettingsNotes::All() const {
  std::vector<StoreNote> notes;
  for (const std::string& folder : folders_) {
    const auto entries = sys::ListDir(StoresFolder(folder));
    for (const auto& entry : entries.ok() ? *entries : std::vector<sys::DirEntry>()) {
      if (!entry.is_file || !EndsWith(entry.name, ".json")) continue;
      const auto text = sys::ReadFile(StoresFolder(folder) + "/" + entry.name, kMaxNote);
      const json note = json::parse(text.value_or(""), nullptr, false);
      if (!note.is_object() || !note.value("store", json()).is_string()) continue;
      notes.push_back(DecodeNote(note["store"].get<std::string>(), *text));
    }
  }
  return notes;
}

}  // namespace stoker::client
