// SPDX-License-Identifier: Apache-2.0
// What a region has: zones, types, images, networks, spot prices, out of EC2's XML. Inside
// provider/ec2 only; pure but for the calls that fetch it. Sources: "DescribeInstanceTypes",
// "DescribeInstanceTypeOfferings", "DescribeImages", "DescribeSpotPriceHistory" (EC2 API
// reference).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "provider/ec2/api/aws_api.h"
#include "provider/ec2/ec2_options.h"

namespace stoker::ec2 {

struct MachineType {
  std::string name;
  int64_t cpus = 0;
  int64_t memory_mib = 0;
  int64_t gpus = 0;
  std::string gpu_name;
  int64_t gpu_memory_mib = 0;  // of each
  bool x86_64 = false;
  bool spot = false, on_demand = false;
  bool cluster = false;  // its machines can be near each other
  int64_t efa = 0;       // interfaces of the kind that one can have
};

struct Image {
  std::string id;
  std::string name;
  std::string architecture;
  std::string state;
  std::string root;  // device
  std::vector<Disk> disks;
};

// What a job asks of each machine; 0 and "" = nothing.
struct MachineWish {
  int64_t cpus_thousandths = 0;
  int64_t memory_bytes = 0;
  int64_t gpus = 0;
  std::string gpu_name;  // "H100", "A100-80GB"
  bool spot = false;
  bool cluster = false;  // near each other
  bool efa = false;
};

// What lacks in the type itself, in words; "" = nothing.
std::string Lacks(const MachineType& type, const MachineWish& wish);
// Types that can do it, the smallest first: by GPUs, CPUs, memory.
std::vector<MachineType> FitTypes(const std::vector<MachineType>& all, const MachineWish& wish);
// "no type of us-east-1 has 8 GPUs of the kind H10: the nearest kind is H100".
Status NothingFits(const std::string& region, const std::vector<MachineType>& all,
                   const MachineWish& wish);

// All are complete or an error.
Result<std::vector<std::string>> Regions(AwsApi& api, const std::string& asked_in);
Result<std::vector<std::string>> Zones(AwsApi& api, const std::string& region);
// Every type of x86-64, of the present generation. Several calls.
Result<std::vector<MachineType>> AllTypes(AwsApi& api, const std::string& region);
// kNotFound: there is none of that name.
Result<MachineType> OneType(AwsApi& api, const std::string& region, const std::string& name);
// Names of all types that the region offers.
Result<std::vector<std::string>> TypeNames(AwsApi& api, const std::string& region);
// By type: the zones that offer it.
Result<std::map<std::string, std::set<std::string>>> Offerings(
    AwsApi& api, const std::string& region, const std::vector<std::string>& types);
// kNotFound.
Result<Image> FindImage(AwsApi& api, const std::string& region, const std::string& id);
Result<std::string> Parameter(AwsApi& api, const std::string& region, const std::string& name);

// Capacity that somebody has reserved or bought.
struct Reservation {
  std::string type, zone;
  std::string state;  // "active"
  std::string begins;
  int64_t machines = 0;
  bool block = false;
};
// kNotFound.
Result<Reservation> FindReservation(AwsApi& api, const std::string& region, const std::string& id);

// Latest prices of spot, by (type, zone), in millionths an hour. What is not told is left out.
Result<std::map<std::pair<std::string, std::string>, int64_t>> SpotPrices(
    AwsApi& api, const std::string& region, const std::vector<std::string>& types);

// The account's number; "" = nobody tells.
std::string Account(AwsApi& api, const std::string& region);

}  // namespace stoker::ec2
