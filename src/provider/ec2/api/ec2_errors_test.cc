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
     "denied of the account"},
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
      {"OptInRequired", "enable the region"}};
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
  EXPECT_NE(next("VcpuLimitExceeded").find("servicequotas"), std::string::npos);
  EXPECT_NE(next("UnauthorizedOperation").find("doctor --iam"), std::string::npos);
  EXPECT_NE(next("ExpiredToken").find("Log in again"), std::string::npos);
  EXPECT_NE(next("PendingVerification").find("Amazon checks"), std::string::npos);
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
