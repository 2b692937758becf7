// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_turns.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "policy/local_gpus.h"
#include "provider/local/local_capacity.h"
#include "provider/local/local_share.h"

namespace stoker {
namespace {

constexpr Duration kWhysLast = Duration::Ms(500);
constexpr int kLeaveTries = 100;

std::vector<LocalTicket> TicketsOf(const std::vector<LocalTicketSeen>& seen) {
  std::vector<LocalTicket> tickets;
  for (const LocalTicketSeen& each : seen) tickets.push_back(each.ticket);
  return tickets;
}

// Of others those are left out that are over; of one's own whose grant nobody holds, only a look
// under the lock tells.
bool MayBeOver(const LocalTicketSeen& seen) { return seen.granted && !seen.held; }

}  // namespace

LocalQueueFolder OpenLocalQueue(const LocalState& state, const std::string& host, bool* own) {
  LocalQueueFolder shared(LocalQueuePath(), host);
  const bool made = shared.Make().ok();
  if (own != nullptr) *own = !made;
  if (made) return shared;
  LocalQueueFolder mine(state.root() + "/queue", host);
  (void)mine.Make();
  return mine;
}

std::string TellLocalQueue(const LocalState& state, const std::string& host) {
  bool own = false;
  const LocalQueueFolder folder = OpenLocalQueue(state, host, &own);
  size_t run = 0;
  size_t wait = 0;
  for (const LocalTicketSeen& seen : folder.Read()) ++(seen.held ? run : wait);
  const LocalCapacity capacity = CountCapacity();
  return CpusText(capacity.cpus) + ", " +
         (capacity.memory > 0 ? HumanSize(capacity.memory) + " of memory, " : "") +
         GpusHere(capacity) + ", shared in turn: " + std::to_string(run) +
         (run == 1 ? " machine runs, " : " machines run, ") + std::to_string(wait) +
         (wait == 1 ? " waits (" : " wait (") + folder.path() +
         (own ? ", yours alone: the one of this machine cannot be used)" : ")");
}

PlaceInfo LocalShare(const LocalState& state, const std::string& host) {
  std::vector<LocalTicketSeen> seen = OpenLocalQueue(state, host).Read();
  std::erase_if(seen, MayBeOver);
  return ShareOf(CountCapacity(), TicketsOf(seen));
}

LocalTurns::LocalTurns(LocalState state, std::string host, Clock& clock)
    : state_(std::move(state)), host_(std::move(host)), clock_(clock) {}

const LocalQueueFolder& LocalTurns::Folder() {
  const std::lock_guard lock(mutex_);
  if (!folder_) folder_.emplace(OpenLocalQueue(state_, host_));
  return *folder_;
}

Status LocalTurns::Enter(const std::string& id, const LocalBoot& boot) {
  if (Folder().Has(id)) return Status::Ok();
  LocalTicketText text;
  text.job = boot.request.ledger_id + "/" + boot.request.job;
  text.who = boot.request.job;
  const char* user = std::getenv("USER");
  text.user = user != nullptr ? user : "user " + std::to_string(geteuid());
  STOKER_ASSIGN(text.wants, ParseWants(boot.request.ask.options));
  if (text.wants.since.ms == 0) text.wants.since = boot.created;
  text.node = boot.slot;
  if (boot.apart) {
    text.job += "/" + std::to_string(boot.slot);
    text.node = 0;
  }
  return Folder().Enter(id, text);
}

bool LocalTurns::Waits(const std::string& id) { return Folder().Has(id); }

std::string LocalTurns::Why(const std::string& id) {
  const LocalQueueFolder& folder = Folder();
  const std::lock_guard lock(mutex_);
  const MonoTime now = clock_.Mono();
  if (!whys_at_ || now - *whys_at_ > kWhysLast || !whys_.contains(id)) {
    std::vector<LocalTicketSeen> seen = folder.Read();
    std::erase_if(seen, MayBeOver);
    const auto turns = TakeTurns(CountCapacity(), TicketsOf(seen), clock_.Wall());
    whys_.clear();
    for (size_t i = 0; i < seen.size(); ++i) {
      if (!seen[i].own) continue;
      whys_[seen[i].id] = turns[i].why.empty() ? "its turn has come" : turns[i].why;
    }
    whys_at_ = now;
  }
  return whys_[id];
}

// A process that was killed has given its other locks back a moment before this one.
void LocalTurns::Leave(const std::string& id) {
  for (int i = 0; !Folder().Leave(id) && i < kLeaveTries; ++i) usleep(1000);
}

void LocalTurns::Tidy(std::vector<LocalTicketSeen>* seen) {
  std::erase_if(*seen, [&](LocalTicketSeen& each) {
    if (!each.own || each.held) return false;
    const std::string dir = state_.Dir(each.id);
    const bool lived = sys::FileExists(dir + "/machine.json");
    if (lived || state_.Ended(each.id) || !sys::DirExists(dir)) {
      (void)folder_->Leave(each.id);
      return true;
    }
    // Whoever was to start it died over it.
    if (each.granted) folder_->Withdraw(each.id);
    return false;
  });
}

Result<LocalTaken> LocalTurns::Take(bool retire) {
  const LocalQueueFolder& folder = Folder();
  STOKER_ASSIGN(const sys::ScopedFd lock, folder.Lock());
  folder.RemoveUnfinished();
  std::vector<LocalTicketSeen> seen = folder.Read();
  Tidy(&seen);
  const LocalCapacity capacity = CountCapacity();
  const WallTime now = clock_.Wall();
  const std::vector<LocalTurn> turns = TakeTurns(capacity, TicketsOf(seen), now);
  LocalTaken taken;
  for (size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i].own || seen[i].held) continue;
    if (!turns[i].start) {
      ++taken.waiting;
      continue;
    }
    const LocalWants& wants = seen[i].text.wants;
    LocalStart start;
    start.id = seen[i].id;
    STOKER_ASSIGN(start.grant, folder.Grant(start.id, now, turns[i].gpus));
    start.variable =
        GrantVariable(GpusOfNode(turns[i].gpus, wants, seen[i].text.node), capacity, wants);
    taken.starts.push_back(std::move(start));
  }
  // One that was killed does not take its file away.
  const bool over = retire ? taken.starts.empty() : !folder.HasWaiter();
  if (taken.waiting == 0 && over) folder.EndWaiter();
  return taken;
}

Result<sys::ScopedFd> LocalTurns::BeWaiter() {
  STOKER_ASSIGN(const sys::ScopedFd lock, Folder().Lock());
  return Folder().BeWaiter();
}

}  // namespace stoker
