// SPDX-License-Identifier: Apache-2.0
#include "client/open/open_ledger.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "client/open/client.h"
#include "client/open/ledger_proof.h"
#include "provider/local/local_boot.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

// What may be the id of a ledger that has lost its own, likeliest first.
std::vector<std::string> RememberedIds(const Client& client, const StoreNote& note) {
  std::vector<std::string> ids(note.ids.rbegin(), note.ids.rend());
  const std::string machines = client.places().state + "/instances";
  const auto entries = sys::ListDir(machines);
  for (const auto& entry : entries.ok() ? *entries : std::vector<sys::DirEntry>()) {
    const auto boot = ReadLocalBoot(machines + "/" + entry.name);
    if (boot.ok()) ids.push_back(boot->request.ledger_id);
  }
  ids.insert(ids.end(), note.replaced.begin(), note.replaced.end());
  for (const StoreNote& other : SettingsNotes(client.places()).All()) {
    ids.insert(ids.end(), other.ids.begin(), other.ids.end());
  }
  std::vector<std::string> once;
  for (const std::string& id : ids) {
    const bool known = std::find(once.begin(), once.end(), id) != once.end();
    if (!known && IsSafeName(id)) once.push_back(id);
  }
  return once;
}

// The id of a ledger whose records are there, and how that is known.
struct FoundId {
  std::string id;
  std::string why;
};

Result<FoundId> FindId(const Client& client, ObjectStore& store, const StoreNote& note) {
  STOKER_ASSIGN(const LedgerProof proof, ProveLedger(store, RememberedIds(client, note)));
  if (!proof.id.empty()) return FoundId{proof.id, "as the requests of job " + proof.job + " prove"};
  if (proof.requests == 0 && !note.ids.empty()) {
    return FoundId{note.ids.back(), "as these settings remember"};
  }
  // Nothing was ever asked for, so that no machine has an id.
  if (proof.requests == 0 && proof.unread == 0)
    return FoundId{"l" + Hex64(sys::RandomU64()), "a new one: no job has asked for a machine"};
  return Status(Code::kCorrupt,
                store.url() +
                    " has the records of jobs but no ledger.json, and no id that this "
                    "computer remembers is theirs",
                "Give the command on a computer that has used this store, or write the file again, "
                "as one line: {\"format\":1,\"id\":\"ID\"}; ID is the \"ledger_id\" in the "
                "boot.json of a machine that runs one of its jobs "
                "(~/.local/share/stoker/instances/*/boot.json)");
}

}  // namespace

Result<std::unique_ptr<Ledger>> FindLedger(Client& client, ObjectStore& store,
                                           const StoreNote& note) {
  auto there = Ledger::Open(store, client.clock(), sys::RandomU64(), NewLedger::kNever);
  if (!there.status().Is(Code::kNotFound)) return there;
  STOKER_ASSIGN(const bool records, HasRecords(store));
  if (!records) return std::unique_ptr<Ledger>();
  STOKER_ASSIGN(const FoundId found, FindId(client, store, note));
  STOKER_ASSIGN(auto restored, Ledger::Restore(store, client.clock(), sys::RandomU64(), found.id));
  client.Say(store.url() + " had lost its ledger.json: it is written again with the id " +
             restored->id() + ", " + found.why);
  return restored;
}

Status StoreIsGone(const StoreNote& note) {
  const std::string id = note.ids.empty() ? "" : note.ids.back();
  const bool folder = StartsWith(note.url, "/");
  return Status(Code::kNotFound,
                "the store " + note.url + " is not there: ledger " + id +
                    " was in it, and now there is neither ledger.json nor any record" +
                    (folder ? "; its disk may not be mounted" : ""),
                std::string(folder ? "Mount it" : "Bring it back") +
                    ". Or, where it is gone for good: stoker config set store " + note.url +
                    " --new");
}

Status NoStoreYet(const std::string& url) {
  return Status(Code::kNotFound, "there is no store in " + url + " yet",
                "'stoker run' makes one; 'stoker config set store WHERE' names another");
}

void NoteLedger(Client& client, StoreNote note, const std::string& id) {
  std::string instead;
  if (!Learn(id, &note, &instead)) return;
  if (!instead.empty()) {
    client.Say("the store " + note.url + " is another one than before: ledger " + id + ", where " +
               instead + " was");
  }
  // What cannot be remembered is asked for again, and no worse than before.
  (void)SettingsNotes(client.places()).Save(note);
}

}  // namespace stoker::client
