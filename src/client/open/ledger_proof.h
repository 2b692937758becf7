// SPDX-License-Identifier: Apache-2.0
// Which ledger's records these are, where ledger.json is missing: each request's token is a hash
// over the ledger's id, so that an id that somebody remembers can be held against them.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "port/object_store.h"

namespace stoker::client {

// Is there any record?
Result<bool> HasRecords(ObjectStore& store);

struct LedgerProof {
  std::string id;    // of `candidates`, the one that made the newest request; "" = none of them did
  int requests = 0;  // so many there are whose tokens could tell
  std::string job;   // whose request proves it
  int unread = 0;    // records that cannot be read: nobody knows what they asked for
};
// Looks at the jobs that have not ended, then at as many of the others as `at_most` allows. Records
// that cannot be read are passed over. Errors: the store does not answer.
Result<LedgerProof> ProveLedger(ObjectStore& store, const std::vector<std::string>& candidates,
                                int at_most = 500);

}  // namespace stoker::client
