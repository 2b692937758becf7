// SPDX-License-Identifier: Apache-2.0
// What a reconciler that runs where nobody is may ask for, whatever records say. It is kept beside
// the reconciler, not in the store: whoever can write to the bucket cannot move it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "port/away.h"

namespace stoker {

// One line of JSON.
std::string EncodeBound(const Bound& bound);
// kCorrupt for what EncodeBound never writes, and for one that allows nothing.
Result<Bound> ParseBound(std::string_view text);

// kInvalid: ParseBound would not take it back, with what to say less of.
Status CheckBound(const Bound& bound);

// One machine that a record asks for, as its provider understands it.
struct AskedMachine {
  std::string region;
  std::string type;
  std::optional<int64_t> price;  // the most that it can cost; unset = not known
  int64_t disk_gib = 0;
  std::string identity;
};

// May `more` such machines be asked for while there are `there` of the ledger? kDenied, with what
// is beyond and how to widen it.
Status Within(const Bound& bound, const AskedMachine& asked, int more, int there);

// May a machine of `type`, as the provider lists it, be given power again? kDenied as Within; also
// where the type is "".
Status MayStart(const Bound& bound, const std::string& type, int there);

// What ends a machine that nobody looks after: whoever writes the record writes that, too. kDenied:
// it would live longer than one that stoker asks for, or could be asked for later.
Status Ends(Duration limit, WallTime not_after, WallTime now);

// "up to 4 machines at once in us-east-1 of m5.large, …": for people.
std::string Described(const Bound& bound);

}  // namespace stoker
