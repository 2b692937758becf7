// SPDX-License-Identifier: Apache-2.0
// Which machines of a ledger there are at Google, and where. Inside provider/gce only.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "provider/gce/compute_api.h"
#include "provider/gce/gce_answer.h"
#include "provider/gce/gce_provider.h"

namespace stoker::gce {

struct Found {
  std::string project;
  Instance instance;
};

// "projects/p/zones/z/"
std::string ZonePath(const std::string& project, const std::string& zone);

// Thread-safe.
class Fleet {
 public:
  Fleet(ComputeApi& api, const cloud::Notes& notes) : api_(api), notes_(notes) {}

  // Once for each place and process: before anything is asked for there.
  Status Note(const std::string& place);
  // Where that machine is.
  void Remember(const std::string& id, const std::string& project, const std::string& zone);
  // Its project and zone, as far as that is remembered.
  std::optional<std::pair<std::string, std::string>> PlaceOf(const std::string& id);
  struct Listing {
    std::vector<Instance> instances;
    std::vector<Unheard> unheard;  // zones and whole projects of which nothing is known
  };
  // Of all zones of all projects. An error where no project answers.
  Result<Listing> ListAll(const std::string& filter);
  // None: it is not there.
  Result<std::optional<Instance>> Get(const std::string& project, const std::string& zone,
                                      const std::string& name);
  // Only what carries a ledger's label: nothing else is ever ours to touch. None: it is gone.
  Result<std::optional<Found>> Find(const std::string& id);

 private:
  // Zones by project, in which anything may be.
  Result<std::map<std::string, std::set<std::string>>> Places();
  Status List(const std::string& project, const std::set<std::string>& zones,
              const std::string& filter, Listing* out);
  static void NoteSilent(const std::string& project, const std::set<std::string>& zones,
                         const std::set<std::string>& silent, Listing* out);

  ComputeApi& api_;
  const cloud::Notes& notes_;
  std::mutex mutex_;
  std::set<std::string> noted_;                                        // by this process
  std::map<std::string, std::pair<std::string, std::string>> places_;  // project, zone
};

}  // namespace stoker::gce
