// SPDX-License-Identifier: Apache-2.0
// What a job asks of a machine that a cloud makes for it, the same for every cloud; and what such a
// machine can reach.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "port/broker.h"

namespace stoker::cloud {

struct Wish {
  std::string region;  // "" = the usual one
  std::string zone;    // "" = any
  std::string type;    // "" = the smallest that fits; of spot: the cheapest
  std::string image;   // as the cloud has it; "" = the usual one
  bool spot = false;
  bool cluster = false;           // near each other
  std::optional<int64_t> cpus;    // in thousandths
  std::optional<int64_t> memory;  // bytes
  std::optional<int> gpus;
  std::string gpu_name;
  std::optional<int64_t> disk_gib;
  std::map<std::string, std::string> labels;
  int nodes = 1;
  bool packages = false;                          // it brings a requirements.txt, or a setup
  std::function<void(const std::string&)> say{};  // a remark for whoever submits; empty: for nobody
};

// Of `ask`, without `cluster`, which stands in a section of the cloud's own. Looks into its
// workdir.
Wish WishOf(const OfferAsk& ask);

// kInvalid: `machines` ("machines of EC2") could not reach the job's store or inputs, which are to
// begin with one of `schemes`, the usual one first.
Status CheckReach(const OfferAsk& ask, const std::vector<std::string>& schemes,
                  const std::string& machines);

// A service that stands in for the cloud's must be reached from machines, too. `variable`: where
// its address comes from. kInvalid: it is on this machine alone.
Status CheckEndpoint(const std::string& what, const std::string& endpoint,
                     const std::string& variable);

}  // namespace stoker::cloud
