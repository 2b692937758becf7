// SPDX-License-Identifier: Apache-2.0
// What a store may have besides the port: a way to wait before the same is read once more.
#pragma once

#include "base/time.h"

namespace stoker {

// Thread-safe. A store without it is asked again at once: it answers from memory.
class Pausable {
 public:
  virtual ~Pausable() = default;
  // Blocks for `time`; shorter where nothing travels, or where nothing is waited for any more.
  virtual void Pause(Duration time) = 0;
};

// Lets `store` rest, if it can.
template <typename Store>
void Pause(Store& store, Duration time) {
  if (auto* const pausable = dynamic_cast<Pausable*>(&store)) pausable->Pause(time);
}

}  // namespace stoker
