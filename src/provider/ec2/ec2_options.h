// SPDX-License-Identifier: Apache-2.0
// What `options` of an Ask says for EC2: all that the request depends on besides place, type, image
// and market, resolved when the job was submitted. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace stoker::ec2 {

inline constexpr char kCluster[] = "cluster";

// A volume of the image, as it is attached.
struct Disk {
  std::string device;  // "/dev/xvda"
  int64_t gib = 0;     // 0 = as large as the image's
  bool operator==(const Disk&) const = default;
};

struct Label {
  std::string key;
  std::string value;
  bool operator==(const Label&) const = default;
};

struct Options {
  std::string subnet;               // "subnet-…": of the place's zone
  std::string vpc;                  // that it is in
  std::string group;                // "sg-…": the ledger's; "" where the user has named others:
  std::vector<std::string> groups;  // their ids
  std::string placement;            // kCluster: near each other in that zone; "" = anywhere
  std::string reservation;          // "cr-…": of capacity, also a block's
  int64_t efa = 0;                  // network interfaces of the kind; 0 = an ordinary one
  std::string profile;              // of IAM: its name
  std::vector<Disk> disks;
  std::vector<Label> labels;   // the user's tags
  bool metadata_tags = false;  // the machine's metadata has all of its tags
  std::string store_region;    // of the bucket
  int64_t blob_period = 0;     // of the binary's copy, see ledger/blobs.h
  // Of services that are not Amazon's own; "" = Amazon's.
  std::string s3_endpoint;
  std::string ec2_endpoint;
  std::string ssm_endpoint;
  std::string secrets_endpoint;  // of Secrets Manager
  std::string logs_endpoint;     // of CloudWatch Logs
  std::string ecr_endpoint;
  // How Google knows its machines, where their store or an input is in a bucket of Google's: the
  // provider of workload identity, "projects/NUMBER/…"; "" = it does not.
  std::string google_identity;
  std::string google_account;  // the account, an e-mail, that they act as there; "" = themselves
  bool operator==(const Options&) const = default;
};

// One line of JSON.
std::string EncodeOptions(const Options& options);
// kInvalid for what EncodeOptions never writes. Members that are not known are passed over.
Result<Options> ParseOptions(std::string_view text);

}  // namespace stoker::ec2
