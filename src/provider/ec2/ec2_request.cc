// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_request.h"

#include <cstdio>

#include "base/base64.h"
#include "base/text.h"
#include "provider/cloud/cloud_launch.h"

namespace stoker::ec2 {
namespace {

constexpr size_t kMostTags = 50;
constexpr size_t kMostTagKey = 128;

// A list of "Name.N" and their members, without counting by hand.
class Writer {
 public:
  void Add(std::string name, std::string value) {
    params_.emplace_back(std::move(name), std::move(value));
  }
  void Filter(const std::string& name, const std::vector<std::string>& values) {
    const std::string prefix = "Filter." + std::to_string(++filters_);
    Add(prefix + ".Name", name);
    for (size_t i = 0; i < values.size(); ++i) {
      Add(prefix + ".Value." + std::to_string(i + 1), values[i]);
    }
  }
  Params Take() { return std::move(params_); }

 private:
  Params params_;
  int filters_ = 0;
};

// "0.350000": dollars an hour.
std::string PriceText(int64_t millionths) {
  char text[40];
  std::snprintf(text, sizeof text, "%lld.%06lld", static_cast<long long>(millionths / 1'000'000),
                static_cast<long long>(millionths % 1'000'000));
  return text;
}

Result<std::vector<Label>> TagsOf(const LaunchRequest& request, const Options& options) {
  std::vector<Label> tags = {
      {"Name", "stoker-" + request.job},
      {kLedgerTag, request.ledger_id},
      {kJobTag, request.job},
      {kTokenTag, request.token},
      {kLaunchesTag, cloud::EncodeLaunches(request.launches, ' ', kMostTagValue)},
      {kExpiresTag, FormatRfc3339(cloud::FirstExpiry(request))}};
  for (const Label& label : options.labels) {
    const bool ours = StartsWith(label.key, "stoker-") || StartsWith(label.key, "aws:");
    if (ours || label.key.empty() || label.key.size() > kMostTagKey) {
      return Status(Code::kInvalid, "not a label for EC2: '" + Printable(label.key) + "'",
                    "Labels have 1 to 128 characters and begin neither with aws: nor with stoker-");
    }
    // A key is part of a path there. Source: "Restrict access to instance tags" (EC2 User Guide).
    if (options.metadata_tags && label.key.find_first_of(" /") != std::string::npos) {
      return Status(Code::kInvalid,
                    "label '" + Printable(label.key) + "' cannot be read in a machine's metadata",
                    "Write its key without blanks and '/', or leave 'aws.metadata_tags' out");
    }
    if (label.value.size() > kMostTagValue) {
      return Status(Code::kInvalid, "label '" + Printable(label.key) + "' is too long for EC2",
                    "At most 256 characters");
    }
    if (label.key == "Name") {
      tags[0].value = label.value;
    } else {
      tags.push_back(label);
    }
  }
  if (tags.size() > kMostTags) {
    return Status(Code::kInvalid, "more labels than EC2 takes",
                  "At most " + std::to_string(kMostTags - 6));
  }
  return tags;
}

void AddTags(const std::vector<Label>& tags, bool spot, Writer* out) {
  std::vector<std::string> kinds = {"instance", "volume"};
  if (spot) kinds.emplace_back("spot-instances-request");
  for (size_t k = 0; k < kinds.size(); ++k) {
    const std::string prefix = "TagSpecification." + std::to_string(k + 1);
    out->Add(prefix + ".ResourceType", kinds[k]);
    for (size_t i = 0; i < tags.size(); ++i) {
      const std::string tag = prefix + ".Tag." + std::to_string(i + 1);
      out->Add(tag + ".Key", tags[i].key);
      out->Add(tag + ".Value", tags[i].value);
    }
  }
}

void AddMarket(const Ask& ask, Writer* out) {
  if (ask.market == kBlock) out->Add("InstanceMarketOptions.MarketType", kBlock);
  if (ask.market != kSpot) return;
  out->Add("InstanceMarketOptions.MarketType", "spot");
  // Persistent requests would start another after one was ended.
  out->Add("InstanceMarketOptions.SpotOptions.SpotInstanceType", "one-time");
  out->Add("InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior", "terminate");
  if (ask.ceiling) {
    out->Add("InstanceMarketOptions.SpotOptions.MaxPrice", PriceText(*ask.ceiling));
  }
}

// Where it is, and what it is plugged into.
void AddPlace(const LaunchRequest& request, const Options& options, Writer* out) {
  if (!options.placement.empty()) out->Add("Placement.GroupName", PlacementGroupName(request));
  if (!options.reservation.empty()) {
    out->Add("CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId",
             options.reservation);
  }
  std::vector<std::string> groups = options.groups;
  if (!options.group.empty()) groups.push_back(options.group);
  const auto add_groups = [&](const std::string& prefix) {
    for (size_t i = 0; i < groups.size(); ++i) {
      out->Add(prefix + "SecurityGroupId." + std::to_string(i + 1), groups[i]);
    }
  };
  if (options.efa == 0) {
    if (!options.subnet.empty()) {
      out->Add("SubnetId", options.subnet);  // which says the zone, too
    } else if (!request.ask.place.zone.empty()) {
      out->Add("Placement.AvailabilityZone", request.ask.place.zone);
    }
    return add_groups("");
  }
  // One on each card; only the first has an address. Source: "Maximize network bandwidth on Amazon
  // EC2 instances with multiple network cards" (EC2 user guide).
  for (int64_t card = 0; card < options.efa; ++card) {
    const std::string prefix = "NetworkInterface." + std::to_string(card + 1) + ".";
    out->Add(prefix + "DeviceIndex", card == 0 ? "0" : "1");
    out->Add(prefix + "NetworkCardIndex", std::to_string(card));
    out->Add(prefix + "InterfaceType", card == 0 ? "efa" : "efa-only");
    out->Add(prefix + "DeleteOnTermination", "true");
    if (!options.subnet.empty()) out->Add(prefix + "SubnetId", options.subnet);
    add_groups(prefix);
  }
}

void AddDisks(const std::vector<Disk>& disks, Writer* out) {
  for (size_t i = 0; i < disks.size(); ++i) {
    const std::string prefix = "BlockDeviceMapping." + std::to_string(i + 1);
    out->Add(prefix + ".DeviceName", disks[i].device);
    // Some images keep their volumes after the end of the machine.
    out->Add(prefix + ".Ebs.DeleteOnTermination", "true");
    if (disks[i].gib > 0) {
      out->Add(prefix + ".Ebs.VolumeSize", std::to_string(disks[i].gib));
      out->Add(prefix + ".Ebs.VolumeType", "gp3");
    }
  }
}

}  // namespace

Result<Params> RunInstances(const LaunchRequest& request, const Options& options,
                            std::string_view user_data) {
  if (!IsSafeName(request.token) || request.token.size() > kMostToken) {
    return Status(Code::kInvalid, "not a launch token: " + Printable(request.token));
  }
  if (user_data.size() > kMostUserData) {
    return Status(Code::kInvalid,
                  "user-data of " + HumanSize(static_cast<int64_t>(user_data.size())) +
                      " is more than EC2 takes",
                  "Use a store with a shorter prefix, or fewer nodes in one job");
  }
  STOKER_ASSIGN(const std::vector<Label> tags, TagsOf(request, options));
  const std::string count = std::to_string(request.launches.size());
  Writer out;
  out.Add("ClientToken", request.token);
  out.Add("MinCount", count);  // all or none
  out.Add("MaxCount", count);
  out.Add("ImageId", request.ask.image);
  out.Add("InstanceType", request.ask.type);
  AddPlace(request, options, &out);
  if (!options.profile.empty()) out.Add("IamInstanceProfile.Name", options.profile);
  out.Add("InstanceInitiatedShutdownBehavior", "terminate");
  out.Add("MetadataOptions.HttpTokens", "required");
  out.Add("MetadataOptions.HttpPutResponseHopLimit", "1");
  out.Add("MetadataOptions.HttpEndpoint", "enabled");
  if (options.metadata_tags) out.Add("MetadataOptions.InstanceMetadataTags", "enabled");
  AddMarket(request.ask, &out);
  AddDisks(options.disks, &out);
  AddTags(tags, request.ask.market == kSpot, &out);
  out.Add("UserData", Base64(user_data));
  return out.Take();
}

std::string PlacementGroupName(const LaunchRequest& request) {
  return "stoker-" + request.ledger_id + "-" + request.job + "-" + request.ask.place.zone;
}

Params CreatePlacementGroup(const LaunchRequest& request) {
  const std::string tag = "TagSpecification.1.Tag.";
  return {{"GroupName", PlacementGroupName(request)},
          {"Strategy", kCluster},
          {"TagSpecification.1.ResourceType", "placement-group"},
          {tag + "1.Key", kLedgerTag},
          {tag + "1.Value", request.ledger_id},
          {tag + "2.Key", kJobTag},
          {tag + "2.Value", request.job}};
}

Params DescribeInstances(const std::string& ledger_id, const std::string& job,
                         const std::string& token, const std::string& next) {
  Writer out;
  out.Filter(std::string("tag:") + kLedgerTag, {ledger_id});
  if (!job.empty()) out.Filter(std::string("tag:") + kJobTag, {job});
  if (!token.empty()) out.Filter(std::string("tag:") + kTokenTag, {token});
  out.Add("MaxResults", "1000");
  if (!next.empty()) out.Add("NextToken", next);
  return out.Take();
}

Params DescribeOne(const std::string& instance_id, const std::string& next) {
  Writer out;
  out.Filter("instance-id", {instance_id});
  out.Filter("tag-key", {kLedgerTag});
  if (!next.empty()) out.Add("NextToken", next);
  return out.Take();
}

std::string GroupName(const std::string& ledger_id) { return "stoker-" + ledger_id; }

}  // namespace stoker::ec2
