// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/broker/gce_doctor.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/json_depth.h"
#include "base/text.h"
#include "provider/gce/gce_catalog.h"
#include "provider/gce/gce_errors.h"
#include "provider/gce/gce_options.h"
#include "provider/gce/gce_request.h"

namespace stoker {
namespace gce {
namespace {

using Tree = nlohmann::json;

constexpr int kDeepestTold = 32;
// From where Identity-Aware Proxy connects. Source: "Using IAP for TCP forwarding".
constexpr char kProxyRange[] = "35.235.240.0/20";
constexpr int64_t kSshPort = 22;

Tree TreeOf(const std::string& text) {
  if (NestedDeeper(text, kDeepestTold)) return Tree();
  return Tree::parse(text, nullptr, false);
}

std::string TextIn(const Tree& tree, const char* name) {
  const auto at = tree.is_object() ? tree.find(name) : tree.end();
  const bool text = tree.is_object() && at != tree.end() && at->is_string();
  return text ? Printable(CutText(at->get<std::string>(), 300)) : "";
}

void Each(const Tree& tree, const char* list, const std::function<void(const Tree&)>& take) {
  const auto at = tree.is_object() ? tree.find(list) : tree.end();
  if (!tree.is_object() || at == tree.end() || !at->is_array()) return;
  for (const Tree& item : *at) take(item);
}

std::vector<std::string> ListIn(const Tree& tree, const char* list) {
  std::vector<std::string> out;
  Each(tree, list, [&](const Tree& item) {
    if (item.is_string()) out.push_back(item.get<std::string>());
  });
  return out;
}

bool IsSet(const Tree& tree, const char* name) {
  const auto at = tree.is_object() ? tree.find(name) : tree.end();
  return tree.is_object() && at != tree.end() && at->is_boolean() && at->get<bool>();
}

struct Range {
  uint32_t first = 0;
  int bits = 0;
};

std::optional<Range> RangeOf(std::string_view text) {
  const std::vector<std::string> halves = Split(std::string(text), '/');
  const std::vector<std::string> bytes = Split(halves[0], '.');
  if (halves.size() > 2 || bytes.size() != 4) return std::nullopt;
  Range range{0, 32};
  for (const std::string& byte : bytes) {
    const auto value = WholeNumber(byte, 0, 255);
    if (!value) return std::nullopt;
    range.first = range.first << 8 | static_cast<uint32_t>(*value);
  }
  if (halves.size() == 2) {
    const auto bits = WholeNumber(halves[1], 0, 32);
    if (!bits) return std::nullopt;
    range.bits = static_cast<int>(*bits);
  }
  return range;
}

// "22", "20-30"; without any, all are open.
bool Opens(const Tree& allowed, int64_t first, int64_t last) {
  const std::string protocol = TextIn(allowed, "IPProtocol");
  if (protocol != "all" && protocol != "tcp" && protocol != "6") return false;
  const std::vector<std::string> ports = ListIn(allowed, "ports");
  return ports.empty() || std::any_of(ports.begin(), ports.end(), [&](const std::string& each) {
           const size_t dash = each.find('-');
           const auto low = WholeNumber(each.substr(0, dash), 0, 65535);
           const auto high =
               dash == std::string::npos ? low : WholeNumber(each.substr(dash + 1), 0, 65535);
           return low && high && *low <= first && *high >= last;
         });
}

struct Opening {
  std::string from;
  int64_t first, last;
};

bool LetsIn(const Tree& rule, const std::string& account, const Opening& wanted) {
  const std::vector<std::string> accounts = ListIn(rule, "targetServiceAccounts");
  const bool ours =
      ListIn(rule, "targetTags").empty() &&
      (accounts.empty() || std::find(accounts.begin(), accounts.end(), account) != accounts.end());
  if (!ours || IsSet(rule, "disabled") || TextIn(rule, "direction") == "EGRESS") return false;
  const std::vector<std::string> from = ListIn(rule, "sourceRanges");
  const bool reaches = std::any_of(
      from.begin(), from.end(), [&](const std::string& each) { return LiesIn(wanted.from, each); });
  bool opens = false;
  Each(rule, "allowed",
       [&](const Tree& each) { opens = opens || Opens(each, wanted.first, wanted.last); });
  return reaches && opens;
}

// In the words of the table, as if a machine had been asked for.
std::string QuotaWords(const std::string& metric, const std::string& region) {
  const std::string where = region.empty() ? "globally" : "in region " + region;
  const auto refusal = RefusalOf(
      {403, "QUOTA_EXCEEDED", "", "Quota '" + metric + "' exceeded.  Limit: 0.0 " + where + "."});
  return refusal ? refusal->message : "";
}

class Doctor {
 public:
  Doctor(ComputeApi& api, const GceWish& wish) : api_(api), wish_(wish) {}

  std::vector<Finding> Examine() {
    if (!Project()) return std::move(findings_);
    Region();
    if (Machines()) Network();
    NotTried();
    return std::move(findings_);
  }

 private:
  void Add(const std::string& what, const char* level, const std::string& text) {
    findings_.push_back({what, level, text});
  }
  void AddAll(std::vector<Finding> all) {
    for (Finding& each : all) findings_.push_back(std::move(each));
  }
  // Whoever may not read something hears what that leaves unknown, and goes on.
  void AddTrouble(const std::string& what, const Status& status, const std::string& unknown) {
    if (status.Is(Code::kDenied)) return Add(what, "note", unknown + ": " + status.ToString());
    Add(what, "bad", status.ToString());
  }

  // Credentials, the API and billing: without them nothing else is answered.
  bool Project() {
    if (wish_.project.empty()) {
      Add("project", "bad",
          "no project of Google is set. Set it: stoker config set gcp.project PROJECT, or "
          "GOOGLE_CLOUD_PROJECT");
      return false;
    }
    const auto reply =
        api_.Repeat({"GET", "projects/" + wish_.project, {{"fields", "name,quotas"}}});
    if (!reply.ok()) {
      Add("credentials", "bad", reply.status().ToString());
      return false;
    }
    if (!reply->failure) {
      Add("project", "ok", wish_.project + ": its credentials are taken, its API is enabled");
      AddAll(TellQuotas(reply->body, ""));
      return true;
    }
    const Status why = StatusOf("the project " + wish_.project, *reply->failure);
    // That right alone may lack; what keeps everybody out has a row of its own.
    const bool only_this =
        reply->failure->message.find("compute.projects.get") != std::string::npos;
    Add("project", only_this ? "note" : "bad",
        only_this ? "quotas of all regions together are not known: " + why.ToString()
                  : why.ToString());
    return only_this;
  }

  void Region() {
    if (wish_.region.empty()) return;  // said below
    const auto body = api_.Read({"GET",
                                 "projects/" + wish_.project + "/regions/" + wish_.region,
                                 {{"fields", "name,quotas"}}});
    // A misspelt name is said below, with the nearest.
    if (body.status().Is(Code::kNotFound)) return;
    if (!body.ok()) {
      return AddTrouble("quotas", body.status(), "quotas of " + wish_.region + " are not known");
    }
    AddAll(TellQuotas(*body, wish_.region));
  }

  // The usual machine, resolved as a job's is: types, zones, image, network.
  bool Machines() {
    GceWish wish = wish_;
    wish.spot = true;
    wish.say = nullptr;
    const auto offers = ResolveGce(api_, wish);
    if (!offers.ok()) {
      Add("machines", "bad", offers.status().ToString());
      return false;
    }
    std::vector<std::string> zones;
    for (const Offer& offer : *offers) zones.push_back(offer.ask.place.zone);
    Add("machines", "ok", offers->front().ask.type + " in " + Join(zones, ", "));
    Add("spot", "ok",
        "every project may ask for it; it counts against PREEMPTIBLE_CPUS where the project was "
        "given some, else against CPUS");
    const auto options = ParseOptions(offers->front().ask.options);
    if (options.ok()) options_ = *options;
    return true;
  }

  void Network() {
    const auto there = ReadSubnetwork(api_, SubnetworkPath(options_, wish_.region));
    if (!there.ok()) {
      return AddTrouble("subnetwork", there.status(), "the subnetwork is not known");
    }
    const std::string& name = there->name;
    if (wish_.external_ip) {
      Add("subnetwork", "ok", name + ": machines get external addresses");
    } else if (there->private_access) {
      Add("subnetwork", "ok",
          name +
              " has Private Google Access: machines without external addresses reach the "
              "bucket. What programs fetch from elsewhere needs Cloud NAT, which is not looked "
              "at");
    } else {
      Add("subnetwork", "bad",
          "gcp.external_ip is false, and " + name +
              " has no Private Google Access, so machines reach no bucket. Switch it on: gcloud "
              "compute networks subnets update " +
              name + " --region " + wish_.region + " --enable-private-ip-google-access");
    }
    Firewall(*there);
  }

  void Firewall(const Subnetwork& subnetwork) {
    const std::string& network = subnetwork.network;
    const std::string owner = network.substr(0, network.find("/global/"));
    const auto body =
        api_.Read({"GET",
                   owner + "/global/firewalls",
                   {{"maxResults", "500"},
                    {"fields",
                     "items(name,network,direction,disabled,allowed,sourceRanges,targetTags,"
                     "targetServiceAccounts),nextPageToken"}}});
    if (!body.ok()) {
      return AddTrouble("firewall", body.status(),
                        "whether nodes reach each other, and ssh reaches them, is not known");
    }
    AddAll(TellFirewall(*body, network, subnetwork.range, options_.service_account));
  }

  void NotTried() {
    const std::string account =
        wish_.service_account.empty() ? UsualServiceAccount(wish_.project) : wish_.service_account;
    Add("account", "note",
        "not tried: whether " + account +
            " exists and reaches the bucket. See: gcloud iam service-accounts describe " + account +
            "; 'stoker doctor --iam --infra gcp' prints what it needs");
    Add("launch", "note",
        "not tried: whether there is room: Compute Engine has no launch that makes nothing. "
        "'stoker run --infra gcp/" +
            wish_.region + " -- true' tries it");
  }

  ComputeApi& api_;
  const GceWish& wish_;
  Options options_;
  std::vector<Finding> findings_;
};

}  // namespace

bool LiesIn(std::string_view inner, std::string_view outer) {
  const auto in = RangeOf(inner), out = RangeOf(outer);
  if (!in || !out || in->bits < out->bits) return false;
  if (out->bits == 0) return true;
  const int shift = 32 - out->bits;
  return in->first >> shift == out->first >> shift;
}

std::vector<Finding> TellQuotas(const std::string& json, const std::string& region) {
  const Tree tree = TreeOf(json);
  std::set<std::string> none, some;
  Each(tree, "quotas", [&](const Tree& each) {
    const auto limit = each.is_object() ? each.find("limit") : each.end();
    if (!each.is_object() || limit == each.end() || !limit->is_number()) return;
    (limit->get<double>() > 0 ? some : none).insert(TextIn(each, "metric"));
  });
  std::vector<Finding> out;
  const std::string where = region.empty() ? "in any region" : "in " + region;
  for (const char* metric : {"CPUS_ALL_REGIONS", "INSTANCES", "CPUS"}) {
    if (none.contains(metric)) {
      out.push_back({"quota", "bad", "no machine " + where + ". " + QuotaWords(metric, region)});
    }
  }
  if (none.contains("GPUS_ALL_REGIONS")) {
    out.push_back(
        {"quota", "note", "no GPU in any region. " + QuotaWords("GPUS_ALL_REGIONS", region)});
  }
  // Of spot either of the two will do.
  std::vector<std::string> kinds, families;
  for (const std::string& metric : none) {
    if (StartsWith(metric, "PREEMPTIBLE_") || StartsWith(metric, "COMMITTED_")) continue;
    if (some.contains("PREEMPTIBLE_" + metric)) continue;
    if (EndsWith(metric, "_GPUS")) kinds.push_back(metric);
    if (EndsWith(metric, "_CPUS")) families.push_back(metric);
  }
  for (const auto& [what, all] : {std::pair(std::string("GPUs of these kinds"), &kinds),
                                  std::pair(std::string("types of these families"), &families)}) {
    if (all->empty()) continue;
    out.push_back({"quota", "note",
                   "no " + what + " " + where + ", of which the quota is 0: " + Join(*all, ", ") +
                       ". " + QuotaWords(all->front(), region)});
  }
  if (out.empty()) out.push_back({"quota", "ok", "none that counts is 0 " + where});
  return out;
}

std::vector<Finding> TellFirewall(const std::string& json, const std::string& network,
                                  const std::string& range, const std::string& account) {
  const Tree tree = TreeOf(json);
  const std::string name = network.substr(network.rfind('/') + 1);
  const Opening ssh{kProxyRange, kSshPort, kSshPort};
  const Opening between{range, 1024, 65535};  // programs choose their ports
  bool by_ssh = false, each_other = false;
  Each(tree, "items", [&](const Tree& rule) {
    if (!EndsWith(TextIn(rule, "network"), network)) return;
    by_ssh = by_ssh || LetsIn(rule, account, ssh);
    each_other = each_other || LetsIn(rule, account, between);
  });
  // Of more than a page the rest is not looked at, nor are policies of an organization.
  const std::string beside = TextIn(tree, "nextPageToken").empty()
                                 ? " (rules of an organization's policy are not looked at)"
                                 : " among the first 500 rules";
  std::vector<Finding> out;
  if (each_other) {
    out.push_back({"firewall", "ok", "nodes of a job reach each other in " + name});
  } else {
    out.push_back({"firewall", "note",
                   "no rule of " + name + " lets nodes reach each other" + beside +
                       ", so jobs of several nodes wait for one another in vain: gcloud compute "
                       "firewall-rules create stoker-internal --network " +
                       name + " --allow tcp,udp,icmp --source-ranges " + range});
  }
  if (by_ssh) {
    out.push_back({"ssh", "ok", "Identity-Aware Proxy reaches port 22 in " + name});
  } else {
    out.push_back({"ssh", "note",
                   "no rule of " + name + " lets Identity-Aware Proxy in" + beside +
                       ", so 'stoker ssh' does not get through: gcloud compute firewall-rules "
                       "create stoker-ssh --network " +
                       name + " --allow tcp:22 --source-ranges " + std::string(kProxyRange) +
                       ". Whoever enters needs roles/iap.tunnelResourceAccessor besides, and "
                       "roles/compute.osLogin where OS Login is on"});
  }
  return out;
}

}  // namespace gce

std::vector<Finding> ExamineGce(gce::ComputeApi& api, const GceWish& wish) {
  return gce::Doctor(api, wish).Examine();
}

}  // namespace stoker
