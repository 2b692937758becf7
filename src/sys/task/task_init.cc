// SPDX-License-Identifier: Apache-2.0
#include "sys/task/task_init.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "sys/descriptors.h"
#include "sys/file.h"
#include "sys/task/cgroup.h"
#include "sys/task/descendant_hunt.h"
#include "sys/task/task_main.h"
#include "sys/task/task_protocol.h"

namespace stoker {
namespace {

constexpr int64_t kEndLimitMs = 10'000;

bool OwnerIsGone() {
  pollfd control{kControlFd, 0, 0};
  return poll(&control, 1, 0) > 0 && (control.revents & (POLLHUP | POLLERR)) != 0;
}

// The exit code says whether anything is left.
int EndEverything(const TaskPayload& payload, pid_t main) {
  // As pid 1 of a namespace, ending is all it takes: the kernel kills the rest.
  if (payload.mechanism == TaskMechanism::kPidns) return 0;
  bool gone = true;
  if (payload.mechanism == TaskMechanism::kCgroup) {
    gone = EndCgroup(payload.cgroup, Duration::Ms(kEndLimitMs));
  }
  // Also what has left the cgroup.
  const bool none_left =
      EndDescendants([main] { return shim::Reap(main); }, Duration::Ms(kEndLimitMs));
  return none_left && gone ? 0 : 1;
}

int Watch(const TaskPayload& payload, pid_t main, int signals) {
  pollfd fds[2] = {{signals, POLLIN, 0}, {kControlFd, POLLIN, 0}};
  while (true) {
    if (poll(fds, 2, -1) < 0) continue;
    if (fds[0].revents != 0) {
      signalfd_siginfo info;
      while (read(signals, &info, sizeof info) > 0) {
      }
      shim::Reap(main);
    }
    if (fds[1].revents != 0) {
      char byte;
      const ssize_t n = read(kControlFd, &byte, 1);
      if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      return EndEverything(payload, main);
    }
  }
}

}  // namespace

int TaskInitMain(int, char**) {
  TaskPayload payload;
  const auto bytes = sys::ReadAll(kPayloadFd, "payload", int64_t{1} << 30);
  if (!bytes.ok() || !DecodePayload(*bytes, payload)) {
    shim::Tell(TaskMessage::kStartFailed, EINVAL, kStagePayload);
    return 2;
  }
  if (payload.mechanism == TaskMechanism::kPidns) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
  } else {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  if (OwnerIsGone()) return 2;  // it went before the line above could see it
  CloseFrom(kPayloadFd);
  if (!payload.comm.empty()) prctl(PR_SET_NAME, payload.comm.c_str());
  const int signals = shim::ArrangeSignals();
  const bool has_host_name = shim::IsCalled(payload.host_name);
  const pid_t main = shim::StartMain(payload, has_host_name);
  if (main == 0) return 2;
  // Only the program and its children keep the output open, so that its end can be seen.
  dup2(0, 1);
  dup2(0, 2);
  shim::Tell(TaskMessage::kStarted, main, has_host_name ? 1 : 0);
  return Watch(payload, main, signals);
}

}  // namespace stoker
