// SPDX-License-Identifier: Apache-2.0
// A bound, and what is just within it.
#pragma once

#include "controller/away/bound.h"

namespace stoker {

inline Bound SmallBound() {
  Bound bound;
  bound.regions = {"here", "there"};
  bound.types = {"small"};
  bound.machines = 2;
  bound.price = 100'000;
  bound.disk_gib = 50;
  bound.identity = "node";
  return bound;
}

inline AskedMachine Small() { return {"here", "small", 90'000, 20, "node"}; }

}  // namespace stoker
