// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_waiter.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstdio>

#include "provider/local/local_provider.h"
#include "provider/local/local_turns.h"
#include "sys/descriptors.h"
#include "sys/file.h"
#include "sys/real_clock.h"

namespace stoker {
namespace {

constexpr int kPollMs = 1000;
// Where a machine was killed, its end is told a moment before what it held is free, and an end
// seldom comes alone: so it looks once more soon after it has looked at once.
constexpr useconds_t kSettleUs = 2'000;
constexpr int kAgainMs = 20;

// Until something has happened in the folder; at most `most_ms`. Whether something has.
bool Sleep(const sys::ScopedFd& watch, int most_ms) {
  pollfd p{watch.get(), POLLIN, 0};
  if (poll(&p, watch.valid() ? 1 : 0, most_ms) <= 0) return false;
  usleep(kSettleUs);
  char events[4096];
  while (read(watch.get(), events, sizeof events) > 0) {
  }
  return true;
}

int WaitForAll(LocalProvider& provider, const std::string& state, const std::string& queue) {
  sys::ScopedFd watch(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (watch.valid() &&
      inotify_add_watch(watch.get(), queue.c_str(),
                        IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR) < 0) {
    watch.Reset();
  }
  std::string said;
  bool again = false;
  for (;;) {
    const auto left = provider.Wait();
    if (left.ok() && *left == 0) return 0;
    // Once, and it goes on: what stands in the way may pass.
    if (const std::string now = left.ok() ? "" : left.status().ToString(); now != said) {
      said = now;
      if (!said.empty()) std::fprintf(stderr, "%s\n", said.c_str());
    }
    if (!sys::DirExists(state) || !sys::DirExists(queue)) return 1;
    again = Sleep(watch, again ? kAgainMs : kPollMs);
  }
}

}  // namespace

int LocalWaiterMain(const std::string& state) {
  RealClock clock;
  LocalProviderOptions options;
  options.state_dir = state;
  auto provider = MakeLocalProvider(options, clock);
  if (!provider.ok()) return 1;
  LocalTurns turns(LocalState(state), (*provider)->host(), clock);
  // Before the fork, which inherits it: whoever started this finds a waiter when it has ended.
  auto mine = turns.BeWaiter();
  if (!mine.ok()) return mine.status().Is(Code::kBusy) ? 0 : 1;
  const pid_t pid = fork();
  if (pid != 0) _exit(pid > 0 ? 0 : 1);
  CloseFrom(mine->get() + 1);
  return WaitForAll(**provider, state, turns.path());
}

}  // namespace stoker
