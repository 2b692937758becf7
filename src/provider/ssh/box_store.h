// SPDX-License-Identifier: Apache-2.0
// Whether a box and who submits from elsewhere have the same store, and one that keeps its promises
// between them: a folder that both see may lie on a network file system.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "port/clock.h"
#include "port/object_store.h"

namespace stoker {

// On the box: opens the store and reads the ledger's id. kNotFound, kDenied, …: why it cannot be
// used from here.
Result<std::unique_ptr<ObjectStore>> OpenBoxStore(const std::string& url,
                                                  const std::string& ledger_id, Clock& clock);

// On the box, the second half of a meeting: below `key` lies what BeginMeeting wrote. Tries what
// the ledger stands on against it (a create-only write of what is there, a write on a version), and
// leaves its own version behind for EndMeeting. kInvalid: what is broken there.
Status MeetInStore(ObjectStore& store, const std::string& key);

// Here: before the box is asked, and after it has answered. A key is used once.
Result<Version> BeginMeeting(ObjectStore& store, const std::string& key);
Status EndMeeting(ObjectStore& store, const std::string& key, const Version& begun);

}  // namespace stoker
