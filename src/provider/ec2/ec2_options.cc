// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_options.h"

#include <concepts>
#include <type_traits>

#include "base/json_fields.h"

namespace stoker::ec2 {

// Not in the anonymous namespace: json_fields.h finds these by argument-dependent lookup.
template <class A, class T>
requires std::same_as<std::remove_const_t<T>, Disk>
void Fields(A& a, T& t) {
  a.Need("device", t.device);
  a("gib", t.gib);
}

template <class A, class T>
requires std::same_as<std::remove_const_t<T>, Label>
void Fields(A& a, T& t) {
  a.Need("key", t.key);
  a("value", t.value);
}

template <class A, class T>
requires std::same_as<std::remove_const_t<T>, Options>
void Fields(A& a, T& t) {
  a("subnet", t.subnet);
  a("vpc", t.vpc);
  a("group", t.group);
  a("groups", t.groups);
  a("placement", t.placement);
  a("reservation", t.reservation);
  a("efa", t.efa);
  a("profile", t.profile);
  a("disks", t.disks);
  a("labels", t.labels);
  a("metadata_tags", t.metadata_tags);
  a("store_region", t.store_region);
  a("blob_period", t.blob_period);
  a("s3_endpoint", t.s3_endpoint);
  a("ec2_endpoint", t.ec2_endpoint);
  a("ssm_endpoint", t.ssm_endpoint);
  a("secrets_endpoint", t.secrets_endpoint);
  a("logs_endpoint", t.logs_endpoint);
  a("ecr_endpoint", t.ecr_endpoint);
  a("google_identity", t.google_identity);
  a("google_account", t.google_account);
}

std::string EncodeOptions(const Options& options) {
  json::JsonOut out;
  Fields(out, options);
  return json::Dump(out.Take());
}

Result<Options> ParseOptions(std::string_view text) {
  auto object = json::ParseObject("options", text, 16 << 10);
  if (!object.ok())
    return Status(Code::kInvalid, "not options of EC2: " + object.status().message());
  Options options;
  json::JsonIn in(*object, "options.");
  Fields(in, options);
  if (!in.status().ok()) return Status(Code::kInvalid, in.status().message());
  return options;
}

}  // namespace stoker::ec2
