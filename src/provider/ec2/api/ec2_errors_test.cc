// SPDX-License-Identifier: Apache-2.0
// Errors as EC2 words them: what each means for a request, and what people are told.
#include "provider/ec2/api/ec2_errors.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace stoker::ec2 {
namespace {

std::string Xml(const std::string& code, const std::string& message) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>" + code +
         "</Code><Message>" + message +
         "</Message></Error></Errors><RequestID>ea966190-f9aa-478e-9ede-example</RequestID>"
         "</Response>";
}

Failure Said(const std::string& code, const std::string& message = "words", int status = 400) {
  return ParseFailure({status, {}, Xml(code, message)});
}

std::string TextOf(const std::optional<Refusal>& refusal) {
  static const char* const kClasses[] = {"capacity", "quota", "throttled",  "denied",
                                         "invalid",  "over",  "unanswered", "not yet"};
  static const char* const kScopes[] = {"request", "zone", "market", "region", "account"};
  if (!refusal) return "no answer";
  return std::string(kClasses[static_cast<size_t>(refusal->what)]) + " of the " +
         kScopes[static_cast<size_t>(refusal->scope)];
}

struct Row {
  const char* code;
  const char* message;
  const char* means;
};

const Row kRows[] = {
    {"InsufficientInstanceCapacity",
     "We currently do not have sufficient p4d.24xlarge capacity in the Availability Zone you "
     "requested (us-east-1a). Our system will be working on provisioning additional capacity.",
     "capacity of the zone"},
    {"InsufficientHostCapacity", "There is not enough capacity to fulfill your request",
     "capacity of the zone"},
    {"InsufficientReservedInstanceCapacity", "Not enough available instances",
     "capacity of the zone"},
    {"InsufficientFreeAddressesInSubnet", "There are not enough free addresses in subnet",
     "capacity of the zone"},
    {"InsufficientVolumeCapacity", "There is not enough capacity to fulfill your volume",
     "capacity of the zone"},
    {"ReservationCapacityExceeded", "The targeted Capacity Reservation does not have enough",
     "capacity of the zone"},
    {"UnfulfillableCapacity", "Unable to fulfill capacity due to your request configuration.",
     "capacity of the zone"},
    {"Unsupported",
     "Your requested instance type (g6.xlarge) is not supported in your requested Availability "
     "Zone (us-east-1e).",
     "capacity of the zone"},
    {"SpotMaxPriceTooLow",
     "Your Spot request price of 0.01 is lower than the minimum required Spot request fulfillment "
     "price of 0.0315.",
     "capacity of the market"},
    {"VcpuLimitExceeded",
     "You have requested more vCPU capacity than your current vCPU limit of 0 allows for the "
     "instance bucket that the specified instance type belongs to.",
     "quota of the region"},
    {"InstanceLimitExceeded", "Your quota allows for 0 more running instance(s).",
     "quota of the region"},
    {"MaxSpotInstanceCountExceeded", "Max spot instance count exceeded", "quota of the region"},
    {"VolumeLimitExceeded", "You have exceeded your maximum gp3 storage limit of 50 TiB",
     "quota of the region"},
    {"NetworkInterfaceLimitExceeded", "You have reached the limit", "quota of the region"},
    {"PendingVerification",
     "Your request for accessing resources in this region is being validated",
     "quota of the region"},
    {"RequestLimitExceeded", "Request limit exceeded.", "throttled of the account"},
    {"Throttling", "Rate exceeded", "throttled of the account"},
    {"EC2ThrottledException", "Rate exceeded", "throttled of the account"},
    {"UnauthorizedOperation",
     "You are not authorized to perform this operation. Encoded authorization failure message: "
     "4GIOHlTkIaWHQD0Q0m6XSnuUMCm",
     "denied of the account"},
    {"AuthFailure", "AWS was not able to validate the provided access credentials",
     "denied of the account"},
    {"InvalidClientTokenId", "The security token included in the request is invalid.",
     "denied of the account"},
    {"SignatureDoesNotMatch", "The request signature we calculated does not match",
     "denied of the account"},
    {"RequestExpired", "Request has expired.", "denied of the account"},
    {"ExpiredToken", "The security token included in the request is expired",
     "denied of the account"},
    {"OptInRequired",
     "In order to use this AWS Marketplace product you need to accept terms and subscribe.",
     "denied of the request"},
    {"Blocked", "This account is currently blocked and not recognized as a valid account.",
     "denied of the account"},
    {"InvalidGroup.NotFound", "The security group 'sg-1' does not exist", "not yet of the request"},
    {"InvalidParameterValue",
     "Value (stoker) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance "
     "Profile name",
     "not yet of the request"},
    {"IdempotentInstanceTerminated", "The instance has been terminated", "over of the request"},
    {"IdempotentParameterMismatch",
     "The request uses the same client token as a previous, but non-identical request.",
     "over of the request"},
    {"InvalidParameterValue", "Invalid availability zone: [us-east-1z]", "invalid of the request"},
    {"InvalidParameterCombination", "Invalid combination", "invalid of the request"},
    {"InvalidAMIID.NotFound", "The image id '[ami-1]' does not exist", "invalid of the request"},
    {"InvalidAMIID.Malformed", "Invalid id: \"ami\"", "invalid of the request"},
    {"InvalidSubnetID.NotFound", "The subnet ID 'subnet-1' does not exist", "invalid of the zone"},
    {"InvalidBlockDeviceMapping", "Volume of size 8GB is smaller than snapshot",
     "invalid of the request"},
    {"InvalidUserData.Malformed", "User data is limited to 16384 bytes", "invalid of the request"},
    {"VPCIdNotSpecified", "No default VPC for this user", "invalid of the request"},
    {"MissingParameter", "The request must contain the parameter ImageId",
     "invalid of the request"},
    {"TagLimitExceeded", "The maximum number of tags is 50", "invalid of the request"},
    {"InternalError", "An internal error has occurred", "no answer"},
    {"Unavailable", "The service is unavailable. Please try again shortly.", "no answer"},
    {"ServiceUnavailable", "The request has failed", "no answer"},
};

// What people are told to do, or what is done for them.
std::string NextFor(const Row& row, RefusalClass what) {
  static const std::map<std::string, std::string> kOwn = {
      {"InsufficientFreeAddressesInSubnet", "make its subnet larger"},
      {"PendingVerification", "Amazon checks the account"},
      {"VcpuLimitExceeded", "for ever where it is not: aws service-quotas "},
      {"InstanceLimitExceeded", "aws service-quotas request-service-quota-increase"},
      {"MaxSpotInstanceCountExceeded", "aws service-quotas request-service-quota-increase"},
      {"InvalidAMIID.NotFound", "aws ec2 describe-images"},
      {"InvalidAMIID.Malformed", "aws ec2 describe-images"},
      {"InvalidSubnetID.NotFound", "aws ec2 describe-subnets"},
      {"InvalidUserData.Malformed", "report it"},
      {"VPCIdNotSpecified", "aws ec2 create-default-vpc"},
      {"AuthFailure", "aws sts get-caller-identity"},
      {"InvalidClientTokenId", "aws sts get-caller-identity"},
      {"UnrecognizedClientException", "aws sts get-caller-identity"},
      {"SignatureDoesNotMatch", "aws sts get-caller-identity"},
      {"IncompleteSignature", "aws sts get-caller-identity"},
      {"MissingAuthenticationToken", "aws sts get-caller-identity"},
      {"ExpiredToken", "Log in again"},
      {"ExpiredTokenException", "Log in again"},
      {"RequestExpired", "Log in again, or set this machine's clock"},
      {"Blocked", "Ask Amazon's support"},
      {"OptInRequired", "Accept the image's terms"}};
  if (const auto own = kOwn.find(row.code); own != kOwn.end()) return own->second;
  switch (what) {
    case RefusalClass::kCapacity:
      return "another type may have room";
    case RefusalClass::kQuota:
      return "servicequotas";
    case RefusalClass::kThrottled:
      return "more slowly";
    case RefusalClass::kDenied:
      return "doctor --iam";
    case RefusalClass::kNotYetConsistent:
      return "made just now";
    case RefusalClass::kOver:
      return "another request follows";
    default:
      return "correct the job";
  }
}

TEST(Ec2Errors, EachHasAClassAScopeAndWords) {
  std::set<std::string> codes;
  for (const Row& row : kRows) {
    const auto refusal = RefusalOf(Said(row.code, row.message));
    EXPECT_EQ(TextOf(refusal), row.means) << row.code;
    codes.insert(row.code);
    if (!refusal) continue;
    EXPECT_EQ(refusal->message.find(std::string(row.code) + ": "), 0U) << refusal->message;
    EXPECT_NE(refusal->message.find(std::string(row.message).substr(0, 20)), std::string::npos);
    const std::string next = NextFor(row, refusal->what);
    EXPECT_NE(refusal->message.find(next), std::string::npos) << refusal->message;
  }
  EXPECT_GE(codes.size(), 30U);
}

TEST(Ec2Errors, WhatAPersonCanDoIsSaid) {
  const auto next = [](const char* code) { return RefusalOf(Said(code))->message; };
  EXPECT_NE(next("VcpuLimitExceeded").find("service-quotas"), std::string::npos);
  EXPECT_NE(next("UnauthorizedOperation").find("doctor --iam"), std::string::npos);
  EXPECT_NE(next("ExpiredToken").find("Log in again"), std::string::npos);
  EXPECT_NE(next("PendingVerification").find("Amazon checks"), std::string::npos);
}

// What a young account has met, and with which tool.
struct Young {
  const char* source;
  const char* code;
  int status;
  const char* message;
  const char* means;
  const char* next;  // part of what a person is told, of a g5.xlarge on spot in eu-west-1
};

const Young kYoung[] = {
    {"hashicorp/terraform#4306, kubernetes-retired/kubernetes-anywhere#199",
     "InvalidParameterValue", 400,
     "IAM Instance Profile \"arn:aws:iam::1:instance-profile/stoker\" has no associated IAM Roles",
     "not yet of the request", "aws iam add-role-to-instance-profile"},
    {"aws/aws-sdk-js-v3#5253, CiscoDevNet/cloud-cml#4", "InvalidParameterValue", 400,
     "Value (stoker) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance "
     "Profile "
     "name",
     "not yet of the request", "made just now"},
    {"determined-ai/determined#1830, kubernetes/kops#16475, LeanerCloud/AutoSpotting#187",
     "AuthFailure.ServiceLinkedRoleCreationNotPermitted", 403,
     "The provided credentials do not have permission to create the service-linked role for EC2 "
     "Spot Instances.",
     "denied of the region",
     "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com"},
    {"runs-on/runs-on#233 (so CloudTrail has it)",
     "Client.AuthFailure.ServiceLinkedRoleCreationNotPermitted", 403, "words",
     "denied of the region", "create-service-linked-role"},
    {"open-guides/og-aws#333, fast.ai's forum: a limit of zero", "VcpuLimitExceeded", 400,
     "You have requested more vCPU capacity than your current vCPU limit of 0 allows for the "
     "instance bucket that the specified instance type belongs to. Please visit "
     "http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.",
     "quota of the region",
     "for ever where it is not: aws service-quotas request-service-quota-increase --service-code "
     "ec2 --region eu-west-1 --quota-code L-3819A6DF --desired-value VCPUS"},
    {"bentoml/bentoctl#202, scrapoxy/scrapoxy#202", "VcpuLimitExceeded", 400,
     "You have requested more vCPU capacity than your current vCPU limit of 32 allows for the "
     "instance bucket that the specified instance type belongs to.",
     "quota of the region", "Ask for more: aws service-quotas request-service-quota-increase"},
    {"hashicorp/terraform-provider-aws#17543, meadowdata/meadowrun#84, Coalfire-Research/npk#107",
     "MaxSpotInstanceCountExceeded", 400, "Max spot instance count exceeded", "quota of the region",
     "--quota-code L-3819A6DF"},
    {"skypilot-org/skypilot#519, skyplane-project/skyplane#799", "PendingVerification", 400,
     "Your request for accessing resources in this region is being validated, and you will not be "
     "able to launch additional resources in this region until the validation is complete.",
     "quota of the region", "asked again until then"},
    {"splunk/attack_range#1302, aws/karpenter-provider-aws#9004", "InvalidParameterCombination",
     400,
     "The specified instance type is not eligible for Free Tier. For a list of Free Tier instance "
     "types, run 'describe-instance-types' with the filter 'free-tier-eligible=true'.",
     "denied of the market", "free plan: upgrade it"},
    {"bitnami/vms#1838", "InvalidParameterCombination", 400,
     "The specified image is not eligible for Free Tier. For a list of Free Tier images, run "
     "'describe-images' with the filter 'free-tier-eligible=true'.",
     "denied of the market", "free plan: upgrade it"},
    {"aws-samples/aws-workshop-for-kubernetes#148, awslabs/aws-deployment-framework#283",
     "OptInRequired", 401,
     "You are not subscribed to this service. Please go to http://aws.amazon.com to subscribe.",
     "denied of the account", "not signed up to the end"},
    {"kubernetes-sigs/aws-load-balancer-controller#1579", "SubscriptionRequiredException", 400,
     "The AWS Access Key Id needs a subscription for the service", "denied of the account",
     "not signed up to the end"},
    {"turbot/steampipe-plugin-aws#75, fog/fog-aws#585", "AuthFailure", 401,
     "AWS was not able to validate the provided access credentials", "denied of the account",
     "aws account enable-region --region-name eu-west-1"},
    {"aws/karpenter-provider-aws#8190", "UnauthorizedOperation", 403,
     "You are not authorized to perform this operation. User: arn:aws:sts::1:assumed-role/x/y is "
     "not authorized to perform: ec2:RunInstances on resource: arn:aws:ec2:us-east-2:1:instance/* "
     "with an explicit deny in a service control policy. Encoded authorization failure message: "
     "g4oZPBqZ4Bni8dE5dGjxYTnOZ",
     "denied of the region", "organization forbids it"},
    {"CheckPointSW/Cuckoo-AWS#21", "UnauthorizedOperation", 403,
     "You are not authorized to perform this operation. User: arn:aws:iam::1:user/x is not "
     "authorized to perform: iam:PassRole on resource: arn:aws:iam::1:role/stoker",
     "denied of the account", "iam:PassRole on the role of the machines"},
    {"dvassallo/aws-bootstrap#8", "VPCIdNotSpecified", 400, "No default VPC for this user",
     "invalid of the request", "aws ec2 create-default-vpc --region eu-west-1"},
    // Codes that nobody has met yet are of the class of what comes before the dot, and whoever is
    // answered 401 or 403 may not, whatever that is called.
    {"made up", "AuthFailure.SomethingNew", 400, "words", "denied of the account",
     "aws sts get-caller-identity"},
    {"made up", "VcpuLimitExceeded.SomethingNew", 400, "words", "quota of the region",
     "aws service-quotas"},
    {"made up", "SomethingNew.NotPermitted", 403, "words", "denied of the account", "doctor --iam"},
    {"made up", "InvalidSomethingNew.NotFound", 400, "words", "invalid of the request",
     "stoker doctor --infra aws/eu-west-1"}};

TEST(Ec2Errors, AYoungAccountIsToldWhatToType) {
  Ask ask;
  ask.place.region = "eu-west-1";
  ask.type = "g5.xlarge";
  ask.market = "spot";
  for (const Young& young : kYoung) {
    const auto told = RefusalOf(Said(young.code, young.message, young.status), ask);
    ASSERT_TRUE(told) << young.source;
    EXPECT_EQ(TextOf(told), young.means) << young.source << ": " << told->message;
    EXPECT_NE(told->message.find(young.next), std::string::npos)
        << young.source << ": " << told->message;
    EXPECT_EQ(told->message.find("correct the job"), std::string::npos) << told->message;
    EXPECT_LE(told->message.size(), kMostRefusalText) << told->message;
  }
}

TEST(Ec2Errors, EachTypeHasItsQuota) {
  const auto quota = [](const char* type, const char* market) {
    Ask ask;
    ask.type = type;
    ask.market = market;
    const std::string text = RefusalOf(Said("VcpuLimitExceeded"), ask)->message;
    const size_t at = text.find("--quota-code ") + 13;
    return text.substr(at, text.find(' ', at) - at);
  };
  EXPECT_EQ(quota("m5.large", "on-demand"), "L-1216C47A");
  EXPECT_EQ(quota("g6e.xlarge", "on-demand"), "L-DB2E81BA");
  EXPECT_EQ(quota("p4d.24xlarge", "on-demand"), "L-417A185B");
  EXPECT_EQ(quota("p5.48xlarge", "on-demand"), "L-417A185B");
  EXPECT_EQ(quota("p4d.24xlarge", "spot"), "L-7212CCBC");
  EXPECT_EQ(quota("p5en.48xlarge", "spot"), "L-C4BD4855");
  EXPECT_EQ(quota("trn1.2xlarge", "spot"), "L-6B0D517C");
  EXPECT_EQ(quota("u-6tb1.metal", "spot"), "QUOTA") << "not known: left for a person";
}

TEST(Ec2Errors, WhatToDoIsNeverCutOff) {
  const auto told =
      RefusalOf(Said("AuthFailure.ServiceLinkedRoleCreationNotPermitted", std::string(900, 'x')));
  EXPECT_NE(told->message.find("--aws-service-name spot.amazonaws.com"), std::string::npos);
  EXPECT_LE(told->message.size(), kMostRefusalText);
}

TEST(Ec2Errors, WhatSaysNothingIsNoAnswer) {
  EXPECT_FALSE(RefusalOf(ParseFailure({500, {}, ""})));
  EXPECT_FALSE(RefusalOf(ParseFailure({503, {}, "<html>bad gateway</html>"})));
  EXPECT_FALSE(RefusalOf(ParseFailure({400, {}, ""})));
  EXPECT_FALSE(RefusalOf(Said("SomethingNew", "words", 500)));
  // Throttling and capacity come with 5xx, too; they are an answer all the same.
  EXPECT_EQ(TextOf(RefusalOf(Said("RequestLimitExceeded", "words", 503))),
            "throttled of the account");
  EXPECT_EQ(TextOf(RefusalOf(Said("InsufficientInstanceCapacity", "words", 500))),
            "capacity of the zone");
  EXPECT_EQ(TextOf(RefusalOf(Said("SomethingNew"))), "invalid of the request");
}

TEST(Ec2Errors, OtherServicesSayItDifferently) {
  const Failure sts = ParseFailure(
      {403,
       {},
       "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>User is "
       "not authorized</Message></Error></ErrorResponse>"});
  EXPECT_EQ(sts.code, "AccessDenied");
  const Failure ssm = ParseFailure(
      {400,
       {},
       R"({"__type":"com.amazon#ParameterNotFound","message":"Parameter /x not found."})"});
  EXPECT_EQ(ssm.code, "ParameterNotFound");
  EXPECT_EQ(StatusOf("reading /x", ssm).code(), Code::kNotFound);
}

TEST(Ec2Errors, WordsOfOthersAreMadeFitToPrint) {
  const Failure said = Said("Inv\x1b[31mX", std::string(5000, 'a') + "\x1b]0;");
  EXPECT_EQ(said.code.find('\x1b'), std::string::npos);
  EXPECT_LE(said.message.size(), 400U);
}

TEST(Ec2Errors, DeadBirths) {
  const auto of = [](const char* code) { return TextOf(RefusalOfDeath(code, "words")); };
  EXPECT_EQ(of("Server.InsufficientInstanceCapacity"), "capacity of the zone");
  EXPECT_EQ(of("Server.InternalError"), "capacity of the zone");
  EXPECT_EQ(of("Client.VolumeLimitExceeded"), "quota of the region");
  EXPECT_EQ(of("Client.InternalError"), "invalid of the request");
  EXPECT_EQ(of("Client.InvalidSnapshot.NotFound"), "invalid of the request");
  // These have been up, or were ended by somebody.
  for (const char* code : {"Server.SpotInstanceTermination", "Client.UserInitiatedShutdown",
                           "Client.InstanceInitiatedShutdown", "Server.ScheduledStop", ""}) {
    EXPECT_EQ(of(code), "no answer") << code;
  }
}

TEST(Ec2Errors, OfOtherCalls) {
  EXPECT_EQ(StatusOf("x", Said("RequestLimitExceeded")).code(), Code::kBusy);
  EXPECT_EQ(StatusOf("x", Said("UnauthorizedOperation")).code(), Code::kDenied);
  EXPECT_EQ(StatusOf("x", Said("InvalidInstanceID.NotFound")).code(), Code::kNotFound);
  EXPECT_EQ(StatusOf("x", Said("InternalError", "w", 500)).code(), Code::kUnavailable);
  EXPECT_EQ(StatusOf("x", Said("InsufficientInstanceCapacity")).code(), Code::kNoSpace);
  EXPECT_EQ(StatusOf("x", Said("MissingParameter")).code(), Code::kInvalid);
}

TEST(Ec2Errors, AClockThatIsWrongIsTold) {
  EXPECT_TRUE(IsSkewed(Said("RequestExpired")));
  EXPECT_TRUE(IsSkewed(
      Said("SignatureDoesNotMatch", "Signature expired: 20150830T123600Z is now earlier than")));
  EXPECT_TRUE(IsSkewed(Said("SignatureDoesNotMatch", "Signature not yet current: 2015")));
  EXPECT_FALSE(IsSkewed(Said("SignatureDoesNotMatch", "The request signature we calculated")));
  EXPECT_TRUE(IsExpired(Said("ExpiredTokenException")));
}

}  // namespace
}  // namespace stoker::ec2
