// SPDX-License-Identifier: Apache-2.0
// What the reconciler's account may do, and how that is bound. Sources: "Configuring resource-based
// access", "Resource attributes" and "Attribute reference for IAM Conditions" (IAM): a condition
// has twelve logical operators at most, and names objects as "projects/_/buckets/B/objects/O".
#include "base/json.h"
#include "base/text.h"
#include "provider/gce/away/run_parts.h"
#include "provider/gce/gce_rights.h"

namespace stoker::gce {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostRegions = 8;
constexpr char kTitle[] = "stoker";

// Launches, ends and changes machines that are called as stoker calls them, in those regions alone;
// the same of secrets. Other kinds of things have no name that tells whose they are.
std::string OnMachines(const Bound& bound) {
  std::vector<std::string> regions;
  for (const std::string& region : bound.regions) {
    regions.push_back("resource.name.extract(\"zones/{zone}/\").startsWith(\"" + region + "-\")");
  }
  return "(resource.type != \"compute.googleapis.com/Instance\" || "
         "(resource.name.extract(\"instances/{name}\").startsWith(\"stoker-\") && (" +
         Join(regions, " || ") +
         "))) && (resource.type != \"secretmanager.googleapis.com/Secret\" || "
         "resource.name.extract(\"secrets/{name}\").startsWith(\"stoker-\"))";
}

std::string OnStore(const std::string& url) {
  const std::string rest = url.substr(std::string("gs://").size());
  const size_t slash = rest.find('/');
  const std::string bucket = "projects/_/buckets/" + rest.substr(0, slash);
  std::string prefix = slash == std::string::npos ? "" : rest.substr(slash + 1);
  if (!prefix.empty() && !EndsWith(prefix, "/")) prefix += "/";
  return "resource.name == \"" + bucket + "\" || resource.name.startsWith(\"" + bucket +
         "/objects/" + prefix + "\")";
}

bool IsOf(const Json& member, const std::string& email) {
  if (!member.is_string()) return false;
  const auto text = member.get<std::string>();
  return text == "serviceAccount:" + email ||
         StartsWith(text, "deleted:serviceAccount:" + email + "?");
}

}  // namespace

Result<std::vector<RunRole>> RunRoles(const RunNames& names, const Bound& bound,
                                      const std::string& store_url) {
  if (bound.regions.size() > kMostRegions) {
    return Status(
        Code::kInvalid,
        "more regions than a condition of IAM takes: " + std::to_string(bound.regions.size()) +
            " (" + std::to_string(kMostRegions) + " at most)",
        "Name fewer: --region");
  }
  const std::string strange = "\"\\";
  for (const std::string& text : {store_url, Join(bound.regions, "")}) {
    if (Printable(text) != text || text.find_first_of(strange) != std::string::npos) {
      return Status(Code::kInvalid, "a condition of IAM cannot name " + Printable(text));
    }
  }
  return std::vector<RunRole>{{names.role, "stoker away", GceAwayPermissions(), OnMachines(bound)},
                              {names.store_role,
                               "stoker away store",
                               {"storage.objects.create", "storage.objects.delete",
                                "storage.objects.get", "storage.objects.list"},
                               OnStore(store_url)}};
}

Result<std::string> WithBindings(const std::string& text, const std::string& email,
                                 const std::vector<Binding>& bindings) {
  Json policy = Json::parse(text, nullptr, false);
  if (!policy.is_object()) return Status(Code::kCorrupt, "the answer is no policy of IAM");
  const Json before = policy.contains("bindings") ? policy["bindings"] : Json::array();
  if (!before.is_array()) return Status(Code::kCorrupt, "the answer is no policy of IAM");
  Json after = Json::array();
  for (Json one : before) {
    Json rest = Json::array();
    if (one.is_object() && one.contains("members") && one["members"].is_array()) {
      for (const Json& member : one["members"]) {
        if (!IsOf(member, email)) rest.push_back(member);
      }
      if (rest.empty() && !one["members"].empty()) continue;
      one["members"] = rest;
    }
    after.push_back(one);
  }
  for (const Binding& binding : bindings) {
    Json one = {{"role", binding.role}, {"members", {"serviceAccount:" + email}}};
    if (!binding.condition.empty()) {
      one["condition"] = {{"title", kTitle}, {"expression", binding.condition}};
    }
    after.push_back(one);
  }
  if (after == before) return std::string();
  policy["bindings"] = after;
  return policy.dump();
}

}  // namespace stoker::gce
