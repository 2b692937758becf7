// SPDX-License-Identifier: Apache-2.0
#include "provider/ssh/box_notes.h"

#include "base/json.h"
#include "base/json_fields.h"
#include "base/text.h"
#include "ledger/paths.h"
#include "provider/local/local_state.h"
#include "provider/ssh/ssh_command.h"
#include "spec/text/host_words.h"

namespace stoker {
namespace {

constexpr int kNoteFormat = 1;
constexpr size_t kMostBytes = 64 << 10;
constexpr int kTries = 5;

template <typename A, typename T>
void Fields(A& a, T& note) {
  a.Need("token", note.token);
  a.Need("host", note.host);
  a.Need("box", note.word);
  a("launches", note.launches);
  a("gone", note.gone);
}

std::string Encode(const BoxNote& note) {
  json::JsonOut out;
  out.Need("format", kNoteFormat);
  Fields(out, note);
  return json::Dump(out.Take()) + "\n";
}

Result<BoxNote> Decode(const std::string& key, const std::string& text) {
  STOKER_ASSIGN(const json::Value object, json::ParseObject(key, text, kMostBytes));
  STOKER_TRY(json::CheckFormat(key, object, kNoteFormat));
  BoxNote note;
  json::JsonIn in(object, key + ": ");
  Fields(in, note);
  in.Check(IsInstanceToken(note.token), "token", "is none");
  in.Check(IsSafeName(note.host), "host", "is none");
  in.Check(IsHostWord(note.word), "box", "is no host for ssh");
  STOKER_TRY(in.status());
  return note;
}

}  // namespace

Result<std::optional<BoxNote>> ReadBoxNote(ObjectStore& store, const std::string& job,
                                           const std::string& token) {
  const std::string key = paths::Box(job, token);
  const auto read = store.Get(key);
  if (read.status().Is(Code::kNotFound)) return std::optional<BoxNote>();
  STOKER_TRY(read.status());
  STOKER_ASSIGN(BoxNote note, Decode(key, read->data));
  return std::optional<BoxNote>(std::move(note));
}

Result<BoxNote> WriteBoxNote(ObjectStore& store, const std::string& job, const BoxNote& note) {
  const auto put = store.Put(paths::Box(job, note.token), Encode(note), Condition::Absent());
  if (put.ok()) return note;
  if (!put.status().Is(Code::kExists)) return put.status();
  STOKER_ASSIGN(auto other, ReadBoxNote(store, job, note.token));
  if (!other) return Status(Code::kUnavailable, "the note on its box came and went");
  return std::move(*other);
}

Result<std::vector<BoxNote>> ListBoxNotes(ObjectStore& store, const std::string& job) {
  std::vector<BoxNote> notes;
  const Status listed = ListAll(store, paths::Boxes(job), [&](const ObjectInfo& info) -> Status {
    auto read = store.Get(info.key);
    if (read.status().Is(Code::kNotFound)) return Status::Ok();
    STOKER_TRY(read.status());
    STOKER_ASSIGN(BoxNote note, Decode(info.key, read->data));
    notes.push_back(std::move(note));
    return Status::Ok();
  });
  STOKER_TRY(listed);
  return notes;
}

Result<int> GiveUpBox(ObjectStore& store, const std::string& job, const std::string& word,
                      const std::string& by) {
  STOKER_ASSIGN(const std::vector<BoxNote> notes, ListBoxNotes(store, job));
  int given_up = 0;
  for (const BoxNote& seen : notes) {
    if (seen.word != word) continue;
    const std::string key = paths::Box(job, seen.token);
    Status written;
    for (int i = 0; i < kTries; ++i) {
      STOKER_ASSIGN(const Object object, store.Get(key));
      STOKER_ASSIGN(BoxNote note, Decode(key, object.data));
      note.gone = by;
      written = store.Put(key, Encode(note), Condition::Match(object.info.version)).status();
      if (!written.Is(Code::kConflict)) break;
    }
    STOKER_TRY(written);
    ++given_up;
  }
  return given_up;
}

}  // namespace stoker
