// SPDX-License-Identifier: Apache-2.0
// What is asked of EC2, as pure functions of the request's entry in the record: so the same token
// always comes with the same parameters, whoever sends them. Inside provider/ec2 only. Source:
// "RunInstances" (EC2 API reference).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "port/provider.h"
#include "provider/ec2/api/ec2_query.h"
#include "provider/ec2/ec2_options.h"

namespace stoker::ec2 {

inline constexpr char kSpot[] = "spot";
inline constexpr char kOnDemand[] = "on-demand";
inline constexpr char kBlock[] = "capacity-block";

// Keys of our tags: of characters that the metadata service can show, too.
inline constexpr char kLedgerTag[] = "stoker-ledger";
inline constexpr char kJobTag[] = "stoker-job";
inline constexpr char kTokenTag[] = "stoker-request";
inline constexpr char kLaunchesTag[] = "stoker-launches";
inline constexpr char kExpiresTag[] = "stoker-expires";

inline constexpr size_t kMostToken = 64;           // of RunInstances
inline constexpr size_t kMostUserData = 16 << 10;  // before base64
inline constexpr size_t kMostTagValue = 256;

// One RunInstances for all machines of the request or for none. kInvalid: a token that is none, or
// user-data or tags too long.
Result<Params> RunInstances(const LaunchRequest& request, const Options& options,
                            std::string_view user_data);

// The placement group that all requests of the job in that zone share; made before the first of
// them, by its name. Source: "CreatePlacementGroup" (EC2 API reference).
std::string PlacementGroupName(const LaunchRequest& request);
Params CreatePlacementGroup(const LaunchRequest& request);

// Of the machines of a ledger, and of one job or one token unless that is empty.
Params DescribeInstances(const std::string& ledger_id, const std::string& job,
                         const std::string& token, const std::string& next);

// One machine that carries the tag of any ledger.
Params DescribeOne(const std::string& instance_id, const std::string& next);

// The name of the ledger's security group, one in each VPC.
std::string GroupName(const std::string& ledger_id);

}  // namespace stoker::ec2
