// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_catalog.h"

#include <algorithm>
#include <functional>

#include "base/json.h"
#include "base/json_depth.h"
#include "base/letter_case.h"
#include "base/text.h"

namespace stoker::gce {
namespace {

using Tree = nlohmann::json;

constexpr int kMostCatalogPages = 200;
constexpr int kDeepest = 32;

Result<Tree> TreeOf(const std::string& what, const std::string& text) {
  Tree tree;
  if (!NestedDeeper(text, kDeepest)) tree = Tree::parse(text, nullptr, false);
  if (tree.is_object()) return tree;
  return Status(Code::kCorrupt, what + ": the answer is no JSON object");
}

std::string Word(const Tree& tree, const char* name) {
  if (!tree.is_object()) return "";
  const auto at = tree.find(name);
  if (at == tree.end()) return "";
  if (at->is_string()) return Printable(CutText(at->get<std::string>(), 300));
  return at->is_number_integer() ? std::to_string(at->get<int64_t>()) : "";
}

// Numbers of 64 bits are texts in this API.
int64_t Number(const Tree& tree, const char* name) {
  return WholeNumber(Word(tree, name), 0, int64_t{1} << 50).value_or(0);
}

bool IsTrue(const Tree& tree, const char* name) {
  const auto at = tree.is_object() ? tree.find(name) : tree.end();
  return at != tree.end() && at->is_boolean() && at->get<bool>();
}

// Of all pages.
Status EachItem(ComputeApi& api, const std::string& path, const std::string& fields,
                const std::function<void(const Tree&)>& take) {
  std::string next;
  for (int page = 0; page < kMostCatalogPages; ++page) {
    Call call{"GET", path, {{"maxResults", "500"}, {"fields", fields + ",nextPageToken"}}};
    if (!next.empty()) call.query.emplace_back("pageToken", next);
    STOKER_ASSIGN(const std::string body, api.Read(call));
    STOKER_ASSIGN(const Tree tree, TreeOf(Described(call), body));
    if (const auto items = tree.find("items"); items != tree.end() && items->is_array()) {
      for (const Tree& item : *items) take(item);
    }
    const auto token = tree.find("nextPageToken");
    next = token != tree.end() && token->is_string() ? token->get<std::string>() : "";
    if (next.empty()) return Status::Ok();
  }
  return Status(Code::kCorrupt, path + ": the list has no end");
}

bool IsGone(const Tree& item) {
  const auto at = item.is_object() ? item.find("deprecated") : item.end();
  const std::string state = at == item.end() ? "" : Word(*at, "state");
  return state == "OBSOLETE" || state == "DELETED";
}

MachineType TypeOf(const Tree& item) {
  MachineType type;
  type.name = Word(item, "name");
  type.cpus = Number(item, "guestCpus");
  type.memory_mib = Number(item, "memoryMb");
  type.x86_64 = Word(item, "architecture") != "ARM64";
  type.shared = IsTrue(item, "isSharedCpu");
  const auto brings = item.is_object() ? item.find("accelerators") : item.end();
  if (brings != item.end() && brings->is_array()) {
    for (const Tree& each : *brings) {
      type.gpu = Word(each, "guestAcceleratorType");
      type.gpus += Number(each, "guestAcceleratorCount");
    }
  }
  return type;
}

constexpr char kTypeFields[] =
    "items(name,guestCpus,memoryMb,architecture,isSharedCpu,accelerators,deprecated)";

Image ImageOf(const Tree& tree, const std::string& project) {
  Image image;
  image.path = "projects/" + project + "/global/images/" + Word(tree, "name");
  image.x86_64 = Word(tree, "architecture") != "ARM64";
  image.disk_gib = Number(tree, "diskSizeGb");
  return image;
}

// "PROJECT" and "NAME" of whatever form; `family` is set where the form says so.
struct ImageName {
  std::string project, name;
  bool family = false;
  bool either = false;
};

Result<ImageName> ReadImageName(const std::string& text) {
  const std::vector<std::string> parts = Split(text, '/');
  ImageName out;
  if (parts.size() == 2) {
    out = {parts[0], parts[1], false, true};
  } else if (parts.size() == 5 && parts[3] == "images") {
    out = {parts[1], parts[4], false, false};
  } else if (parts.size() == 6 && parts[4] == "family") {
    out = {parts[1], parts[5], true, false};
  }
  if (IsSafeName(out.project) && IsSafeName(out.name)) return out;
  return Status(Code::kInvalid, "not an image of Google: " + Printable(text),
                "Write PROJECT/NAME, or projects/PROJECT/global/images/family/FAMILY");
}

Status NoImage(ComputeApi& api, const ImageName& wanted) {
  std::vector<std::string> names;
  const Status listed = EachItem(api, "projects/" + wanted.project + "/global/images",
                                 "items(name,family,deprecated)", [&](const Tree& item) {
                                   if (IsGone(item)) return;
                                   if (!wanted.family) names.push_back(Word(item, "name"));
                                   names.push_back(Word(item, "family"));
                                 });
  const std::string what = wanted.family ? "no family of images " : "no image or family ";
  const Status none(Code::kInvalid,
                    "there is " + what + "'" + wanted.name + "' in the project " + wanted.project);
  if (!listed.ok()) return none;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const std::string near = Nearest(wanted.name, names);
  return Status(Code::kInvalid, none.message(),
                near.empty() ? "See: gcloud compute images list --project " + wanted.project
                             : "Did you mean " + near + "?");
}

}  // namespace

std::string KindName(const std::string& accelerator) {
  std::string name = accelerator;
  for (const char* prefix : {"nvidia-", "tesla-"}) {
    if (StartsWith(name, prefix)) name = name.substr(std::string(prefix).size());
  }
  return UpperCase(name);
}

bool IsKind(const std::string& accelerator, const std::string& wanted) {
  const std::string kind = LowerCase(KindName(accelerator));
  const std::string name = LowerCase(wanted);
  if (kind == name || LowerCase(accelerator) == name) return true;
  // There is one H100 and one H200, and two A100.
  return name != "a100" && StartsWith(kind, name + "-") && EndsWith(kind, "gb");
}

Result<std::vector<std::string>> Regions(ComputeApi& api, const std::string& project) {
  std::vector<std::string> out;
  STOKER_TRY(EachItem(api, "projects/" + project + "/regions", "items(name)",
                      [&](const Tree& item) { out.push_back(Word(item, "name")); }));
  return out;
}

Result<std::vector<std::string>> Zones(ComputeApi& api, const std::string& project,
                                       const std::string& region) {
  const Call call{"GET", "projects/" + project + "/regions/" + region, {{"fields", "name,zones"}}};
  STOKER_ASSIGN(const std::string body, api.Read(call));
  STOKER_ASSIGN(const Tree tree, TreeOf(Described(call), body));
  std::vector<std::string> out;
  if (const auto zones = tree.find("zones"); zones != tree.end() && zones->is_array()) {
    for (const Tree& zone : *zones) {
      if (zone.is_string()) out.push_back(LastPart(Printable(zone.get<std::string>())));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::vector<MachineType>> Types(ComputeApi& api, const std::string& project,
                                       const std::string& zone) {
  std::vector<MachineType> out;
  STOKER_TRY(EachItem(api, "projects/" + project + "/zones/" + zone + "/machineTypes", kTypeFields,
                      [&](const Tree& item) {
                        if (!IsGone(item)) out.push_back(TypeOf(item));
                      }));
  return out;
}

Result<std::vector<MachineType>> ParseTypes(const std::string& json, std::string* next) {
  STOKER_ASSIGN(const Tree tree, TreeOf("a list of types", json));
  std::vector<MachineType> out;
  if (const auto items = tree.find("items"); items != tree.end() && items->is_array()) {
    for (const Tree& item : *items) out.push_back(TypeOf(item));
  }
  *next = Word(tree, "nextPageToken");
  return out;
}

Result<std::vector<Accelerator>> Accelerators(ComputeApi& api, const std::string& project,
                                              const std::string& zone) {
  std::vector<Accelerator> out;
  STOKER_TRY(
      EachItem(api, "projects/" + project + "/zones/" + zone + "/acceleratorTypes",
               "items(name,maximumCardsPerInstance,deprecated)", [&](const Tree& item) {
                 if (IsGone(item)) return;
                 out.push_back({Word(item, "name"), Number(item, "maximumCardsPerInstance")});
               }));
  return out;
}

Result<Image> FindImage(ComputeApi& api, const std::string& text) {
  STOKER_ASSIGN(const ImageName wanted, ReadImageName(text));
  const std::string base = "projects/" + wanted.project + "/global/images/";
  std::vector<std::string> paths;
  if (wanted.either || !wanted.family) paths.push_back(base + wanted.name);
  if (wanted.either || wanted.family) paths.push_back(base + "family/" + wanted.name);
  for (const std::string& path : paths) {
    const Call call{"GET", path, {{"fields", "name,architecture,diskSizeGb"}}};
    const auto body = api.Read(call);
    if (body.status().Is(Code::kNotFound)) continue;
    STOKER_TRY(body.status());
    STOKER_ASSIGN(const Tree tree, TreeOf(Described(call), *body));
    return ImageOf(tree, wanted.project);
  }
  return NoImage(api, wanted);
}

Result<std::string> FindNetwork(ComputeApi& api, const std::string& project,
                                const std::string& name, bool alone) {
  const size_t slash = name.find('/');
  const std::string owner = slash == std::string::npos ? project : name.substr(0, slash);
  const std::string last = slash == std::string::npos ? name : name.substr(slash + 1);
  const std::string path = "projects/" + owner + "/global/networks/" + last;
  const auto body = api.Read({"GET", path, {{"fields", "name,autoCreateSubnetworks"}}});
  if (body.status().Is(Code::kNotFound)) {
    return Status(Code::kInvalid, "there is no network '" + last + "' in the project " + owner,
                  "Make it: gcloud compute networks create " + last +
                      ", or set gcp.network: stoker config set gcp.network NAME");
  }
  STOKER_TRY(body.status());
  STOKER_ASSIGN(const Tree tree, TreeOf(path, *body));
  if (alone && !IsTrue(tree, "autoCreateSubnetworks")) {
    return Status(Code::kInvalid, "the network '" + last + "' has subnetworks of its own choice",
                  "Name one: stoker config set gcp.subnetwork NAME");
  }
  return path;
}

Result<std::string> FindSubnetwork(ComputeApi& api, const std::string& project,
                                   const std::string& region, const std::string& name) {
  const size_t slash = name.find('/');
  const std::string owner = slash == std::string::npos ? project : name.substr(0, slash);
  const std::string last = slash == std::string::npos ? name : name.substr(slash + 1);
  const std::string path = "projects/" + owner + "/regions/" + region + "/subnetworks/" + last;
  const auto body = api.Read({"GET", path, {{"fields", "name"}}});
  if (body.status().Is(Code::kNotFound)) {
    return Status(Code::kInvalid, "there is no subnetwork '" + last + "' in " + region,
                  "Correct it: stoker config set gcp.subnetwork NAME");
  }
  STOKER_TRY(body.status());
  return path;
}

std::string SubnetworkPath(const Options& options, const std::string& region) {
  if (!options.subnetwork.empty()) return options.subnetwork;
  constexpr std::string_view kMark = "/global/networks/";
  std::string path = options.network;
  const size_t at = path.find(kMark);
  if (at == std::string::npos) return path;
  return path.replace(at, kMark.size(), "/regions/" + region + "/subnetworks/");
}

Result<Subnetwork> ReadSubnetwork(ComputeApi& api, const std::string& path) {
  const Call call{"GET", path, {{"fields", "name,network,ipCidrRange,privateIpGoogleAccess"}}};
  STOKER_ASSIGN(const std::string body, api.Read(call));
  STOKER_ASSIGN(const Tree tree, TreeOf(Described(call), body));
  const std::string url = Word(tree, "network");
  const size_t at = url.find("projects/");
  return Subnetwork{Word(tree, "name"), at == std::string::npos ? "" : url.substr(at),
                    Word(tree, "ipCidrRange"), IsTrue(tree, "privateIpGoogleAccess")};
}

}  // namespace stoker::gce
