// SPDX-License-Identifier: Apache-2.0
#include "agent/heed.h"

#include <optional>

#include "ledger/reports.h"
#include "ledger/segments/read_again.h"

namespace stoker {

Result<bool> HeedLookouts(Ledger& ledger, const std::string& job, MonoTime now, LookPace& pace,
                          std::vector<NodeReport>* peers) {
  const std::vector<LookPace::Slot> slots = pace.Heeds(now);
  for (const LookPace::Slot& slot : slots) {
    const auto read = ReadReport(ledger, job, slot.attempt, slot.rank);
    const bool none = read.status().Is(Code::kNotFound) || MayBeMomentary(read.status());
    if (!read.ok() && !none) return read.status();
    pace.OnReport(now, slot, read.ok() ? std::optional(*read) : std::nullopt);
    for (NodeReport& peer : *peers) {
      if (read.ok() && peer.attempt == slot.attempt && peer.rank == slot.rank) peer = *read;
    }
  }
  return !slots.empty();
}

}  // namespace stoker
