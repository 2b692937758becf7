// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_placement.h"

#include <algorithm>

#include "base/digest.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/text.h"
#include "provider/gce/compute_api.h"
#include "provider/gce/gce_errors.h"
#include "provider/gce/gce_options.h"
#include "provider/gce/gce_request.h"

namespace stoker::gce {
namespace {

using Body = nlohmann::ordered_json;

constexpr size_t kHashed = 16;
constexpr size_t kMostDescription = 16 << 10;
constexpr size_t kMostPage = 32 << 20;

std::string WordOf(const Body& object, const char* name) {
  if (!object.is_object()) return "";
  const auto at = object.find(name);
  return at == object.end() || !at->is_string() ? "" : at->get<std::string>();
}

// No name of a VM ends in a letter.
std::string NameOf(const Policy& policy) {
  const std::string whose = policy.ledger_id + "/" + policy.job + "/" + policy.zone;
  return "stoker-" + policy.job + "-" + Sha256Hex(whose).substr(0, kHashed) + "-n";
}

std::string Encoded(const Policy& policy) {
  const Body whose = {
      {"stoker-ledger", policy.ledger_id}, {"stoker-job", policy.job}, {"zone", policy.zone}};
  return whose.dump(-1, ' ', false, Body::error_handler_t::replace);
}

bool IsNoSuchThing(const Failure& failure) { return failure.status == 404; }

}  // namespace

Policy PolicyOf(const LaunchRequest& request) {
  Policy policy{"", request.ledger_id, request.job, request.ask.place.zone};
  policy.name = NameOf(policy);
  return policy;
}

// Without vmCount: a policy that has one works for that many VMs alone, and a node that is replaced
// comes by itself.
std::string PolicyBody(const Policy& policy) {
  const Body body = {{"name", policy.name},
                     {"description", Encoded(policy)},
                     {"groupPlacementPolicy", {{"collocation", "COLLOCATED"}}}};
  return body.dump();
}

// Anybody in the project may have written the description.
std::optional<Policy> OwnPolicy(const std::string& region, const std::string& name,
                                const std::string& description) {
  const auto told = json::ParseObject("description", description, kMostDescription);
  if (!told.ok()) return std::nullopt;
  Policy policy{name, WordOf(*told, "stoker-ledger"), WordOf(*told, "stoker-job"),
                WordOf(*told, "zone")};
  if (policy.ledger_id.empty() || policy.name != NameOf(policy)) return std::nullopt;
  const bool safe = IsSafeName(policy.name) && IsSafeName(policy.zone);
  if (!safe || RegionOf(policy.zone) != region) return std::nullopt;
  return policy;
}

std::string RegionOf(const std::string& zone) { return zone.substr(0, zone.rfind('-')); }

std::string PoliciesPath(const std::string& project, const std::string& region) {
  return "projects/" + project + "/regions/" + region + "/resourcePolicies";
}

// What Google's own cluster toolkit refuses (valid_placement_node in its resume.py), and the oldest
// ones.
bool TakesPlacement(const std::string& type) {
  constexpr const char* kNone[] = {"e2", "f1", "g1", "m1", "m2", "m3", "n1", "t2a", "t2d"};
  const std::string family = type.substr(0, type.find('-'));
  return std::find(std::begin(kNone), std::end(kNone), family) == std::end(kNone);
}

Result<std::optional<Refusal>> MakePolicy(ComputeApi& api, const LaunchRequest& request) {
  const Place& place = request.ask.place;
  const Policy policy = PolicyOf(request);
  if (!IsSafeName(place.region) || policy.name.size() > kMostName) {
    Refusal refusal;
    refusal.what = RefusalClass::kInvalid;
    refusal.scope = RefusalScope::kRequest;
    refusal.message = "no placement policy of Google can have the name " + Printable(policy.name);
    return std::optional(std::move(refusal));
  }
  const Call call{"POST", PoliciesPath(place.account, place.region), {}, PolicyBody(policy)};
  STOKER_ASSIGN(const Reply reply, api.Repeat(call));
  if (reply.failure) {
    if (IsThere(*reply.failure)) return std::optional<Refusal>();
    if (auto refusal = RefusalOf(*reply.failure)) return std::optional(*std::move(refusal));
    return StatusOf(Described(call), *reply.failure);
  }
  STOKER_ASSIGN(Operation operation, ParseOperation(reply.body));
  if (!operation.done && IsLabelValue(operation.name)) {
    // Google answers once it is done, which takes it a second. What asks for a policy that is not
    // ready yet is refused, and asked for again.
    const std::string path = "projects/" + place.account + "/regions/" + place.region +
                             "/operations/" + operation.name + "/wait";
    STOKER_ASSIGN(const Reply waited, api.Repeat({"POST", path}));
    if (waited.failure) return StatusOf("waiting for a placement policy", *waited.failure);
    STOKER_ASSIGN(operation, ParseOperation(waited.body));
  }
  if (operation.errors.empty() || IsThere(operation.errors.front())) {
    return std::optional<Refusal>();
  }
  return std::optional(RefusalOfOperation(operation.errors));
}

// That a VM has it is said at once (GoogleCloudPlatform/slurm-gcp#117).
Status DeletePolicy(ComputeApi& api, const std::string& project, const std::string& region,
                    const std::string& name) {
  const Call call{"DELETE", PoliciesPath(project, region) + "/" + name};
  STOKER_ASSIGN(const Reply reply, api.Repeat(call));
  if (!reply.failure || IsNoSuchThing(*reply.failure)) return Status::Ok();
  return StatusOf(Described(call), *reply.failure);
}

Result<std::vector<Policy>> ListPolicies(ComputeApi& api, const std::string& project,
                                         const std::string& region, const std::string& ledger_id) {
  std::vector<Policy> out;
  Query query = {{"maxResults", "500"}, {"fields", "items(name,description),nextPageToken"}};
  for (int page = 0; page < kMostPages; ++page) {
    STOKER_ASSIGN(const std::string body, api.Read({"GET", PoliciesPath(project, region), query}));
    STOKER_ASSIGN(const Body told, json::ParseObject("resource policies", body, kMostPage));
    for (const Body& item : told.value("items", Body::array())) {
      auto own = OwnPolicy(region, WordOf(item, "name"), WordOf(item, "description"));
      if (own && own->ledger_id == ledger_id) out.push_back(*std::move(own));
    }
    const std::string next = WordOf(told, "nextPageToken");
    if (next.empty()) return out;
    if (query.back().first != "pageToken") query.emplace_back("pageToken", "");
    query.back().second = next;
  }
  return Status(Code::kCorrupt, "the list of resource policies of " + project + " has no end");
}

}  // namespace stoker::gce
