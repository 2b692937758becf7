// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/api/ec2_way_out.h"

#include <cctype>
#include <cstring>
#include <string_view>

#include "base/base64.h"
#include "base/text.h"
#include "provider/cloud/boot_words.h"
#include "provider/ec2/api/ec2_lists.h"

namespace stoker::ec2 {
namespace {

WayOut WayOf(const pugi::xml_node& table) {
  WayOut way = WayOut::kNone;
  for (const pugi::xml_node route : table.child("routeSet").children("item")) {
    const std::string gateway = TextIn(route, "gatewayId");
    if (gateway == "local" || TextIn(route, "state") == "blackhole") continue;
    if (!StartsWith(gateway, "igw-")) return WayOut::kSome;
    way = WayOut::kGateway;
  }
  return way;
}

std::string ServiceOf(const std::string& region) { return "com.amazonaws." + region + ".s3"; }

}  // namespace

WayOut WaysOut::Of(const std::string& subnet) const {
  const auto found = by_subnet.find(subnet);
  return found == by_subnet.end() ? others : found->second;
}

Result<WaysOut> WaysToS3(AwsApi& api, const std::string& region, const std::string& vpc) {
  WaysOut ways;
  bool found = false;
  const Params all = Filters({{"vpc-id", {vpc}}});
  STOKER_TRY(EachItem(api, Lasting(region, "DescribeRouteTables", all, kHour), "routeTableSet",
                      [&](const pugi::xml_node& table) {
                        for (const pugi::xml_node of :
                             table.child("associationSet").children("item")) {
                          const std::string subnet = TextIn(of, "subnetId");
                          if (!subnet.empty()) ways.by_subnet[subnet] = WayOf(table);
                          if (TextIn(of, "main") != "true") continue;
                          found = true;
                          ways.others = WayOf(table);
                        }
                      }));
  if (!found) return Status(Code::kNotFound, "no route table of " + vpc + " was told");
  const Params endpoints = Filters({{"vpc-id", {vpc}}, {"service-name", {ServiceOf(region)}}});
  bool endpoint = false;
  STOKER_TRY(EachItem(api, Lasting(region, "DescribeVpcEndpoints", endpoints, kHour),
                      "vpcEndpointSet", [&](const pugi::xml_node& item) {
                        // One of the kind gateway is a route in the tables that it is for.
                        endpoint |= TextIn(item, "vpcEndpointType") != "Gateway";
                      }));
  if (!endpoint) return ways;
  ways.others = WayOut::kSome;
  for (auto& [subnet, way] : ways.by_subnet) way = WayOut::kSome;
  return ways;
}

std::string MakeAWay(const std::string& region, const std::string& vpc) {
  return "Give its subnet a way to the bucket: aws ec2 create-vpc-endpoint --region " + region +
         " --vpc-id " + (vpc.empty() ? "VPC" : vpc) + " --service-name " + ServiceOf(region) +
         " --route-table-ids RTB, or a NAT gateway, or name another by aws.subnet";
}

namespace {

// The newest words are told of types of Nitro alone ("Instance console output", EC2 User Guide):
// of others what EC2 has kept, which is some minutes old.
Result<std::string> ConsoleOf(AwsApi& api, const std::string& region,
                              const std::string& instance_id) {
  Call call{"ec2", region, "GetConsoleOutput", {{"InstanceId", instance_id}, {"Latest", "true"}}};
  STOKER_ASSIGN(Reply reply, api.Repeat(call));
  if (reply.failure && reply.failure->code == "UnsupportedOperation") {
    call.params.pop_back();
    return api.Read(call);
  }
  if (reply.failure) return StatusOf(Described(call), *reply.failure);
  return std::move(reply.body);
}

}  // namespace

Result<std::optional<BootFailure>> BootFailureOf(AwsApi& api, const std::string& region,
                                                 const std::string& instance_id,
                                                 const std::string& vpc,
                                                 const std::string& subnet) {
  STOKER_ASSIGN(const std::string body, ConsoleOf(api, region, instance_id));
  pugi::xml_document document;
  (void)document.load_buffer(body.data(), body.size());
  const std::string said =
      FromBase64(document.child("GetConsoleOutputResponse").child_value("output")).value_or("");
  cloud::BootAdvice advice;
  advice.no_route = MakeAWay(region, vpc);
  advice.denied =
      "The role of the machines may not read the bucket: 'stoker doctor --iam --infra aws/" +
      region +
      " --write iam'; aws iam put-role-policy --role-name stoker --policy-name stoker "
      "--policy-document file://iam/node.json";
  if (cloud::SaysNoRoute(said) && !subnet.empty()) {
    const auto ways = WaysToS3(api, region, vpc);
    advice.has_route = !ways.ok() || ways->Of(subnet) != WayOut::kNone;
  }
  return cloud::BootFailureIn(said, advice);
}

}  // namespace stoker::ec2
