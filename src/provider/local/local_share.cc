// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_share.h"

#include <algorithm>
#include <map>
#include <set>

#include "job/request.h"

namespace stoker {
namespace {

// One of its tickets that run, else any: by job.
std::map<std::string, const LocalTicket*> Jobs(const std::vector<LocalTicket>& tickets) {
  std::map<std::string, const LocalTicket*> jobs;
  for (const LocalTicket& ticket : tickets) {
    const LocalTicket*& known = jobs[ticket.job];
    if (known == nullptr || (ticket.running && !known->running)) known = &ticket;
  }
  return jobs;
}

}  // namespace

PlaceInfo ShareOf(const LocalCapacity& capacity, const std::vector<LocalTicket>& tickets) {
  int64_t cpus = 0;
  int64_t memory = 0;
  int64_t running = 0;
  int64_t waiting = 0;
  for (const auto& [job, ticket] : Jobs(tickets)) {
    ++(ticket->running ? running : waiting);
    if (!ticket->running) continue;
    cpus += ticket->wants.cpus;
    memory += ticket->wants.memory;
  }
  std::set<int> taken;
  for (const LocalTicket& ticket : tickets) taken.insert(ticket.gpus.begin(), ticket.gpus.end());
  PlaceInfo info;
  info.infra = kLocalProvider;
  info.cpus = capacity.cpus;
  info.free_cpus = std::max<int64_t>(capacity.cpus - cpus, 0);
  if (capacity.memory > 0) {
    info.memory = capacity.memory;
    info.free_memory = std::max<int64_t>(capacity.memory - memory, 0);
  }
  for (const LocalGpu& gpu : capacity.gpus) {
    auto kind = std::find_if(info.gpus.begin(), info.gpus.end(),
                             [&](const GpuShare& share) { return share.name == gpu.name; });
    if (kind == info.gpus.end()) kind = info.gpus.insert(kind, {gpu.name, 0, 0});
    ++kind->total;
    if (!taken.contains(gpu.number)) ++*kind->free;
  }
  info.running = running;
  info.waiting = waiting;
  return info;
}

}  // namespace stoker
