// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/away/lambda_event.h"

#include "base/json_fields.h"
#include "base/text.h"

namespace stoker::ec2 {
namespace {

constexpr char kSource[] = "aws.ec2";
constexpr size_t kMostEventBytes = size_t{1} << 20;
constexpr size_t kLongestId = 64;

}  // namespace

std::string InstanceOfEvent(std::string_view event) {
  const auto parsed = json::ParseObject("event", event, kMostEventBytes);
  if (!parsed.ok()) return "";
  const auto source = parsed->find("source");
  const auto detail = parsed->find("detail");
  if (source == parsed->end() || *source != kSource) return "";
  if (detail == parsed->end() || !detail->is_object()) return "";
  const auto id = detail->find("instance-id");
  if (id == detail->end() || !id->is_string()) return "";
  const auto text = id->get<std::string>();
  const bool good = StartsWith(text, "i-") && text.size() <= kLongestId && IsSafeName(text);
  return good ? text : "";
}

std::string InstanceEventPattern() {
  const json::Value pattern = {
      {"source", {kSource}},
      {"detail-type",
       {"EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation",
        "EC2 Instance State-change Notification"}}};
  return json::Dump(pattern);
}

}  // namespace stoker::ec2
