// SPDX-License-Identifier: Apache-2.0
// The ledger of the store that the settings name. Who looks makes nothing, and a store that was
// used before and is not there is an error for everybody: its disk may not be mounted.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "client/open/settings_notes.h"
#include "ledger/ledger.h"
#include "port/object_store.h"

namespace stoker::client {

class Client;

// The ledger in `store`; null: there is none, and no record of one. Where there are records and no
// ledger.json, it is written again with the id that the records prove, and that is said.
Result<std::unique_ptr<Ledger>> FindLedger(Client& client, ObjectStore& store,
                                           const StoreNote& note);

// kNotFound, with both ways on: the ledger that `note` names is not there.
Status StoreIsGone(const StoreNote& note);
// kNotFound: nobody has run anything there.
Status NoStoreYet(const std::string& url);
// `id` was seen at `note.url` now.
void NoteLedger(Client& client, StoreNote note, const std::string& id);

}  // namespace stoker::client
