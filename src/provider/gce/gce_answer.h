// SPDX-License-Identifier: Apache-2.0
// What Compute Engine answers, out of its JSON; inside provider/gce only. Pure. Source: discovery
// document of Compute Engine v1 (Operation, Instance, InstanceAggregatedList); "Handling API
// requests and responses", "VM instance lifecycle" (Compute Engine documentation).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "net/http_message.h"
#include "port/provider.h"

namespace stoker::gce {

// What it says that refuses, at once or at the end of an operation; `code` is "" where it says
// nothing that can be read.
struct Failure {
  int status = 0;       // of HTTP
  std::string code;     // "quotaExceeded", "ZONE_RESOURCE_POOL_EXHAUSTED"
  std::string detail;   // of ErrorInfo: "SERVICE_DISABLED"; "" = it does not say
  std::string message;  // printable; cut to a sensible length
};
Failure ParseFailure(const HttpResponse& answer);

struct Operation {
  std::string name;
  std::string request_id;  // clientOperationId
  std::string group;       // of a bulk: what its parts carry, too
  std::string type;        // "insert", "bulkInsert"
  std::string user;        // the e-mail of who asked; "" = the platform
  bool done = false;
  WallTime ended;
  std::vector<Failure> errors;  // it has failed; the first one counts most
};
// kCorrupt: it is none.
Result<Operation> ParseOperation(const std::string& json);
// A list of them, one page.
Result<std::vector<Operation>> ParseOperations(const std::string& json);

struct Instance {
  InstanceSeen seen;
  std::map<std::string, std::string> labels;
  std::string fingerprint;  // of the labels
  std::string zone, type, market;
  std::vector<std::string> policies;  // of resources, by name: placement, schedules
  // It is being made for the first time, and Google may still find that there is no room.
  bool unsure = false;
};
// `now`: by Google's clock. kCorrupt.
Result<Instance> ParseInstance(const std::string& json, WallTime now);

struct InstancePage {
  std::vector<Instance> instances;
  std::vector<std::string> silent;  // zones that did not answer: nothing is known of them
  std::string next;                 // token of the next page; "" = there is none
};
// Of all zones, one page.
Result<InstancePage> ParseInstances(const std::string& json, WallTime now);

// What a VM has written into its guest attributes: the values, a line each. kCorrupt.
Result<std::string> ParseGuestAttributes(const std::string& json);

// The last part of a URL: "us-central1-a" of "https://…/zones/us-central1-a".
std::string LastPart(const std::string& url);

// Who has ended a machine by it; kUnknown: it ends none. `usual_account`: that an older stoker's
// machines act as. Pure.
EndedBy EnderOf(const Operation& operation, const std::string& usual_account);

}  // namespace stoker::gce
