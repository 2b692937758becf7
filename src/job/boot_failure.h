// SPDX-License-Identifier: Apache-2.0
// Why a machine has ended itself before its agent began: what it said itself of that, where its
// provider keeps it. Plain data.
#pragma once

#include <string>

namespace stoker {

struct BootFailure {
  std::string why;  // for people, with what to do
  // The next machine will meet it, too: there is no way from there to the store, or its role is
  // denied what it needs. An outage is never that, nor what is not known for sure.
  bool lasts = false;
  // The store was there and did not answer as it should, or answered now so, now otherwise: however
  // often machines meet that, it says nothing of the job.
  bool outage = false;
};

}  // namespace stoker
