// SPDX-License-Identifier: Apache-2.0
// A little room that is kept back on this machine's disk, for the verbs that people reach for when
// it is full: `cancel` must write a few kilobytes, and `gc` too where it finishes jobs.
#pragma once

#include "client/open/client.h"

namespace stoker::client {

// Makes the reserve where it is missing and the disk has plenty: a file in the state folder, and
// one in the store's folder when that is another disk. Failures do not matter.
void KeepReserve(Client& client);

// Gives the reserve back to the disk, and the copies of the index that are made again when they
// are missing. False: there was nothing to give.
bool LetGoOfReserve(Client& client);

}  // namespace stoker::client
