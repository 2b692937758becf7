// SPDX-License-Identifier: Apache-2.0
// What can look after jobs at a provider while nobody is at a desk: a function of its that a clock
// and its events call. Set up and taken away here; what it does is controller/away.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "port/object_store.h"

namespace stoker {

// What such a reconciler may ask for, whatever records say (controller/away/bound.h).
struct Bound {
  std::vector<std::string> regions;  // in which it may ask
  std::vector<std::string> types;    // of machine, exactly
  int machines = 0;                  // of the ledger at once, whoever asked for them
  int64_t price = 0;                 // of one machine, in millionths of a dollar an hour
  bool unknown_prices = false;       // a machine of which no price is known may be asked for
  int64_t disk_gib = 0;              // of one machine, beyond what its image brings
  std::string identity;              // that its machines act as: of AWS an instance profile
};

struct AwayWish {
  std::string ledger;  // its id
  ObjectStore* store = nullptr;
  std::string where;  // in which of the provider's regions it is to run; "" = the usual one
  Bound bound;        // no regions: `where` alone; no identity: the usual one; no price: none known
  std::string binary;  // the file of this program, which becomes the function
};

struct AwayPlan {
  AwayWish wish;                   // with all that was left open
  std::string place;               // as the ledger notes where it runs; "" = wish.where
  std::vector<std::string> makes;  // a line each, for people
  std::string costs;               // a month of it, by list prices, for people
  std::string policy;              // what it may do, in the provider's own words
};

struct AwayWhere {
  std::vector<std::string> regions;
  bool shared = true;  // what is of no region (a role), too
};

struct AwayTaken {
  std::vector<std::string> taken;  // a line each, for people
  Status left;  // not ok: what may still be there, and in which regions; what to do
};

class AwayHost {
 public:
  virtual ~AwayHost() = default;
  // What Install would make. Asks, and makes nothing. kInvalid: it could not work so.
  virtual Result<AwayPlan> Plan(const AwayWish& wish) = 0;
  // Makes what is not there, and brings what is there up to date. May be repeated, also by two at
  // once. What was done, a line each, for people.
  virtual Result<std::vector<std::string>> Install(const AwayPlan& plan) = 0;
  // Takes away all that Install ever made for the ledger in the regions of `where`, each a region,
  // AwayPlan::place or what the ledger noted for machines; nothing where there is nothing. A region
  // that does not answer hides nothing of the others.
  virtual AwayTaken Uninstall(const std::string& ledger, const AwayWhere& where) = 0;
};

}  // namespace stoker
