// SPDX-License-Identifier: Apache-2.0
#include "sim/play/runs.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#include "sim/check/checks.h"
#include "sim/play/narrator.h"

namespace stoker::sim {
namespace {

static_assert(std::is_trivially_copyable_v<Outcome>);
static_assert(sizeof(Outcome) <= 4096);  // a write of it to a pipe is whole: PIPE_BUF

template <size_t N>
void Copy(const std::string& from, char (&to)[N]) {
  std::snprintf(to, N, "%s", from.c_str());
}

void Break(Outcome* outcome, const std::string& rule, const std::string& what,
           const std::string& job = "") {
  outcome->broke = true;
  Copy(rule, outcome->rule);
  Copy(what, outcome->what);
  Copy(job, outcome->job);
}

constexpr int kMostProcesses = 256;

// What the processes of one RunMany share.
struct SharedTally {
  std::atomic<uint64_t> next{0};
  std::atomic<uint64_t> current[kMostProcesses];  // index + 1; 0 = none
};

bool Send(int pipe, const Outcome& outcome) {
  ssize_t wrote = 0;
  do {
    wrote = ::write(pipe, &outcome, sizeof outcome);
  } while (wrote < 0 && errno == EINTR);
  return wrote == static_cast<ssize_t>(sizeof outcome);
}

bool Receive(int pipe, Outcome* outcome) {
  auto* at = reinterpret_cast<char*>(outcome);
  size_t left = sizeof *outcome;
  while (left > 0) {
    const ssize_t got = ::read(pipe, at, left);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    left -= static_cast<size_t>(got);
  }
  return true;
}

[[noreturn]] void Work(SharedTally* shared, int self, int pipe, uint64_t count,
                       const std::function<Outcome(uint64_t)>& run) {
  for (;;) {
    const uint64_t index = shared->next.fetch_add(1);
    if (index >= count) ::_exit(0);
    shared->current[self].store(index + 1);
    Outcome outcome = run(index);
    outcome.index = index;
    if (!Send(pipe, outcome)) ::_exit(1);
    shared->current[self].store(0);
  }
}

std::string HowItDied(int status) {
  if (WIFSIGNALED(status))
    return "the simulator died of signal " + std::to_string(WTERMSIG(status));
  return "the simulator exited with " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Outcome OutcomeOf(World& world, const std::vector<Expectation>& expectations) {
  Outcome outcome;
  outcome.seed = world.plan().seed;
  outcome.hash = world.hash();
  outcome.lives = world.lives;
  outcome.events = world.scheduler().events();
  outcome.ms = world.now();
  if (world.breach()) {
    Break(&outcome, world.breach()->rule, world.breach()->what, world.breach()->job);
    return outcome;
  }
  const Status met = Met(expectations, world);
  if (!met.ok()) Break(&outcome, "expectation", met.message());
  return outcome;
}

Outcome RunPlan(const Plan& plan, const std::vector<Expectation>& expectations) {
  World world(plan);
  const Checks checks = WatchAll(world);
  world.Run();
  return OutcomeOf(world, expectations);
}

std::vector<std::string> StoryOf(const Plan& plan) {
  World world(plan);
  const Checks checks = WatchAll(world);
  Narrator narrator(world);
  world.Watch(&narrator);
  world.Run();
  return narrator.Story(world.breach() ? world.breach()->job : "");
}

namespace {

// The processes of one RunMany, as their parent sees them.
class Crew {
 public:
  Crew(SharedTally* shared, const std::function<bool(const Outcome&)>& done)
      : shared_(shared), done_(done) {}

  void Add(pid_t child) { children_.push_back(child); }

  // False: enough.
  bool Give(const Outcome& outcome) {
    if (going_ && !done_(outcome)) going_ = false;
    return going_;
  }

  // Looks who has ended. `wait`: until all have.
  void Bury(bool wait) {
    for (size_t self = 0; self < children_.size(); ++self) {
      pid_t& child = children_[self];
      if (child == 0) continue;
      int status = 0;
      const bool made = child > 0;
      if (made && ::waitpid(child, &status, wait ? 0 : WNOHANG) == 0) continue;
      child = 0;
      if (made && status == 0) continue;
      const uint64_t current = shared_->current[self].load();
      Outcome crash;
      crash.index = current == 0 ? 0 : current - 1;
      Break(&crash, "crash", made ? HowItDied(status) : "no process could be made");
      Give(crash);
    }
  }

 private:
  SharedTally* const shared_;
  const std::function<bool(const Outcome&)>& done_;
  std::vector<pid_t> children_;  // 0 = has ended
  bool going_ = true;
};

}  // namespace

void RunMany(uint64_t count, int parallel, const std::function<Outcome(uint64_t)>& run,
             const std::function<bool(const Outcome&)>& done) {
  parallel = std::clamp(parallel, 1, kMostProcesses);
  int pipe[2];
  void* const memory = parallel == 1 ? MAP_FAILED
                                     : ::mmap(nullptr, sizeof(SharedTally), PROT_READ | PROT_WRITE,
                                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || ::pipe(pipe) != 0) {
    for (uint64_t index = 0; index < count; ++index) {
      Outcome outcome = run(index);
      outcome.index = index;
      if (!done(outcome)) return;
    }
    return;
  }
  auto* const shared = new (memory) SharedTally();
  Crew crew(shared, done);
  std::fflush(nullptr);
  for (int self = 0; self < parallel; ++self) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(pipe[0]);
      Work(shared, self, pipe[1], count, run);
    }
    crew.Add(child);
  }
  ::close(pipe[1]);
  Outcome outcome;
  while (Receive(pipe[0], &outcome)) {
    if (!crew.Give(outcome)) shared->next.store(count);  // nobody begins another
    crew.Bury(false);
  }
  ::close(pipe[0]);
  crew.Bury(true);
  ::munmap(memory, sizeof(SharedTally));
}

bool InOrder::Take(const Outcome& outcome, const std::function<bool(const Outcome&)>& done) {
  if (outcome.index < next_) return done(outcome);  // of a process that could not be made
  waiting_[outcome.index] = outcome;
  for (;;) {
    const auto first = waiting_.find(next_);
    if (first == waiting_.end()) return true;
    const Outcome given = first->second;
    waiting_.erase(first);
    ++next_;
    if (!done(given)) return false;
  }
}

void Totals::Add(const Outcome& outcome) {
  ++seeds;
  lives += outcome.lives;
  events += outcome.events;
  ms += outcome.ms;
  if (outcome.broke) ++breaches;
  // A sum of well-mixed numbers: the order does not matter, and equal ones do not cancel out.
  uint64_t mixed = outcome.hash ^ ((outcome.index + 1) * 0x9e3779b97f4a7c15ULL);
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
  hash += mixed ^ (mixed >> 31);
}

}  // namespace stoker::sim
