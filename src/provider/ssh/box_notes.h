// SPDX-License-Identifier: Apache-2.0
// On which box the machines of a request are: an object of the store for each request, created once
// and before the box is asked, so that two who send it at once send it to one box, and everybody
// knows which boxes to ask of a job, also while one does not answer. What is in no note was never
// sent anywhere.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "port/object_store.h"

namespace stoker {

struct BoxNote {
  std::string token;
  std::string host;           // BoxHello::host: whatever each of them calls the box
  std::string word;           // what who wrote it calls it: a host for ssh
  std::vector<int> launches;  // by index
  std::string gone;           // a person has said that the box will not come back: who
};

// All but the last take the store of the ledger. Errors are the store's; kCorrupt.
Result<std::optional<BoxNote>> ReadBoxNote(ObjectStore& store, const std::string& job,
                                           const std::string& token);
// Ok: this note stands. Another's, if that was first.
Result<BoxNote> WriteBoxNote(ObjectStore& store, const std::string& job, const BoxNote& note);
Result<std::vector<BoxNote>> ListBoxNotes(ObjectStore& store, const std::string& job);
// Says in each note of that box that it is gone. How many there were.
Result<int> GiveUpBox(ObjectStore& store, const std::string& job, const std::string& word,
                      const std::string& by);

}  // namespace stoker
