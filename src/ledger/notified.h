// SPDX-License-Identifier: Apache-2.0
// What was told of a job, and to whom: one object for each try to tell an event to an entry of its
// `notify`, made before the try, so that each is told once, whoever looks. Nobody but who made it
// writes it again. docs/ledger.md has the format.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "ledger/ledger.h"

namespace stoker {

inline constexpr int kNotifiedFormat = 1;

struct Notified {
  int format = kNotifiedFormat;
  std::string key;    // of the event
  int entry = 0;      // of `notify`, from 0
  std::string state;  // "sending", "failed" (it is tried again), "sent", "given_up"
  WallTime first;     // the first try; store's clock, as the others
  WallTime at;        // the newest
  WallTime next;      // with "failed": not before
  int tries = 0;      // this one, from 1
  std::string why;    // with "failed" and "given_up"
  std::string text;   // what was told
  // Nobody tries it any more.
  bool over() const { return state == "sent" || state == "given_up"; }
};

// The newest try of each, of a job; those that a newer stoker wrote, or that are damaged, count as
// over.
Result<std::vector<Notified>> ListNotified(Ledger& ledger, const std::string& job);
// The newest try. kNotFound = nobody has begun.
Result<Notified> ReadNotified(Ledger& ledger, const std::string& job, const std::string& key,
                              int entry);
// Begins try number `told.tries`. kExists: somebody else has.
Status BeginNotified(Ledger& ledger, const std::string& job, const Notified& told);
// By who has begun it.
Status WriteNotified(Ledger& ledger, const std::string& job, const Notified& told);

}  // namespace stoker
