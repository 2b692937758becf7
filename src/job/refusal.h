// SPDX-License-Identifier: Apache-2.0
// A provider's no to a request: what kind, for how much of the provider it holds, and until when.
// It stands in the record, so that whoever looks next goes on from there. Plain data.
#pragma once

#include <cstddef>
#include <string>

#include "base/time.h"

namespace stoker {

enum class RefusalClass {
  kCapacity,          // there is no room at this moment
  kQuota,             // the account may not have so much
  kThrottled,         // too many requests at once
  kDenied,            // whoever asked may not
  kInvalid,           // nobody can be given this, ever
  kOver,              // the request's time is past, or its machines have come and gone
  kUnanswered,        // nobody was reached in all the request's time: never a provider's word
  kNotYetConsistent,  // it names what was made a moment ago and is not known everywhere yet
};

// What else need not be asked for as long as it holds.
enum class RefusalScope {
  kRequest,  // nothing but exactly this
  kZone,     // that type and market in that zone
  kMarket,   // that type and market in all of the region
  kRegion,   // that market in all of the region, whatever the type
  kAccount,  // anything of that provider's account
};

// As long as a refusal's message is in a record: what is longer is cut there, and a provider that
// says what to do sees to it that this is not what is cut.
inline constexpr size_t kMostRefusalText = 500;

struct Refusal {
  RefusalClass what = RefusalClass::kCapacity;
  RefusalScope scope = RefusalScope::kRequest;
  Duration wait;  // it makes no sense to ask sooner; 0 = nothing is known of that
  // Whoever writes it into the record sets these two; a provider leaves them alone.
  WallTime at;          // when it was heard, kNotYetConsistent: first heard; store's clock
  bool final = false;   // nobody will be answered otherwise: its launches are closed by it
  std::string message;  // in the provider's words
  bool operator==(const Refusal&) const = default;
};

}  // namespace stoker
