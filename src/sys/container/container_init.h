// SPDX-License-Identifier: Apache-2.0
// The first process of a container: stoker's own static binary, mounted into it. It connects to its
// owner's socket, tells what environment the image gives, and serves one task after another as the
// shim of each (sys/task/task_main.h); one that runs beside others has a shim of its own. When the
// owner is gone, however, it ends, and with it the kernel ends all else in the container: no daemon
// and no client has a part in that.
#pragma once

#include <cstdint>

namespace stoker {

inline constexpr char kContainerVerb[] = "__container";

// On the connection: first, from inside, a ContainerHello and the image's variables, each with a
// NUL behind it; then, for each task, one byte with the descriptors 0 … kPayloadFd of
// task_protocol.h. Both are the same binary.
struct ContainerHello {
  uint32_t size;  // bytes of the variables
};
inline constexpr char kContainerTask = 'T';    // one at a time
inline constexpr char kContainerBeside = 'B';  // with a shim of its own, below the first process
// On the control socket of such a one: its shim says kContainerHere, by which the owner learns its
// pid (SCM_CREDENTIALS), and begins at kContainerGo.
inline constexpr char kContainerHere = 'H';
inline constexpr char kContainerGo = 'G';
inline constexpr uint32_t kMostImageVariables = 4 << 20;

// The body of `stoker __container SOCKET`.
int ContainerInitMain(const char* socket);

}  // namespace stoker
