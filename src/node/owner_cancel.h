// SPDX-License-Identifier: Apache-2.0
// A person has ended this machine with its platform's own tools: that is a cancel of its job.
#pragma once

#include <string>

#include "base/status.h"
#include "ledger/ledger.h"
#include "port/node_platform.h"

namespace stoker::node {

// Writes it into the job's record, unless the machine's launch is closed (what stoker ends itself
// is of such a one), the job is over, or somebody has cancelled it. `by`: who or what, for people;
// "" = who ended that machine. Errors: those of MutateJob.
Status CancelByOwner(Ledger& ledger, const NodeIdentity& me, std::string by = "");

}  // namespace stoker::node
