// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_prospect.h"

#include <vector>

#include "base/text.h"
#include "provider/local/local_capacity.h"
#include "provider/local/local_turns.h"

namespace stoker {

namespace {

constexpr int kMostAtOnce = 64;

int RoomFor(const LocalCapacity& capacity, const LocalTicket& one, WallTime now) {
  std::vector<LocalTicket> many(kMostAtOnce, one);
  for (size_t i = 0; i < many.size(); ++i) many[i].job += std::to_string(i);
  int room = 0;
  for (const LocalTurn& turn : TakeTurns(capacity, many, now)) room += turn.start ? 1 : 0;
  return room;
}

// Of those that run or stand in line, and of `mine`, which comes last.
LocalTurn TurnOf(const LocalCapacity& capacity, std::vector<LocalTicket> tickets,
                 const LocalTicket& mine, WallTime now) {
  tickets.push_back(mine);
  return TakeTurns(capacity, tickets, now).back();
}

LocalTicket TicketOf(const std::string& job, const LocalWants& wants, WallTime now) {
  LocalTicket mine;
  mine.job = job;
  mine.who = job;
  mine.wants = wants;
  if (mine.wants.since.ms == 0) mine.wants.since = now;
  return mine;
}

}  // namespace

LocalProspect LookAhead(const LocalState& state, const std::string& host, const std::string& job,
                        const std::string& slot, const LocalWants& wants, WallTime now) {
  LocalProspect out;
  const LocalCapacity capacity = CountCapacity();
  LocalTicket mine = TicketOf(job + "/" + (slot.empty() ? "?" : slot), wants, now);
  mine.who = job;
  out.never = WhyNever(capacity, wants);
  std::vector<LocalTicket> tickets;
  for (const LocalTicketSeen& seen : OpenLocalQueue(state, host).Read()) {
    if (seen.granted && !seen.held) continue;  // over
    out.running += seen.held ? 1 : 0;
    const bool other_slot = seen.text.job != mine.job && StartsWith(seen.text.job, job + "/");
    out.of_job += other_slot ? 1 : 0;
    tickets.push_back(seen.ticket);
  }
  out.room = RoomFor(capacity, mine, now);
  const LocalTurn turn = TurnOf(capacity, std::move(tickets), mine, now);
  out.starts = out.never.empty() && turn.start;
  out.place = turn.place;
  return out;
}

std::string WhyInLine(const LocalState& state, const std::string& host, const std::string& job,
                      const LocalWants& wants, WallTime now) {
  LocalTicket mine = TicketOf(job, wants, now);
  std::vector<LocalTicket> tickets;
  for (const LocalTicketSeen& seen : OpenLocalQueue(state, host).Read()) {
    if (seen.own && seen.text.job == job) mine.job = seen.ticket.job;
    if (!seen.granted || seen.held) tickets.push_back(seen.ticket);
  }
  const LocalTurn turn = TurnOf(CountCapacity(), std::move(tickets), mine, now);
  if (turn.start) return "";
  return turn.why.empty() ? "others come first" : turn.why;
}

}  // namespace stoker
