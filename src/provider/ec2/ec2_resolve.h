// SPDX-License-Identifier: Apache-2.0
// From what a job asks to the ways to have it at EC2, when it is submitted: ids, no aliases.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "job/request.h"
#include "provider/cloud/cloud_wish.h"
#include "provider/ec2/ec2_provider.h"

namespace stoker {

struct Ec2Wish : cloud::Wish {
  bool efa = false;                       // with Elastic Fabric Adapters
  bool metadata_tags = false;             // programs may read the machine's tags inside
  std::string reservation = "";           // "cr-…", of capacity: says type and zone
  std::vector<std::string> subnets = {};  // "subnet-…"; empty = those of the default VPC
  std::vector<std::string> groups = {};   // of security, by id or name; empty = the ledger's
  std::string profile = "";               // "" = "stoker"
  std::string store = "";                 // "s3://…"; "" = elsewhere
  std::string store_region = "";          // of the bucket
  std::string s3_endpoint = "";           // "" = Amazon's
  std::string ec2_endpoint = "";          // the same
  std::string ssm_endpoint = "", secrets_endpoint = "";   // the same
  std::string logs_endpoint = "", ecr_endpoint = "";      // the same
  std::string google_identity = "", google_account = "";  // as in ec2::Options
};

inline constexpr char kUsualProfile[] = "stoker";

// One offer for each zone, in the order in which they are worth asking. Only reads; one error for
// what cannot be had, with the nearest that can: kInvalid, kNotFound, kDenied; transient ones.
Result<std::vector<Offer>> ResolveEc2(ec2::AwsApi& api, const Ec2Wish& wish);

// What is to be known only once the job's code has been stored, and what must be made for it: the
// copy of the binary, the ledger's security group. May be repeated.
Status CompleteEc2Offers(ec2::AwsApi& api, const std::string& ledger_id, int64_t blob_period,
                         std::vector<Offer>* offers);

}  // namespace stoker
