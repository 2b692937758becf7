// SPDX-License-Identifier: Apache-2.0
// Whether the ledger of a node's job is gone for good. Pure: times in, an answer out.
#pragma once

#include <optional>

#include "base/time.h"

namespace stoker {

// A store that does not answer is away, and is waited for as long as the machine's lease is
// renewed. One that answers, and has no record of the job any more, was deleted, or the job was:
// nobody can end the job then, and nothing of it can be kept. After ten minutes of nothing else the
// node ends itself; so long, because a folder that is not mounted for a while looks the same.
class LedgerWatch {
 public:
  static constexpr Duration kGone = Duration::Minutes(10);

  // Something else was heard: the record, or nothing at all.
  void Otherwise() { since_.reset(); }
  // The store has answered that there is no such record.
  void Missing(MonoTime now) {
    if (!since_) since_ = now;
  }
  bool Gone(MonoTime now) const { return since_ && now - *since_ >= kGone; }

 private:
  std::optional<MonoTime> since_;
};

}  // namespace stoker
