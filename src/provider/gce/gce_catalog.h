// SPDX-License-Identifier: Apache-2.0
// What a region of Compute Engine has: zones, types, accelerators, images, networks. Inside
// provider/gce only; pure but for the calls that fetch it. Source: "machineTypes",
// "acceleratorTypes", "images", "regions" (Compute Engine v1 API).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "provider/gce/compute_api.h"
#include "provider/gce/gce_options.h"

namespace stoker::gce {

struct MachineType {
  std::string name;
  int64_t cpus = 0;
  int64_t memory_mib = 0;
  std::string gpu;  // "nvidia-l4", which it brings; "" = none
  int64_t gpus = 0;
  bool x86_64 = true;
  bool shared = false;  // its processors
};

// Of machines that bring none.
struct Accelerator {
  std::string name;  // "nvidia-tesla-t4"
  int64_t most = 0;  // of one machine
};

struct Image {
  std::string path;  // "projects/p/global/images/n"
  bool x86_64 = true;
  int64_t disk_gib = 0;
};

// All are complete or an error.
Result<std::vector<std::string>> Regions(ComputeApi& api, const std::string& project);
// kNotFound: there is no such region.
Result<std::vector<std::string>> Zones(ComputeApi& api, const std::string& project,
                                       const std::string& region);
Result<std::vector<MachineType>> Types(ComputeApi& api, const std::string& project,
                                       const std::string& zone);
Result<std::vector<Accelerator>> Accelerators(ComputeApi& api, const std::string& project,
                                              const std::string& zone);
// `name`: "projects/P/global/images/N", the same with "family/F", or "P/N" for either. kNotFound,
// with the nearest.
Result<Image> FindImage(ComputeApi& api, const std::string& name);

// Checks that a network, "N" or "HOST/N", can be used without a subnetwork, and gives its path.
// kNotFound, kInvalid.
Result<std::string> FindNetwork(ComputeApi& api, const std::string& project,
                                const std::string& name, bool alone);
Result<std::string> FindSubnetwork(ComputeApi& api, const std::string& project,
                                   const std::string& region, const std::string& name);

struct Subnetwork {
  std::string name;
  std::string network;          // "projects/p/global/networks/n"
  std::string range;            // "10.128.0.0/20"
  bool private_access = false;  // Google's services are reached without an external address
};
// Where machines of these options are: of a network in auto mode the region's, which has its name.
std::string SubnetworkPath(const Options& options, const std::string& region);
Result<Subnetwork> ReadSubnetwork(ComputeApi& api, const std::string& path);

// "A100-80GB" is Google's "nvidia-a100-80gb", "H100" its "nvidia-h100-80gb".
bool IsKind(const std::string& accelerator, const std::string& wanted);
// As people say: "A100-80GB".
std::string KindName(const std::string& accelerator);

// Only that: the parsers, for tests.
Result<std::vector<MachineType>> ParseTypes(const std::string& json, std::string* next);

}  // namespace stoker::gce
