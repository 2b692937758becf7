// SPDX-License-Identifier: Apache-2.0
// What is asked of a provider: machines for one to N slots at once, where and of which kind. It
// stands in the record before it is sent. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "job/refusal.h"

namespace stoker {

// Machines of this provider are those of one computer: each has its own, and cannot see another's.
inline constexpr char kLocalProvider[] = "local";

// Where machines are asked for; "" = the provider's own choice, or it has no such thing.
struct Place {
  std::string provider = kLocalProvider;
  std::string account;
  std::string region;
  std::string zone;
  bool operator==(const Place&) const = default;
};

// Of which kind. Resolved: ids, no aliases that mean another thing tomorrow.
struct Ask {
  Place place;
  std::string type;    // of machine; "" = the provider's only one
  std::string image;   // id of what it boots; "" = the same
  std::string market;  // "" = the provider's only one
  std::optional<int64_t>
      ceiling;          // the price, in millionths an hour and machine, that is not passed
  std::string options;  // all else that the call depends on, in the provider's own words
  bool operator==(const Ask&) const = default;
};

// One way to have a job's machines, resolved when it was submitted, so that everyone who looks
// after it knows the same ones.
struct Offer {
  Ask ask;
  int rank = 0;  // a lower one is asked first; equal ones are equal to the user: the cheaper first
  std::optional<int64_t> price;  // in millionths an hour and machine, when it was resolved
  std::string extra;             // unknown fields of this entry, as JSON; preserved
};

inline constexpr size_t kMostOffers = 256;
inline constexpr size_t kMostReason = 300;

// One numbered request for a machine for each of `slots`. What it asks for never changes.
struct Request {
  int number = 0;  // from 1, never reused
  Ask ask;
  std::vector<int> slots;  // slots[index]: whom the machine of that index is for
  std::string store_url;   // what the machines' agents open; "" = the store of who sends it
  std::string token;       // see RequestToken
  WallTime opened;         // store's clock
  WallTime not_after;      // nothing is sent after this
  Duration limit;
  std::string reason;                // why this place, for people; "" = there was no other
  int tries = 0;                     // how often it was decided to send it
  std::optional<WallTime> next_try;  // not sent again before
  std::optional<Refusal> refusal;    // the newest that was heard; of all its machines
  std::string extra;                 // unknown fields of this entry, as JSON; preserved
};

}  // namespace stoker
