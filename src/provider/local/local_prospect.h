// SPDX-License-Identifier: Apache-2.0
// What would become of a machine that does not stand in line yet.
#pragma once

#include <string>

#include "base/time.h"
#include "policy/local_queue.h"
#include "provider/local/local_state.h"

namespace stoker {

struct LocalProspect {
  std::string never;  // why it could never start here; "" = it could
  bool starts = false;
  int place = 0;    // in line, where it does not start at once
  int running = 0;  // machines, of anybody
  int of_job = 0;   // those of its job's other slots, waiting ones too
  int room = 0;     // so many that want as much run here at once, if nobody else does
};

// Of a machine that is apart (LocalBoot::apart). `job`: "<ledger>/<job>"; `slot`: "" = any. May be
// a moment old, and promises nothing: others come in between.
LocalProspect LookAhead(const LocalState& state, const std::string& host, const std::string& job,
                        const std::string& slot, const LocalWants& wants, WallTime now);

// A word of a request's options: it is not to stand in line, since there are other places for it.
inline constexpr char kNoWaiting[] = "wait=no";

// Why the machines of `job`, "<ledger>/<job>" or what LookAhead would make of it, would stand in
// line; "" = they start at once, unless others come in between.
std::string WhyInLine(const LocalState& state, const std::string& host, const std::string& job,
                      const LocalWants& wants, WallTime now);

}  // namespace stoker
