// SPDX-License-Identifier: Apache-2.0
// Where a job's machines are asked for next: out of the offers that were resolved when it was
// submitted and of what was refused since, as its record tells it. Pure, so that any observer goes
// on where the last one stopped.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "job/request.h"

namespace stoker {

struct Placement {
  Ask ask;
  bool barred = false;  // so are all others: this is the one that is worth asking first
  // If so: when it is worth asking again. Unset where its pace of sends does.
  std::optional<WallTime> not_before;
  bool first = false;  // not barred, and nothing that comes before it was left aside
  std::string reason;  // for people; "" where there is no choice
};

// A refusal bars offers for a while:
//   capacity            that type and market in that zone; for 2 min, twice as long each time it is
//                       heard again within the hour, at most 16 min
//   unanswered          that account; as capacity
//   quota               that market in all of the region; for 8 min and more, likewise
//   throttled, denied   that account; for a minute
//   invalid, and what is final   what its scope says, for good
// A provider that says how long to wait is believed where that is longer.
//
// `offers`: at least one. Of those that nothing bars, the lowest rank, then the cheapest, then
// the first; if all are barred, the one whose bar ends first, a minute from now at most (longer
// where the provider said so): room may come back any time. The only one is asked at once, unless
// its provider has said when.
Placement ChoosePlace(const std::vector<Offer>& offers, const std::vector<Request>& past,
                      WallTime now);

// Whether it makes sense to give up `refused`, the newest of `past` for its slots, and to ask
// elsewhere: for capacity and quota when another place is free now, for what is final when another
// is not refused for good.
bool IsBetterElsewhere(const Request& refused, const std::vector<Offer>& offers,
                       const std::vector<Request>& past, WallTime now);

// Nothing that could change makes `offer` one to be had again.
bool IsRefusedForGood(const Offer& offer, const std::vector<Request>& past);

// "aws/us-east-1a g6.xlarge spot of 123456789012": what of it is given, the place as people write
// it.
std::string PlaceText(const Ask& ask);

}  // namespace stoker
