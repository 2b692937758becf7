// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_request.h"

#include <openssl/evp.h>

#include <array>

#include "base/digest.h"
#include "base/json.h"
#include "base/text.h"
#include "provider/cloud/cloud_launch.h"
#include "provider/gce/gce_boot_scripts.h"
#include "provider/gce/gce_placement.h"

namespace stoker::gce {
namespace {

using Body = nlohmann::ordered_json;

constexpr size_t kTokenPart = 32;
constexpr size_t kMostToken = 95;
constexpr size_t kMostLabels = 64;
constexpr size_t kMostMetadata = 256 << 10;
constexpr int kArmedLeases = 7;  // a week of leases of a day

// Of stoker's own, drawn once.
constexpr std::array<unsigned char, 16> kNamespace = {
    0x5a, 0x1d, 0x9c, 0x02, 0x7f, 0x3e, 0x4b, 0x61, 0x9d, 0x0a, 0x2c, 0x88, 0x41, 0xe7, 0xb5, 0x36};

Body LabelsOf(const LaunchRequest& request, const Options& options) {
  Body labels = {{kLedgerLabel, request.ledger_id},
                 {kJobLabel, request.job},
                 {kTokenLabel, request.token.substr(0, kTokenPart)},
                 {kLaunchesLabel, cloud::EncodeLaunches(request.launches, '_', kMostName)},
                 {kExpiresLabel, std::to_string(cloud::FirstExpiry(request).ms / 1000)}};
  if (request.token.size() > kTokenPart) {
    labels[kTokenRestLabel] = request.token.substr(kTokenPart);
  }
  for (const Label& label : options.labels) labels[label.key] = label.value;
  return labels;
}

Body SecondsOf(Duration time) { return {{"seconds", std::to_string(time.ms / 1000)}}; }

Body SchedulingOf(const LaunchRequest& request, const Options& options, const Try& attempt) {
  const bool spot = request.ask.market == kSpot;
  const bool stays = spot || options.gpus > 0 || !options.placement.empty();
  Body out = {
      {"provisioningModel", spot ? "SPOT" : "STANDARD"},
      {"automaticRestart", !spot},
      // What has a GPU, or a compact policy, cannot be moved while it runs, and spot is not.
      {"onHostMaintenance", stays ? "TERMINATE" : "MIGRATE"},
      // At a preemption, and at its time. What is not spot is stopped by nothing of that
      // but its time, at which it is to end.
      {"instanceTerminationAction", spot && options.restart ? "STOP" : "DELETE"},
      {"terminationTime", FormatRfc3339(ArmedEnd(request))}};
  if (spot && attempt.notice) out["preemptionNoticeDuration"] = SecondsOf(kPreemptionNotice);
  return out;
}

Body MetadataOf(const LaunchRequest& request, const Options& options, const std::string& startup,
                const Try& attempt) {
  Body items = Body::array();
  const auto add = [&](const char* key, const std::string& value) {
    items.push_back({{"key", key}, {"value", value}});
  };
  add("startup-script", startup);
  add("shutdown-script", kShutdownScript);
  add(kJobKey, request.job);
  add("enable-guest-attributes", "TRUE");  // for what it says where it cannot begin
  for (const Label& each : options.attributes) {
    const bool known = each.key == kHyperparametersKey || each.key == kInputsKey;
    if (known) add(each.key.c_str(), each.value);
  }
  if (request.ask.market == kSpot && attempt.notice) {
    add(kNoticeKey, std::to_string(kPreemptionNotice.ms / 1000));
  }
  if (options.restart) add(kRestartKey, "true");
  if (options.gpus > 0) {
    add(kGpusKey, std::to_string(options.gpus));
    // Images for deep learning ask for this at their first boot.
    add("install-nvidia-driver", "True");
  }
  return {{"items", items}};
}

// Names of things of the zone: of a bulk they stand alone.
std::string InZone(const LaunchRequest& request, const char* kind, const std::string& name) {
  if (request.launches.size() > 1) return name;
  const Place& place = request.ask.place;
  return "projects/" + place.account + "/zones/" + place.zone + "/" + kind + "/" + name;
}

Body PropertiesOf(const LaunchRequest& request, const Options& options, const std::string& startup,
                  const Try& attempt) {
  Body disk = {{"sourceImage", request.ask.image}};
  if (!options.disk_type.empty())
    disk["diskType"] = InZone(request, "diskTypes", options.disk_type);
  if (options.disk_gib > 0) disk["diskSizeGb"] = std::to_string(options.disk_gib);
  const Body labels = LabelsOf(request, options);
  disk["labels"] = labels;
  Body network = Body::object();
  if (!options.network.empty()) network["network"] = options.network;
  if (!options.subnetwork.empty()) network["subnetwork"] = options.subnetwork;
  if (options.external_ip) {
    network["accessConfigs"] =
        Body::array({{{"type", "ONE_TO_ONE_NAT"}, {"name", "External NAT"}}});
  }
  Body out = {
      {"machineType", InZone(request, "machineTypes", request.ask.type)},
      {"labels", labels},
      {"disks", Body::array({{{"boot", true}, {"autoDelete", true}, {"initializeParams", disk}}})},
      {"networkInterfaces", Body::array({network})},
      {"metadata", MetadataOf(request, options, startup, attempt)},
      {"scheduling", SchedulingOf(request, options, attempt)}};
  if (!options.placement.empty()) {
    const std::string name = PolicyOf(request).name;
    const Place& place = request.ask.place;
    // Of a bulk: "names, not URLs".
    const bool bulk = request.launches.size() > 1;
    const std::string path = PoliciesPath(place.account, place.region) + "/" + name;
    out["resourcePolicies"] = Body::array({bulk ? name : path});
  }
  if (!options.service_account.empty()) {
    // What it may is said by its roles; scopes are for accounts that are not one's own.
    out["serviceAccounts"] = Body::array(
        {{{"email", options.service_account},
          {"scopes", Body::array({"https://www.googleapis.com/auth/cloud-platform"})}}});
  }
  if (options.accelerators > 0) {
    out["guestAccelerators"] =
        Body::array({{{"acceleratorType", InZone(request, "acceleratorTypes", options.accelerator)},
                      {"acceleratorCount", options.accelerators}}});
  }
  return out;
}

Status CheckEntry(const LaunchRequest& request, const Options& options) {
  if (!IsSafeName(request.token) || !IsLabelValue(request.token.substr(0, kTokenPart)) ||
      request.token.size() > kMostToken ||
      !IsLabelValue(request.token.substr(std::min(kTokenPart, request.token.size())))) {
    return Status(Code::kInvalid, "not a launch token: " + Printable(request.token));
  }
  const auto& launches = request.launches;
  const int last = static_cast<int>(launches.size()) - 1;
  if (launches.empty() || !IsInstanceName(InstanceName(request, last))) {
    return Status(Code::kInvalid,
                  "no machine of Google can have the name of job " + Printable(request.job));
  }
  if (!IsLabelValue(request.ledger_id)) {
    return Status(Code::kInvalid,
                  "the ledger's id cannot be a label of Google: " + Printable(request.ledger_id));
  }
  for (const Label& label : options.labels) STOKER_TRY(CheckLabel(label.key, label.value));
  if (options.labels.size() + 6 > kMostLabels) {
    return Status(Code::kInvalid, "more labels than Google takes",
                  "At most " + std::to_string(kMostLabels - 6));
  }
  return Status::Ok();
}

}  // namespace

std::string InstanceName(const LaunchRequest& request, int index) {
  return "stoker-" + request.job + "-" + Sha256Hex(request.token).substr(0, 16) + "-" +
         std::to_string(index);
}

bool IsNamedByRequest(const InstanceSeen& seen) {
  LaunchRequest its;
  its.job = seen.job;
  its.token = seen.token;
  return InstanceName(its, seen.index) == seen.id;
}

bool IsInstanceName(const std::string& name) {
  return StartsWith(name, "stoker-") && name.size() <= kMostName && IsLabelKey(name) &&
         name.find('_') == std::string::npos && IsDigit(name.back());
}

std::string UuidOf(std::string_view text) {
  std::string input(kNamespace.begin(), kNamespace.end());
  input += text;
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(input.data(), input.size(), digest, &size, EVP_sha1(), nullptr);
  digest[6] = static_cast<unsigned char>((digest[6] & 0x0f) | 0x50);
  digest[8] = static_cast<unsigned char>((digest[8] & 0x3f) | 0x80);
  const std::string hex = HexOf({reinterpret_cast<const char*>(digest), 16});
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" +
         hex.substr(16, 4) + "-" + hex.substr(20);
}

std::string RequestId(const LaunchRequest& request, const Try& attempt) {
  return UuidOf(request.token + "/" + std::to_string(attempt.number) +
                (attempt.notice ? "" : "/plain"));
}

std::string DeleteId(const std::string& name, WallTime now) {
  const std::string own = kDeleteIds;
  return own + UuidOf(name + "/" + std::to_string(now.ms)).substr(own.size());
}

WallTime ArmedEnd(const LaunchRequest& request) {
  return request.not_after + request.limit * kArmedLeases;
}

std::string LaunchMethod(const LaunchRequest& request) {
  return request.launches.size() > 1 ? "instances/bulkInsert" : "instances";
}

Result<std::string> LaunchBody(const LaunchRequest& request, const Options& options,
                               const std::string& startup, const Try& attempt) {
  STOKER_TRY(CheckEntry(request, options));
  if (startup.size() > kMostMetadata) {
    return Status(Code::kInvalid, "the start-up script is larger than Google takes",
                  "Use fewer nodes in one job");
  }
  Body properties = PropertiesOf(request, options, startup, attempt);
  Body body;
  if (request.launches.size() == 1) {
    body = {{"name", InstanceName(request, 0)}};
    body.update(properties);
  } else {
    const std::string count = std::to_string(request.launches.size());
    Body names = Body::object();
    for (size_t i = 0; i < request.launches.size(); ++i) {
      names[InstanceName(request, static_cast<int>(i))] = Body::object();
    }
    body = {{"count", count},
            {"minCount", count},  // all or none
            {"perInstanceProperties", names},
            {"instanceProperties", properties}};
  }
  return body.dump(-1, ' ', false, Body::error_handler_t::replace);
}

Result<std::string> InstancesFilter(const std::string& ledger_id, const std::string& job) {
  // What stands in a filter ends in an expression.
  if (!IsLabelValue(ledger_id) || !IsLabelValue(job)) {
    return Status(Code::kInvalid, "not a label: " + Printable(ledger_id + " " + job));
  }
  std::string filter = std::string("labels.") + kLedgerLabel + " = \"" + ledger_id + "\"";
  if (!job.empty()) filter += std::string(" AND labels.") + kJobLabel + " = \"" + job + "\"";
  return filter;
}

}  // namespace stoker::gce
