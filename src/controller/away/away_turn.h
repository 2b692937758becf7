// SPDX-License-Identifier: Apache-2.0
// The note of a reconciler that runs where nobody is, while it is one run's turn.
#pragma once

#include <string>

#include "base/status.h"
#include "base/time.h"
#include "controller/away/away_look.h"
#include "controller/away/away_note.h"
#include "ledger/ledger.h"
#include "port/clock.h"

namespace stoker {

// Not thread-safe.
class AwayTurn {
 public:
  // `read`: the note as it is. Ledger and clock must outlive it.
  AwayTurn(Ledger& ledger, Clock& clock, std::string provider, AwayRead read);

  // kBusy: it is another run's. Errors: those of the store.
  Status Take(const AwayCall& call);
  // `job` is begun. That it cannot be noted, Finish says.
  void Reach(const std::string& job);
  // AwayAsked. An error: nobody would know of it.
  Status Keep(const std::string& what, int machines);
  void Drop(const std::string& what);
  // `looked`: all jobs had their turn.
  Status Finish(const AwayCall& call, const AwayReport& report, bool looked);

  const AwayRead& read() const { return read_; }

 private:
  Status Write();

  Ledger& ledger_;
  Clock& clock_;
  const std::string provider_;
  std::string id_;  // of this run, once it is its turn
  WallTime until_;
  AwayRead read_;
  MonoTime written_;
};

}  // namespace stoker
