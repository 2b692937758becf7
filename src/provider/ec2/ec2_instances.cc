// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_instances.h"

#include <algorithm>
#include <cstring>
#include <pugixml.hpp>

#include "base/text.h"
#include "provider/cloud/cloud_launch.h"
#include "provider/ec2/api/ec2_errors.h"
#include "provider/ec2/ec2_request.h"

namespace stoker::ec2 {
namespace {

// The low byte is the state; the high one is for EC2 itself.
InstanceState StateOf(int code) {
  switch (code & 0xff) {
    case 0:
      return InstanceState::kBooting;  // pending
    case 16:
      return InstanceState::kRunning;
    case 32:  // shutting-down: what runs on it may have some seconds left
    case 64:
      return InstanceState::kStopping;
    case 80:
      return InstanceState::kStopped;
    case 48:
      return InstanceState::kGone;
    default:
      return InstanceState::kRequested;
  }
}

std::string Text(const pugi::xml_node& node, const char* name) {
  return Printable(CutText(node.child_value(name), 400));
}

// "User initiated (2026-11-24 12:00:00 GMT)": when it was ended.
std::optional<WallTime> EndedAt(const std::string& reason) {
  const size_t open = reason.find('(');
  const size_t close = reason.find(" GMT)");
  if (open == std::string::npos || close == std::string::npos || close <= open) return std::nullopt;
  std::string at = reason.substr(open + 1, close - open - 1) + "Z";
  if (const size_t space = at.find(' '); space != std::string::npos) at[space] = 'T';
  const auto parsed = ParseRfc3339(at);
  return parsed.ok() ? std::optional(*parsed) : std::nullopt;
}

// EC2 says the same of whoever calls TerminateInstances. stoker calls it for launches that the
// record has closed, where nobody asks any more, and for what is expired.
bool OwnerEnds(const std::string& code, const std::string& reason, WallTime expires, WallTime now) {
  if (code != "Client.UserInitiatedShutdown") return false;
  return expires.ms == 0 || EndedAt(reason).value_or(now) < expires;
}

Instance Parse(const pugi::xml_node& item, WallTime now) {
  Instance out;
  InstanceSeen& seen = out.seen;
  seen.id = Text(item, "instanceId");
  for (const pugi::xml_node tag : item.child("tagSet").children("item")) {
    out.tags[Text(tag, "key")] = Text(tag, "value");
  }
  const auto tag = [&](const char* key) {
    const auto found = out.tags.find(key);
    return found == out.tags.end() ? std::string() : found->second;
  };
  // People copy tags ("launch more like this"), but nobody's request has another one's token.
  if (Text(item, "clientToken") == tag(kTokenTag)) seen.token = tag(kTokenTag);
  seen.ledger_id = tag(kLedgerTag);
  seen.job = tag(kJobTag);
  const auto index = WholeNumber(Text(item, "amiLaunchIndex"), 0, 100'000);
  seen.index = static_cast<int>(index.value_or(0));
  seen.launch = cloud::LaunchAt(tag(kLaunchesTag), ' ', seen.index);
  if (const auto expires = ParseRfc3339(tag(kExpiresTag)); expires.ok()) seen.expires = *expires;
  const int code = item.child("instanceState").child("code").text().as_int(-1);
  seen.state = code < 0 ? InstanceState::kRequested : StateOf(code);
  seen.address = Text(item, "privateIpAddress");
  const pugi::xml_node reason = item.child("stateReason");
  const std::string reason_code = Text(reason, "code");
  const bool down = seen.state == InstanceState::kGone || seen.state == InstanceState::kStopped ||
                    seen.state == InstanceState::kStopping;
  if (down) {
    seen.why = Text(reason, "message");
    if (seen.why.empty()) seen.why = reason_code;
  }
  const bool for_good = (code & 0xff) == 32 || seen.state == InstanceState::kGone;
  if (down && !reason_code.empty()) {
    // Not where its lease was over by then, since that is how `stoker gc` ends one.
    const bool by_owner =
        for_good && OwnerEnds(reason_code, Text(item, "reason"), seen.expires, now);
    seen.ended_by = by_owner ? EndedBy::kOwner : EndedBy::kOther;
    // Server.SpotInstanceTermination, …Shutdown: the market has taken it.
    if (StartsWith(reason_code, "Server.Spot")) seen.ended_by = EndedBy::kPlatform;
  }
  if (seen.state == InstanceState::kGone) {
    seen.freed = true;
    seen.refusal = RefusalOfDeath(reason_code, seen.why);
    seen.address.clear();
  }
  const auto started = ParseRfc3339(Text(item, "launchTime"));
  if (started.ok()) out.started = *started;
  const bool up = seen.state == InstanceState::kBooting || seen.state == InstanceState::kRunning;
  if (started.ok() && up) seen.up_for = std::max(now - *started, Duration());
  out.type = seen.type = Text(item, "instanceType");
  out.zone = Text(item.child("placement"), "availabilityZone");
  out.group = Text(item.child("placement"), "groupName");
  out.image = Text(item, "imageId");
  out.market = Text(item, "instanceLifecycle") == "spot" ? kSpot : kOnDemand;
  return out;
}

}  // namespace

Result<InstancePage> ParseInstances(const std::string& xml, WallTime now) {
  pugi::xml_document document;
  const bool parsed = static_cast<bool>(document.load_buffer(xml.data(), xml.size()));
  const pugi::xml_node root = document.document_element();
  const bool runs = parsed && std::strcmp(root.name(), "RunInstancesResponse") == 0;
  const bool lists = parsed && std::strcmp(root.name(), "DescribeInstancesResponse") == 0;
  if (!runs && !lists) {
    return Status(Code::kCorrupt, "EC2 gave something else than a list of instances");
  }
  InstancePage page;
  const auto add = [&](const pugi::xml_node& reservation) {
    for (const pugi::xml_node item : reservation.child("instancesSet").children("item")) {
      page.instances.push_back(Parse(item, now));
    }
  };
  if (runs) {
    add(root);
  } else {
    for (const pugi::xml_node item : root.child("reservationSet").children("item")) add(item);
  }
  page.next = root.child_value("nextToken");
  return page;
}

std::vector<std::string> IdsByIndex(const std::vector<Instance>& instances, size_t count) {
  std::vector<std::string> ids(count);
  for (const Instance& instance : instances) {
    const auto index = static_cast<size_t>(instance.seen.index);
    if (index < count && instance.seen.state != InstanceState::kGone) ids[index] = instance.seen.id;
  }
  return ids;
}

}  // namespace stoker::ec2
