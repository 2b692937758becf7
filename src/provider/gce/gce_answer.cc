// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_answer.h"

#include <algorithm>

#include "base/json_depth.h"
#include "base/json_fields.h"
#include "base/text.h"
#include "provider/cloud/cloud_launch.h"
#include "provider/gce/gce_options.h"
#include "provider/gce/gce_request.h"

namespace stoker::gce {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostMessage = 400;
constexpr size_t kMostWord = 200;
constexpr int kMostIndex = 100'000;

Json Parsed(const std::string& text) {
  if (NestedDeeper(text, json::kMaxDepth)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

// "" = it has no such text.
std::string Text(const Json& object, const char* name, size_t most = kMostWord) {
  if (!object.is_object()) return "";
  const auto at = object.find(name);
  if (at == object.end() || !at->is_string()) return "";
  return Printable(CutText(at->get<std::string>(), most));
}

const Json& Member(const Json& object, const char* name) {
  static const Json kNone;
  if (!object.is_object()) return kNone;
  const auto at = object.find(name);
  return at == object.end() ? kNone : *at;
}

// Nothing of what is no list.
const Json& ListOf(const Json& object, const char* name) {
  static const Json kEmpty = Json::array();
  const Json& list = Member(object, name);
  return list.is_array() ? list : kEmpty;
}

int StatusOfJson(const Json& object, const char* name) {
  const Json& value = Member(object, name);
  return value.is_number_integer() ? static_cast<int>(value.get<int64_t>() % 1000) : 0;
}

WallTime Time(const Json& object, const char* name) {
  const auto time = ParseRfc3339(Text(object, name));
  return time.ok() ? *time : WallTime();
}

Operation OperationOf(const Json& json) {
  Operation out;
  out.name = Text(json, "name");
  out.request_id = Text(json, "clientOperationId");
  out.group = Text(json, "operationGroupId");
  out.type = Text(json, "operationType");
  out.user = Text(json, "user", 300);
  out.done = Text(json, "status") == "DONE";
  out.ended = Time(json, "endTime");
  for (const Json& error : ListOf(Member(json, "error"), "errors")) {
    Failure failure;
    failure.status = StatusOfJson(json, "httpErrorStatusCode");
    failure.code = Text(error, "code", 100);
    failure.message = Text(error, "message", kMostMessage);
    out.errors.push_back(std::move(failure));
  }
  return out;
}

Status NotThat(const char* what) {
  return Status(Code::kCorrupt, std::string("Compute Engine gave something else than ") + what);
}

InstanceState StateOf(const std::string& status) {
  if (status == "RUNNING") return InstanceState::kRunning;
  if (status == "STAGING" || status == "REPAIRING") return InstanceState::kBooting;
  // Its disk costs in all of these; those of the last are there until the next list.
  if (status == "TERMINATED" || status == "STOPPED" || status == "SUSPENDED") {
    return InstanceState::kStopped;
  }
  if (status == "STOPPING" || status == "PENDING_STOP" || status == "SUSPENDING" ||
      status == "DEPROVISIONING") {
    return InstanceState::kStopping;
  }
  return InstanceState::kRequested;
}

// Those of other families are built in, and listed all the same.
std::string AskedType(const std::string& type, const Json& json) {
  if (!StartsWith(type, "n1-")) return type;
  for (const Json& one : ListOf(json, "guestAccelerators")) {
    const auto count = one.find("acceleratorCount");
    const bool counts = count != one.end() && count->is_number_integer();
    return TypeWith(type, LastPart(Text(one, "acceleratorType")),
                    counts ? count->get<int64_t>() : 0);
  }
  return type;
}

Instance InstanceOf(const Json& json, WallTime now) {
  Instance out;
  InstanceSeen& seen = out.seen;
  seen.id = Text(json, "name");
  seen.own_id = Text(json, "id");
  out.zone = LastPart(Text(json, "zone"));
  out.type = LastPart(Text(json, "machineType"));
  seen.type = AskedType(out.type, json);
  out.fingerprint = Text(json, "labelFingerprint");
  for (const Json& policy : ListOf(json, "resourcePolicies")) {
    if (!policy.is_string()) continue;
    out.policies.push_back(LastPart(Printable(CutText(policy.get<std::string>(), kMostMessage))));
  }
  const bool spot = Text(Member(json, "scheduling"), "provisioningModel") == "SPOT";
  out.market = spot ? kSpot : kStandard;
  for (const auto& [key, value] : Member(json, "labels").items()) {
    if (value.is_string()) out.labels[key] = Printable(CutText(value.get<std::string>(), 63));
  }
  const auto label = [&](const char* key) {
    const auto found = out.labels.find(key);
    return found == out.labels.end() ? std::string() : found->second;
  };
  seen.token = label(kTokenLabel) + label(kTokenRestLabel);
  seen.ledger_id = label(kLedgerLabel);
  seen.job = label(kJobLabel);
  const std::string& name = seen.id;
  seen.index =
      static_cast<int>(WholeNumber(name.substr(name.rfind('-') + 1), 0, kMostIndex).value_or(0));
  seen.launch = cloud::LaunchAt(label(kLaunchesLabel), '_', seen.index);
  seen.expires.ms = WholeNumber(label(kExpiresLabel), 0, int64_t{1} << 40).value_or(0) * 1000;
  const std::string status = Text(json, "status");
  seen.state = StateOf(status);
  const Json& interfaces = ListOf(json, "networkInterfaces");
  if (!interfaces.empty()) seen.address = Text(interfaces[0], "networkIP");
  const bool up = seen.state == InstanceState::kBooting || seen.state == InstanceState::kRunning;
  if (!up && seen.state != InstanceState::kRequested) {
    seen.why = Text(json, "statusMessage", kMostMessage);
    if (seen.why.empty()) seen.why = status;
  }
  out.unsure = status == "PROVISIONING" && Time(json, "lastStopTimestamp").ms == 0;
  WallTime since = Time(json, "lastStartTimestamp");
  if (since.ms == 0) since = Time(json, "creationTimestamp");
  if (up && since.ms > 0) seen.up_for = std::max(now - since, Duration());
  return out;
}

// Nobody asked for it: the platform has taken the machine.
bool IsTaking(const std::string& type) {
  for (const char* each : {"preempted", "hostError", "terminateOnHostMaintenance"}) {
    if (type == std::string("compute.instances.") + each) return true;
  }
  return false;
}

}  // namespace

EndedBy EnderOf(const Operation& operation, const std::string& usual_account) {
  if (IsTaking(operation.type)) return EndedBy::kPlatform;
  if (operation.type == "delete") {
    // A VM that an older stoker has made deletes itself under no such id: as its own account.
    const bool own =
        StartsWith(operation.request_id, kDeleteIds) || operation.user == usual_account;
    return own ? EndedBy::kOther : EndedBy::kOwner;
  }
  for (const char* each : {"stop", "suspend", "compute.instances.guestTerminate",
                           "compute.instances.terminateOnSchedule"}) {
    if (operation.type == each) return EndedBy::kOther;
  }
  return EndedBy::kUnknown;
}

std::string LastPart(const std::string& url) { return url.substr(url.rfind('/') + 1); }

Failure ParseFailure(const HttpResponse& answer) {
  Failure out;
  out.status = answer.status;
  const Json json = Parsed(answer.body);
  const Json& error = Member(json, "error");
  out.message = Text(error, "message", kMostMessage);
  const Json& errors = ListOf(error, "errors");
  if (!errors.empty()) out.code = Text(errors[0], "reason", 100);
  for (const Json& detail : ListOf(error, "details")) {
    if (EndsWith(Text(detail, "@type"), "google.rpc.ErrorInfo")) {
      out.detail = Text(detail, "reason", 100);
    }
  }
  if (out.code.empty()) out.code = out.detail;
  return out;
}

Result<Operation> ParseOperation(const std::string& text) {
  const Json json = Parsed(text);
  Operation out = OperationOf(json);
  if (out.name.empty()) return NotThat("an operation");
  return out;
}

Result<std::vector<Operation>> ParseOperations(const std::string& text) {
  const Json json = Parsed(text);
  if (!json.is_object()) return NotThat("a list of operations");
  std::vector<Operation> out;
  for (const Json& item : ListOf(json, "items")) out.push_back(OperationOf(item));
  return out;
}

Result<Instance> ParseInstance(const std::string& text, WallTime now) {
  const Json json = Parsed(text);
  Instance out = InstanceOf(json, now);
  if (out.seen.id.empty()) return NotThat("an instance");
  return out;
}

Result<InstancePage> ParseInstances(const std::string& text, WallTime now) {
  const Json json = Parsed(text);
  if (!json.is_object()) return NotThat("a list of instances");
  InstancePage page;
  page.next = Text(json, "nextPageToken", 4096);
  for (const Json& zone : ListOf(json, "unreachables")) {
    if (zone.is_string()) page.silent.push_back(LastPart(Printable(zone.get<std::string>())));
  }
  const Json& items = Member(json, "items");
  if (!items.is_object()) return page;
  for (const auto& [scope, list] : items.items()) {
    // Any other warning says that there is none, or nothing of it.
    if (Text(Member(list, "warning"), "code") == "UNREACHABLE") {
      page.silent.push_back(LastPart(Printable(scope)));
    }
    for (const Json& item : ListOf(list, "instances")) {
      page.instances.push_back(InstanceOf(item, now));
    }
  }
  return page;
}

Result<std::string> ParseGuestAttributes(const std::string& json) {
  const Json told = Json::parse(json, nullptr, false);
  if (!told.is_object()) return Status(Code::kCorrupt, "not the guest attributes of a VM");
  std::string out;
  for (const Json& item : ListOf(Member(told, "queryValue"), "items")) {
    out += Text(item, "value", kMostMessage) + "\n";
  }
  return out;
}

}  // namespace stoker::gce
