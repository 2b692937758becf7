// SPDX-License-Identifier: Apache-2.0
// What EC2 refuses with, as data; inside provider/ec2 only. docs/refusals.md is printed from it.
// Sources: "Error codes for the Amazon EC2 API", and where people have met each:
// ec2_errors_test.cc.
#pragma once

#include "provider/cloud/refusal_rows.h"

namespace stoker::ec2 {

using Class = RefusalClass;
using Scope = RefusalScope;

inline constexpr std::string_view kRoomNext =
    "Other zones are asked, and this one again later; another type may have room";
inline constexpr std::string_view kQuotaNext =
    "Ask for more at https://console.aws.amazon.com/servicequotas (EC2), or name another region";
inline constexpr std::string_view kVcpuNext =
    "Ask for more: aws service-quotas request-service-quota-increase --service-code ec2 --region "
    "REGION --quota-code QUOTA --desired-value VCPUS";
inline constexpr std::string_view kNoVcpuNext =
    "The quota is 0, so the job waits until it is raised, and for ever where it is not: aws "
    "service-quotas request-service-quota-increase --service-code ec2 --region REGION --quota-code "
    "QUOTA --desired-value VCPUS";
inline constexpr std::string_view kSlowlyNext = "It is asked again, more slowly";
inline constexpr std::string_view kKeysNext =
    "Check the keys: 'aws sts get-caller-identity'. Where they are good, the region is not enabled "
    "for the account: aws account enable-region --region-name REGION";
inline constexpr std::string_view kRightsNext =
    "'stoker doctor --iam' prints the rights that are needed";
inline constexpr std::string_view kSpotRoleNext =
    "Spot needs a role of the account's own, made once by whoever may: aws iam "
    "create-service-linked-role --aws-service-name spot.amazonaws.com";
inline constexpr std::string_view kLoginNext = "Log in again";
inline constexpr std::string_view kSignUpNext =
    "The account is not signed up to the end: its payment and phone at "
    "https://portal.aws.amazon.com/billing/signup; it then takes up to 24 hours";
inline constexpr std::string_view kSoonNext =
    "It was made just now, or is gone: it is asked again for some minutes";
inline constexpr std::string_view kOverNext =
    "Its machines are looked up, or another request follows";

// Of what no row speaks of.
inline constexpr std::string_view kInvalidNext =
    "Nothing was made: correct the job and submit it again";

// The same of a code X.Y: it is about something that the request names.
inline constexpr std::string_view kNamesNext =
    "Nothing was made: what the request names is not there, or is not to be had by this account; "
    "'stoker doctor --infra aws/REGION' tries what it needs";

// Of a code, those that say more come first: the first that fits counts. A code X.Y that is not
// here is one of X.
inline constexpr cloud::RefusalRow kRows[] = {
    // No room at this moment.
    {"InsufficientInstanceCapacity", "", Class::kCapacity, Scope::kZone, 0, kRoomNext},
    {"InsufficientCapacity", "", Class::kCapacity, Scope::kZone, 0, kRoomNext},
    {"InsufficientHostCapacity", "", Class::kCapacity, Scope::kZone, 0, kRoomNext},
    {"InsufficientCapacityOnHost", "", Class::kCapacity, Scope::kZone, 0, kRoomNext},
    {"InsufficientReservedInstanceCapacity", "", Class::kCapacity, Scope::kZone, 0, kRoomNext},
    {"InsufficientVolumeCapacity", "", Class::kCapacity, Scope::kZone, 0, kRoomNext},
    {"InsufficientFreeAddressesInSubnet", "", Class::kCapacity, Scope::kZone, 0,
     "Name another zone, or make its subnet larger"},
    {"ReservationCapacityExceeded", "", Class::kCapacity, Scope::kZone, 0, kRoomNext},
    {"UnfulfillableCapacity", "", Class::kCapacity, Scope::kZone, 0, kRoomNext},
    {"Unsupported", "", Class::kCapacity, Scope::kZone, 0, kRoomNext},
    {"VolumeTypeNotAvailableInZone", "", Class::kCapacity, Scope::kZone, 0, kRoomNext},
    {"SpotMaxPriceTooLow", "", Class::kCapacity, Scope::kMarket, 0, kRoomNext},
    // The account may not have so much.
    {"VcpuLimitExceeded", "limit of 0 ", Class::kQuota, Scope::kRegion, 0, kNoVcpuNext},
    {"VcpuLimitExceeded", "", Class::kQuota, Scope::kRegion, 0, kVcpuNext},
    {"InstanceLimitExceeded", "limit of 0 ", Class::kQuota, Scope::kRegion, 0, kNoVcpuNext},
    {"InstanceLimitExceeded", "allows for 0 ", Class::kQuota, Scope::kRegion, 0, kNoVcpuNext},
    {"InstanceLimitExceeded", "", Class::kQuota, Scope::kRegion, 0, kVcpuNext},
    {"MaxSpotInstanceCountExceeded", "", Class::kQuota, Scope::kRegion, 0,
     "A young account has little or none, and with a quota of 0 the job waits for ever. Ask for "
     "more: aws service-quotas request-service-quota-increase --service-code ec2 --region REGION "
     "--quota-code QUOTA --desired-value VCPUS; or leave --spot out"},
    {"VolumeLimitExceeded", "", Class::kQuota, Scope::kRegion, 0, kQuotaNext},
    {"MaxIOPSLimitExceeded", "", Class::kQuota, Scope::kRegion, 0, kQuotaNext},
    {"NetworkInterfaceLimitExceeded", "", Class::kQuota, Scope::kRegion, 0, kQuotaNext},
    {"PrivateIpAddressLimitExceeded", "", Class::kQuota, Scope::kRegion, 0, kQuotaNext},
    {"PlacementGroupLimitExceeded", "", Class::kQuota, Scope::kRegion, 0, kQuotaNext},
    {"PendingVerification", "", Class::kQuota, Scope::kRegion, 600,
     "Amazon checks the account; that takes minutes to hours, and it is asked again until then"},
    // Too many requests.
    {"RequestLimitExceeded", "", Class::kThrottled, Scope::kAccount, 0, kSlowlyNext},
    {"Throttling", "", Class::kThrottled, Scope::kAccount, 0, kSlowlyNext},
    {"ThrottlingException", "", Class::kThrottled, Scope::kAccount, 0, kSlowlyNext},
    {"EC2ThrottledException", "", Class::kThrottled, Scope::kAccount, 0, kSlowlyNext},
    {"RequestThrottled", "", Class::kThrottled, Scope::kAccount, 0, kSlowlyNext},
    // Whoever asked may not.
    {"AuthFailure.ServiceLinkedRoleCreationNotPermitted", "", Class::kDenied, Scope::kRegion, 0,
     kSpotRoleNext},
    {"", "iam:CreateServiceLinkedRole", Class::kDenied, Scope::kRegion, 0, kSpotRoleNext},
    {"", "service control policy", Class::kDenied, Scope::kRegion, 0,
     "A policy of your organization forbids it: whoever manages that must allow it, or name "
     "another "
     "region or type"},
    {"", "iam:PassRole", Class::kDenied, Scope::kAccount, 0,
     "Whoever submits must be allowed iam:PassRole on the role of the machines: 'stoker doctor "
     "--iam --infra aws/REGION' prints it in submitter.json"},
    {"UnauthorizedOperation", "", Class::kDenied, Scope::kAccount, 0, kRightsNext},
    {"AccessDenied", "", Class::kDenied, Scope::kAccount, 0, kRightsNext},
    {"AccessDeniedException", "", Class::kDenied, Scope::kAccount, 0, kRightsNext},
    {"AuthException", "", Class::kDenied, Scope::kAccount, 0, kRightsNext},
    {"AuthFailure", "", Class::kDenied, Scope::kAccount, 0, kKeysNext},
    {"InvalidClientTokenId", "", Class::kDenied, Scope::kAccount, 0, kKeysNext},
    {"UnrecognizedClientException", "", Class::kDenied, Scope::kAccount, 0, kKeysNext},
    {"SignatureDoesNotMatch", "", Class::kDenied, Scope::kAccount, 0, kKeysNext},
    {"IncompleteSignature", "", Class::kDenied, Scope::kAccount, 0, kKeysNext},
    {"MissingAuthenticationToken", "", Class::kDenied, Scope::kAccount, 0, kKeysNext},
    {"ExpiredToken", "", Class::kDenied, Scope::kAccount, 0, kLoginNext},
    {"ExpiredTokenException", "", Class::kDenied, Scope::kAccount, 0, kLoginNext},
    {"RequestExpired", "", Class::kDenied, Scope::kAccount, 0,
     "Log in again, or set this machine's clock"},
    {"Blocked", "", Class::kDenied, Scope::kAccount, 0,
     "Ask Amazon's support: the account is blocked"},
    {"OptInRequired", "Marketplace", Class::kDenied, Scope::kRequest, 0,
     "Accept the image's terms at https://aws.amazon.com/marketplace, or name another image_id"},
    {"OptInRequired", "subscribed to this service", Class::kDenied, Scope::kAccount, 0,
     kSignUpNext},
    {"OptInRequired", "", Class::kDenied, Scope::kAccount, 0,
     "Subscribe to the image in the marketplace, or enable the region for the account: aws account "
     "enable-region --region-name REGION"},
    {"SubscriptionRequiredException", "", Class::kDenied, Scope::kAccount, 0, kSignUpNext},
    {"NotSignedUp", "", Class::kDenied, Scope::kAccount, 0, kSignUpNext},
    {"", "eligible for Free Tier", Class::kDenied, Scope::kMarket, 0,
     "The account is on the free plan: upgrade it at "
     "https://console.aws.amazon.com/billing/home#/account, or name a type of: aws ec2 "
     "describe-instance-types --filters Name=free-tier-eligible,Values=true"},
    // It names what was made a moment ago.
    {"InvalidParameterValue", "Invalid IAM Instance Profile", Class::kNotYetConsistent,
     Scope::kRequest, 0, "The role of the machines does not exist, or was made just now"},
    {"InvalidParameterValue", "has no associated IAM Roles", Class::kNotYetConsistent,
     Scope::kRequest, 0,
     "The role was put into the profile just now, and it is asked again for some minutes; or "
     "never: "
     "aws iam add-role-to-instance-profile --instance-profile-name stoker --role-name stoker"},
    {"InvalidGroup.NotFound", "", Class::kNotYetConsistent, Scope::kRequest, 0, kSoonNext},
    {"InvalidSecurityGroupID.NotFound", "", Class::kNotYetConsistent, Scope::kRequest, 0,
     kSoonNext},
    {"InvalidLaunchTemplateId.NotFound", "", Class::kNotYetConsistent, Scope::kRequest, 0,
     kSoonNext},
    {"InvalidPlacementGroup.Unknown", "", Class::kNotYetConsistent, Scope::kRequest, 0, kSoonNext},
    // Its machines have come and gone; another request may be made of other parameters.
    {"IdempotentInstanceTerminated", "", Class::kOver, Scope::kRequest, 0, kOverNext},
    {"IdempotentParameterMismatch", "", Class::kOver, Scope::kRequest, 0, kOverNext},
    // Nobody can be given this in that zone.
    {"InvalidZone.NotFound", "", Class::kInvalid, Scope::kZone, 0, "Name another zone, or none"},
    {"InvalidAvailabilityZone", "", Class::kInvalid, Scope::kZone, 0, "Name another zone, or none"},
    {"InvalidSubnetID", "", Class::kInvalid, Scope::kZone, 0,
     "See: aws ec2 describe-subnets --region REGION"},
    {"InvalidSubnet", "", Class::kInvalid, Scope::kZone, 0,
     "See: aws ec2 describe-subnets --region REGION"},
    // Nobody can be given this at all.
    {"VPCIdNotSpecified", "", Class::kInvalid, Scope::kRequest, 0,
     "The region has no default VPC: aws ec2 create-default-vpc --region REGION"},
    {"MissingInput", "No default VPC", Class::kInvalid, Scope::kRequest, 0,
     "The region has no default VPC: aws ec2 create-default-vpc --region REGION"},
    {"InvalidAMIID", "", Class::kInvalid, Scope::kRequest, 0,
     "The image is not there, or not for this account: aws ec2 describe-images --region REGION "
     "--image-ids IMAGE"},
    {"InvalidUserData", "", Class::kInvalid, Scope::kRequest, 0,
     "What the machines are told is stoker's: please report it"},
};

}  // namespace stoker::ec2
