// SPDX-License-Identifier: Apache-2.0
// A place on this machine for copies of what never changes, to save fetching it again. Nothing in
// it is ever the only copy, and it may be deleted at any time.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace stoker {

// Thread-safe, and safe in several processes at once. Failures are no news: what cannot be kept or
// read is fetched again. Names are up to 200 letters, digits and dashes.
class Cache {
 public:
  virtual ~Cache() = default;
  // As it was kept, unless somebody damaged it: whoever asks must be able to tell.
  virtual std::optional<std::string> Get(const std::string& name) = 0;
  virtual void Keep(const std::string& name, std::string_view data) = 0;
  // Lets go of all others.
  virtual void KeepOnly(const std::set<std::string>& names) = 0;
};

}  // namespace stoker
