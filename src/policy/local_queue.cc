// SPDX-License-Identifier: Apache-2.0
#include "policy/local_queue.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "policy/local_gpus.h"

namespace stoker {
namespace {

constexpr size_t kNamed = 3;  // jobs, in one sentence

// What nobody holds.
struct Room {
  int64_t cpus = 0;
  int64_t memory = 0;
  std::vector<int> gpus;  // ascending
};

struct JobInLine {
  const LocalTicket* ticket = nullptr;  // one that runs, else any
  bool running = false;
  bool awake = false;
  bool starts = false;
  WallTime started;
  std::vector<int> gpus;
  LocalTurn turn;
};

Room WholeMachine(const LocalCapacity& capacity) {
  constexpr int64_t kPlenty = int64_t{1} << 60;
  Room room{capacity.cpus, capacity.memory > 0 ? capacity.memory : kPlenty, {}};
  for (const LocalGpu& gpu : capacity.gpus) room.gpus.push_back(gpu.number);
  return room;
}

void Take(const LocalWants& wants, const std::vector<int>& gpus, Room* room) {
  room->cpus -= wants.cpus;
  room->memory -= wants.memory;
  std::erase_if(room->gpus, [&](int number) { return HasGpu(gpus, number); });
}

void GiveBack(const JobInLine& job, Room* room) {
  room->cpus += job.ticket->wants.cpus;
  room->memory += job.ticket->wants.memory;
  for (const int number : job.gpus) {
    if (!HasGpu(room->gpus, number)) room->gpus.push_back(number);
  }
  std::sort(room->gpus.begin(), room->gpus.end());
}

bool Fits(const LocalCapacity& capacity, const LocalWants& wants, const Room& room) {
  return wants.cpus <= room.cpus && wants.memory <= room.memory &&
         PickGpus(capacity, wants, room.gpus);
}

// What is left beside who waits: nobody who passes may take of what it waits for.
void Reserve(const LocalCapacity& capacity, const LocalWants& wants, Room* beside) {
  beside->cpus -= std::max<int64_t>(wants.cpus, 0);
  beside->memory -= wants.memory;
  const std::vector<int> wanted = UsableGpus(capacity, wants);
  std::erase_if(beside->gpus, [&](int number) { return HasGpu(wanted, number); });
}

// A room that is used up is no room for those who ask for nothing of it either way.
bool FitsBeside(const LocalCapacity& capacity, const LocalWants& wants, const Room& beside) {
  const bool cpus = wants.cpus == 0 || wants.cpus <= beside.cpus;
  const bool memory = wants.memory == 0 || wants.memory <= beside.memory;
  return cpus && memory && PickGpus(capacity, wants, beside.gpus);
}

// When `first` fits, if all that run end when they should at the latest.
std::optional<WallTime> CouldStart(const LocalCapacity& capacity, const LocalWants& first,
                                   const std::vector<JobInLine>& jobs, Room room, WallTime now) {
  std::vector<std::pair<int64_t, const JobInLine*>> ends;
  for (const JobInLine& job : jobs) {
    const Duration span = job.ticket->wants.span;
    if ((!job.running && !job.starts) || span.ms <= 0) continue;
    ends.emplace_back(std::max((job.started + span).ms, now.ms), &job);
  }
  std::sort(ends.begin(), ends.end());
  for (const auto& [end, job] : ends) {
    GiveBack(*job, &room);
    if (Fits(capacity, first, room)) return WallTime{end};
  }
  return std::nullopt;
}

bool IsBefore(const JobInLine& a, const JobInLine& b) {
  const LocalWants& x = a.ticket->wants;
  const LocalWants& y = b.ticket->wants;
  if (x.priority != y.priority) return x.priority > y.priority;
  return x.since != y.since ? x.since < y.since : a.ticket->job < b.ticket->job;
}

void Add(const LocalTicket& ticket, JobInLine* job) {
  job->awake |= ticket.awake;
  if (job->ticket == nullptr) job->ticket = &ticket;
  if (!ticket.running) return;
  if (!job->running || ticket.started < job->started) job->started = ticket.started;
  if (!job->running) job->ticket = &ticket;
  job->running = true;
  for (const int number : ticket.gpus) {
    if (!HasGpu(job->gpus, number)) job->gpus.push_back(number);
  }
}

// One for each job, in the order of the line.
std::vector<JobInLine> ByJob(const std::vector<LocalTicket>& tickets) {
  std::vector<const LocalTicket*> sorted;
  for (const LocalTicket& ticket : tickets) sorted.push_back(&ticket);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const LocalTicket* a, const LocalTicket* b) { return a->job < b->job; });
  std::vector<JobInLine> jobs;
  for (const LocalTicket* ticket : sorted) {
    if (jobs.empty() || jobs.back().ticket->job != ticket->job) jobs.emplace_back();
    Add(*ticket, &jobs.back());
  }
  std::sort(jobs.begin(), jobs.end(), IsBefore);
  return jobs;
}

std::string Ordinal(int n) {
  const bool teen = n % 100 > 10 && n % 100 < 14;
  const int last = teen ? 0 : n % 10;
  return std::to_string(n) + (last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
}

std::string WhoHolds(const std::vector<JobInLine>& jobs, bool (*holds)(const JobInLine&)) {
  std::vector<std::string> names;
  for (const JobInLine& job : jobs) {
    if ((job.running || job.starts) && holds(job)) names.push_back(job.ticket->who);
  }
  const size_t all = names.size();
  if (all > kNamed) names.resize(kNamed);
  return Join(names, ", ") + (all > kNamed ? " and " + std::to_string(all - kNamed) + " more" : "");
}

// What of `wants` is not there now, and who has it; "" = all of it is.
std::string Lacking(const LocalCapacity& capacity, const LocalWants& wants, const Room& room,
                    const std::vector<JobInLine>& jobs) {
  if (!PickGpus(capacity, wants, room.gpus)) {
    const size_t all = capacity.gpus.size();
    const size_t used = all - room.gpus.size();
    return GpusText(capacity, wants) + "; " + std::to_string(used) + " of " + std::to_string(all) +
           (used == 1 ? " is" : " are") + " in use by " +
           WhoHolds(jobs, [](const JobInLine& job) { return !job.gpus.empty(); });
  }
  if (wants.cpus > room.cpus) {
    const int64_t used = capacity.cpus - std::max<int64_t>(room.cpus, 0);
    return CpusText(wants.cpus) + "; " + CpusText(used) + " of " + CpusText(capacity.cpus) +
           (used == 1000 ? " is" : " are") + " in use by " +
           WhoHolds(jobs, [](const JobInLine& job) { return job.ticket->wants.cpus > 0; });
  }
  if (wants.memory > room.memory) {
    return HumanSize(wants.memory) + " of memory; " +
           HumanSize(capacity.memory - std::max<int64_t>(room.memory, 0)) + " of " +
           HumanSize(capacity.memory) + " are taken by " +
           WhoHolds(jobs, [](const JobInLine& job) { return job.ticket->wants.memory > 0; });
  }
  return "";
}

// Lets start who may, in the order of the line; who waits learns its place.
class Line {
 public:
  Line(const LocalCapacity& capacity, std::vector<JobInLine>* jobs, WallTime now)
      : capacity_(capacity), jobs_(*jobs), now_(now), room_(WholeMachine(capacity)) {}

  void Go() {
    for (const JobInLine& job : jobs_) {
      if (job.running) Take(job.ticket->wants, job.gpus, &room_);
    }
    for (JobInLine& job : jobs_) {
      if (job.running) continue;
      const std::string never = WhyNever(capacity_, job.ticket->wants);
      if (!never.empty()) {
        job.turn.place = ++place_;
        job.turn.why = "it can never start here: it asks for " + never;
      } else if (MayStart(job)) {
        Start(&job);
      } else {
        Wait(&job);
      }
    }
    for (JobInLine& job : jobs_) {
      if (job.turn.place > 0 && job.turn.why.empty()) Tell(&job);
    }
  }

 private:
  bool MayStart(const JobInLine& job) const {
    const LocalWants& wants = job.ticket->wants;
    if (!job.awake || !Fits(capacity_, wants, room_)) return false;
    if (first_ == nullptr) return true;
    if (FitsBeside(capacity_, wants, beside_)) return true;
    if (wants.span.ms <= 0) return false;
    const auto could = CouldStart(capacity_, first_->ticket->wants, jobs_, room_, now_);
    return could && now_ + wants.span <= *could;
  }

  void Start(JobInLine* job) {
    const LocalWants& wants = job->ticket->wants;
    // Beside who waits, if that is possible.
    auto gpus = first_ != nullptr ? PickGpus(capacity_, wants, beside_.gpus) : std::nullopt;
    if (!gpus) gpus = PickGpus(capacity_, wants, room_.gpus);
    job->gpus = *gpus;
    job->starts = true;
    job->started = now_;
    Take(wants, job->gpus, &room_);
    if (first_ != nullptr) Take(wants, job->gpus, &beside_);
  }

  void Wait(JobInLine* job) {
    job->turn.place = ++place_;
    if (!job->awake) return;
    if (first_ == nullptr) {
      first_ = job;
      beside_ = room_;
    }
    Reserve(capacity_, job->ticket->wants, &beside_);
  }

  void Tell(JobInLine* job) const {
    const std::string lacking = Lacking(capacity_, job->ticket->wants, room_, jobs_);
    job->turn.why = Ordinal(job->turn.place) + " in line: waits for " +
                    (!lacking.empty()                     ? lacking
                     : first_ != nullptr && first_ != job ? "its turn, after " + first_->ticket->who
                                                          : "its turn");
  }

  const LocalCapacity& capacity_;
  std::vector<JobInLine>& jobs_;
  const WallTime now_;
  Room room_;                   // that nobody holds
  Room beside_;                 // and that nobody waits for
  JobInLine* first_ = nullptr;  // that waits
  int place_ = 0;
};

}  // namespace

std::vector<LocalTurn> TakeTurns(const LocalCapacity& capacity,
                                 const std::vector<LocalTicket>& tickets, WallTime now) {
  std::vector<JobInLine> jobs = ByJob(tickets);
  Line(capacity, &jobs, now).Go();
  std::sort(jobs.begin(), jobs.end(),
            [](const JobInLine& a, const JobInLine& b) { return a.ticket->job < b.ticket->job; });
  std::vector<LocalTurn> turns(tickets.size());
  for (size_t i = 0; i < tickets.size(); ++i) {
    if (tickets[i].running) continue;
    const auto job = std::lower_bound(
        jobs.begin(), jobs.end(), tickets[i].job,
        [](const JobInLine& a, const std::string& name) { return a.ticket->job < name; });
    turns[i] = job->turn;
    turns[i].start = tickets[i].awake && (job->running || job->starts);
    if (turns[i].start) turns[i].gpus = job->gpus;
  }
  return turns;
}

std::string WhyNever(const LocalCapacity& capacity, const LocalWants& wants) {
  if (wants.cpus > capacity.cpus) {
    return CpusText(wants.cpus) + "; this machine has " + CpusText(capacity.cpus);
  }
  if (capacity.memory > 0 && wants.memory > capacity.memory) {
    return HumanSize(wants.memory) + " of memory; this machine has " + HumanSize(capacity.memory);
  }
  if (PickGpus(capacity, wants, WholeMachine(capacity).gpus)) return "";
  return GpusText(capacity, wants) + "; this machine has " + GpusHere(capacity);
}

std::vector<int> GpusOfNode(const std::vector<int>& gpus, const LocalWants& wants, int node) {
  const size_t nodes = static_cast<size_t>(std::max(wants.nodes, 1));
  if (nodes == 1 || gpus.empty()) return gpus;
  const size_t at = static_cast<size_t>(std::max(node, 0)) % nodes;
  const size_t begin = at * gpus.size() / nodes;
  const size_t end = std::max(begin + 1, (at + 1) * gpus.size() / nodes);
  return {gpus.begin() + static_cast<ptrdiff_t>(begin), gpus.begin() + static_cast<ptrdiff_t>(end)};
}

std::string CpusText(int64_t thousandths) {
  std::string text = std::to_string(thousandths / 1000);
  if (thousandths % 1000 != 0) {
    std::string part = std::to_string(1000 + thousandths % 1000).substr(1);
    while (part.back() == '0') part.pop_back();
    text += "." + part;
  }
  return text + (thousandths == 1000 ? " CPU" : " CPUs");
}

}  // namespace stoker
