// SPDX-License-Identifier: Apache-2.0
// What stoker itself remembers in the settings folder: who this person is, and which ledger each
// store held, so that a store that is not there (a disk that is not mounted) is not taken for a new
// one. Written once for each person and store. Where the settings folder cannot be written, the
// state folder holds it; where neither can, nothing is remembered.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace stoker::client {

struct Places;

// One store's; plain data.
struct StoreNote {
  std::string url;                    // as the settings name it
  std::vector<std::string> ids;       // of the ledgers that were seen there; the latest is last
  std::vector<std::string> replaced;  // those that 'config set store --new' gave up
};
// Whether `id`, which was seen there now, changed the note. `instead` gets the id that was expected
// when another ledger stands in its place.
bool Learn(const std::string& id, StoreNote* note, std::string* instead);
// What is there, or is not, may be made anew.
void GiveUp(StoreNote* note);
// A text that is no note is an empty one.
StoreNote DecodeNote(const std::string& url, const std::string& text);
std::string EncodeNote(const StoreNote& note);

// In files of their own, so that two commands at once do not lose each other's: each is replaced as
// a whole.
class SettingsNotes {
 public:
  explicit SettingsNotes(const Places& places);
  // The id that was made here; "" = none yet.
  std::string Me() const;
  // The same; made at first use, once, whoever else is at it.
  Result<std::string> MakeMe() const;
  StoreNote OfStore(const std::string& url) const;
  Status Save(const StoreNote& note) const;
  std::vector<StoreNote> All() const;

 private:
  std::vector<std::string> folders_;  // the settings folder, the state folder
};

}  // namespace stoker::client
