// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_give_way.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "policy/local_gpus.h"

namespace stoker {
namespace {

// "<ledger>/<job>", of "<ledger>/<job>/<slot>".
std::string JobOf(const LocalTicketSeen& seen) {
  const std::string& text = seen.text.job;
  const size_t ledger = text.find('/');
  return text.substr(0, text.find('/', ledger == std::string::npos ? 0 : ledger + 1));
}

// The order of the line, but for what differs from one computer to the next.
bool IsBefore(const LocalTicketSeen& a, const LocalTicketSeen& b) {
  const auto key = [](const LocalTicketSeen& each) {
    const LocalWants& wants = each.text.wants;
    return std::tuple(-wants.priority, wants.since.ms, JobOf(each));
  };
  return key(a) < key(b);
}

bool Starts(const LocalCapacity& capacity, const std::vector<LocalTicketSeen>& seen,
            const std::string& id, WallTime now) {
  std::vector<LocalTicket> tickets;
  for (const LocalTicketSeen& each : seen) tickets.push_back(each.ticket);
  const std::vector<LocalTurn> turns = TakeTurns(capacity, tickets, now);
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].id == id) return turns[i].start;
  }
  return false;
}

// `mine` has some of what is lacking for `wants`.
bool HasOfIt(const LocalCapacity& capacity, const std::vector<LocalTicketSeen>& seen,
             const LocalWants& wants, const LocalTicketSeen& mine) {
  int64_t cpus = capacity.cpus;
  int64_t memory = capacity.memory;
  std::vector<int> gpus;
  for (const LocalGpu& gpu : capacity.gpus) gpus.push_back(gpu.number);
  std::set<std::string> counted;  // jobs
  for (const LocalTicketSeen& each : seen) {
    if (!each.held) continue;
    std::erase_if(gpus, [&](int number) { return HasGpu(each.ticket.gpus, number); });
    if (!counted.insert(each.ticket.job).second) continue;
    cpus -= each.text.wants.cpus;
    memory -= each.text.wants.memory;
  }
  if (wants.cpus > cpus && mine.text.wants.cpus > 0) return true;
  if (capacity.memory > 0 && wants.memory > memory && mine.text.wants.memory > 0) return true;
  if (PickGpus(capacity, wants, gpus)) return false;
  const std::vector<int> usable = UsableGpus(capacity, wants);
  return std::any_of(usable.begin(), usable.end(),
                     [&](int number) { return HasGpu(mine.ticket.gpus, number); });
}

}  // namespace

std::string GivesWayTo(const LocalCapacity& capacity, const std::vector<LocalTicketSeen>& seen,
                       const std::string& mine, WallTime now) {
  const auto me = std::find_if(seen.begin(), seen.end(), [&](const LocalTicketSeen& each) {
    return each.own && each.held && each.id == mine;
  });
  if (me == seen.end()) return "";
  const LocalTicketSeen* first = nullptr;
  for (const LocalTicketSeen& each : seen) {
    if (each.granted || !each.ticket.awake || JobOf(each) == JobOf(*me)) continue;
    if (!IsBefore(each, *me) || !WhyNever(capacity, each.text.wants).empty()) continue;
    if (first == nullptr || IsBefore(each, *first)) first = &each;
  }
  if (first == nullptr || !HasOfIt(capacity, seen, first->text.wants, *me)) return "";
  // Others that came later may be gathering as well, which cannot be seen from here.
  std::vector<LocalTicketSeen> left = seen;
  std::erase_if(left,
                [&](const LocalTicketSeen& each) { return each.held && IsBefore(*first, each); });
  return Starts(capacity, left, first->id, now) ? first->ticket.who : "";
}

}  // namespace stoker
