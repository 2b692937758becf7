// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_prospect.h"

#include <vector>

#include "base/text.h"
#include "provider/local/local_capacity.h"
#include "provider/local/local_turns.h"

namespace stoker {

LocalProspect LookAhead(const LocalState& state, const std::string& host, const std::string& job,
                        const LocalWants& wants, WallTime now) {
  LocalProspect out;
  const LocalCapacity capacity = CountCapacity();
  out.never = WhyNever(capacity, wants);
  std::vector<LocalTicket> tickets;
  for (const LocalTicketSeen& seen : OpenLocalQueue(state, host).Read()) {
    if (seen.granted && !seen.held) continue;  // over
    out.running += seen.held ? 1 : 0;
    out.of_job += seen.text.job == job || StartsWith(seen.text.job, job + "/") ? 1 : 0;
    tickets.push_back(seen.ticket);
  }
  LocalTicket mine;
  mine.job = job + "/?";
  mine.who = job;
  mine.wants = wants;
  if (mine.wants.since.ms == 0) mine.wants.since = now;
  tickets.push_back(mine);
  const LocalTurn turn = TakeTurns(capacity, tickets, now).back();
  out.starts = out.never.empty() && turn.start;
  out.place = turn.place;
  return out;
}

}  // namespace stoker
