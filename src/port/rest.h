// SPDX-License-Identifier: Apache-2.0
// What a store may have besides the port: a way to wait before the same is read once more.
#pragma once

#include "base/time.h"

namespace stoker {

// Thread-safe. A store without it is asked again at once: it answers from memory.
class CanRest {
 public:
  virtual ~CanRest() = default;
  // Blocks for `time`; shorter where nothing travels, or where nothing is waited for any more.
  virtual void Rest(Duration time) = 0;
};

// Lets `store` rest, if it can.
template <typename Store>
void Rest(Store& store, Duration time) {
  if (auto* const resting = dynamic_cast<CanRest*>(&store)) resting->Rest(time);
}

}  // namespace stoker
