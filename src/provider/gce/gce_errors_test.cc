// SPDX-License-Identifier: Apache-2.0
// Replies of Compute Engine as people have met them -> class, scope -> what is said next. Sources:
// threads at github.com, the Compute Engine documentation ("Troubleshooting resource availability
// errors", "Handling API errors"), and its discovery document.
#include "provider/gce/gce_errors.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace stoker::gce {
namespace {

using Class = RefusalClass;
using Scope = RefusalScope;

struct Case {
  const char* source;
  int status;
  const char* reason;  // of HTTP; "" = it is an operation's
  const char* code;    // of an operation, or of ErrorInfo
  const char* message;
  std::optional<Class> what;  // unset: no answer
  Scope scope;
  const char* next;  // part of the words
};

const Case kCases[] = {
    // Operations.
    {"googlefonts/fontbakery-dashboard#81", 503, "", "ZONE_RESOURCE_POOL_EXHAUSTED",
     "The zone 'projects/p/zones/us-central1-a' does not have enough resources available to "
     "fulfill the request. Try a different zone, or try again later.",
     Class::kCapacity, Scope::kZone, "Try a different zone"},
    {"scylladb/scylla-cluster-tests#12477", 503, "", "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
     "The zone 'projects/p/zones/us-east1-c' does not have enough resources available to fulfill "
     "the request.  '(resource type:compute)'.",
     Class::kCapacity, Scope::kZone, "resource type:compute"},
    {"GoogleCloudPlatform/cluster-toolkit#2389", 400, "", "IP_SPACE_EXHAUSTED",
     "IP space of 'projects/p/regions/r/subnetworks/s' is exhausted.", Class::kCapacity,
     Scope::kRegion, "subnetwork larger"},
    {"Privatehive/gcp-hosted-github-runner#7", 400, "", "IP_SPACE_EXHAUSTED_WITH_DETAILS",
     "IP space of 'projects/p/regions/us-central1/subnetworks/s' is exhausted. Insufficient free "
     "IP addresses in the IP range '10.0.1.0/24'.",
     Class::kCapacity, Scope::kRegion, "subnetwork larger"},
    {"GoogleCloudPlatform/cluster-toolkit#3225", 403, "", "QUOTA_EXCEEDED",
     "Quota 'CPUS_PER_VM_FAMILY' exceeded.  Limit: 12.0 in region europe-west4.", Class::kQuota,
     Scope::kRegion, "iam-admin/quotas"},
    {"fastai/course-v3#165", 403, "", "QUOTA_EXCEEDED",
     "Quota 'GPUS_ALL_REGIONS' exceeded.  Limit: 0.0 globally.", Class::kQuota, Scope::kAccount,
     "for ever where it is not: https://console.cloud.google.com/iam-admin/quotas, or gcloud beta "
     "quotas preferences create --service compute.googleapis.com --project PROJECT --quota-id "
     "GPUS-ALL-REGIONS-per-project "},
    {"gcloudrig/gcloudrig#44", 403, "", "QUOTA_EXCEEDED",
     "Quota 'NVIDIA_P4_GPUS' exceeded.  Limit: 0.0 in region us-west1.", Class::kQuota,
     Scope::kRegion, "--quota-id NVIDIA-P4-GPUS-per-project-region "},
    {"GoogleCloudPlatform/magic-modules#18826", 400, "invalid", "",
     "Invalid value for field 'resource.networkInterfaces[0].network': 'projects/p/global/networks/"
     "default'. The referenced network resource cannot be found.",
     Class::kNotYetConsistent, Scope::kRequest, "gcloud compute networks create default"},
    {"picatz/terraform-google-nomad#27", 404, "notFound", "",
     "The resource 'projects/p/global/networks/lab' was not found", Class::kInvalid,
     Scope::kRequest, "gcp.network"},
    {"hashicorp/terraform-provider-google#10227", 403, "forbidden", "",
     "Permission 'iam.serviceAccounts.actAs' denied on service account s@p (or it may not exist).",
     Class::kDenied, Scope::kAccount, "roles/iam.serviceAccountUser"},
    {"hashicorp/terraform-provider-google#15042", 404, "notFound", "",
     "The resource 'projects/p/serviceAccounts/stoker@p.iam.gserviceaccount.com' was not found",
     Class::kNotYetConsistent, Scope::kRequest, "gcloud iam service-accounts create stoker"},
    {"\"Troubleshoot billing\" (Cloud Storage documentation)", 403, "accountDisabled", "",
     "The billing account for the owning project is disabled in state absent", Class::kDenied,
     Scope::kAccount, "billing account"},
    {"kubicorn/kubicorn#475", 400, "", "SERVICE_ACCOUNT_ACCESS_DENIED",
     "The user does not have access to service account 's@p.iam.gserviceaccount.com'.",
     Class::kNotYetConsistent, Scope::kRequest, "roles/iam.serviceAccountUser"},
    {"2i2c-org/infrastructure#489", 412, "", "CONDITION_NOT_MET",
     "Constraint constraints/compute.vmExternalIpAccess violated for project 1.", Class::kInvalid,
     Scope::kRequest, "gcp.external_ip: false"},
    {"googleapis/google-cloud-java#9312", 400, "", "RESOURCE_NOT_READY",
     "The resource 'projects/p/zones/z/instances/i' is not ready", Class::kNotYetConsistent,
     Scope::kRequest, "is not ready"},
    {"discovery document: httpErrorStatusCode of an operation", 500, "", "INTERNAL_ERROR",
     "Internal error. Please try again or contact Google Support.", Class::kCapacity, Scope::kZone,
     "Internal error"},
    {"discovery document: minCount of bulkInsert", 409, "", "VM_MIN_COUNT_NOT_REACHED",
     "Requested minimum count of 2 VMs could not be created.", Class::kCapacity, Scope::kZone,
     "minimum count"},
    {"dstackai/dstack#2586", 400, "", "INVALID_USAGE",
     "No more than 0 instances of machine type a3-highgpu-8g can be created with this policy.",
     Class::kInvalid, Scope::kRequest, "gcp.placement"},
    // At once.
    {"dstackai/dstack#2591", 400, "invalid", "",
     "Placement policy is not applicable to machine type n1-standard-1.", Class::kInvalid,
     Scope::kRequest, "gcp.placement"},
    {"discovery document: resourcePolicies of an instance", 404, "notFound", "",
     "The resource 'projects/p/regions/us-central1/resourcePolicies/stoker-j-0-n' was not found",
     Class::kNotYetConsistent, Scope::kRequest, "was not found"},
    {"hashicorp/terraform-provider-google#8360", 403, "rateLimitExceeded", "",
     "Quota exceeded for quota group 'ReadGroup' and limit 'Read requests per 100 seconds' of "
     "service 'compute.googleapis.com' for consumer 'project_number:123456'.",
     Class::kThrottled, Scope::kAccount, "ReadGroup"},
    {"odeke-em/drive#343", 403, "userRateLimitExceeded", "", "User rate limit exceeded",
     Class::kThrottled, Scope::kAccount, "User rate"},
    {"murer/dsopz#6", 403, "dailyLimitExceeded", "", "Daily Limit Exceeded.", Class::kThrottled,
     Scope::kAccount, "Daily"},
    {"GoogleCloudPlatform/python-docs-samples#3482", 429, "", "",
     "Quota exceeded for quota metric 'Write requests'", Class::kThrottled, Scope::kAccount,
     "Write requests"},
    {"Handling API errors: quotaExceeded", 403, "quotaExceeded", "",
     "Quota 'CPUS' exceeded.  Limit: 24.0 in region us-central1.", Class::kQuota, Scope::kRegion,
     "iam-admin/quotas"},
    {"hashicorp/terraform#19912", 403, "accessNotConfigured", "SERVICE_DISABLED",
     "Compute Engine API has not been used in project 1 before or it is disabled. Enable it by "
     "visiting https://console.developers.google.com/apis/api/compute.googleapis.com/overview then "
     "retry. If you enabled this API recently, wait a few minutes for the action to propagate.",
     Class::kNotYetConsistent, Scope::kRequest, "gcloud services enable compute.googleapis.com"},
    {"GoogleCloudPlatform/java-docs-samples#276", 403, "forbidden", "",
     "Project p (#1) has billing disabled. Please enable it.", Class::kDenied, Scope::kAccount,
     "billing account"},
    {"West-Coast-Devops/scheduled-scaler#18", 403, "insufficientPermissions", "",
     "Insufficient Permission: Request had insufficient authentication scopes.", Class::kDenied,
     Scope::kAccount, "scope cloud-platform"},
    {"DataBiosphere/leonardo#332", 403, "forbidden", "ACCESS_TOKEN_SCOPE_INSUFFICIENT",
     "Request had insufficient authentication scopes.", Class::kDenied, Scope::kAccount,
     "scope cloud-platform"},
    {"cloudyr/googleComputeEngineR#94", 403, "forbidden", "",
     "Required 'compute.instances.create' permission for 'projects/p'", Class::kDenied,
     Scope::kAccount, "stoker doctor --iam"},
    {"discovery document: OAuth 2.0", 401, "authError", "",
     "Request had invalid authentication credentials.", Class::kDenied, Scope::kAccount,
     "Log in again"},
    {"GoogleCloudPlatform/gke-migration-to-containers#63", 400, "resourceNotReady", "",
     "The resource 'projects/p/regions/us-central1/subnetworks/default' is not ready",
     Class::kNotYetConsistent, Scope::kRequest, "is not ready"},
    {"GoogleCloudPlatform/bank-of-anthos#1234", 400, "invalid", "",
     "Invalid value for field 'resource.machineType': 'n1-standard-1'. Machine type with name "
     "'n1-standard-1' does not exist in zone 'europe-west8-a'.",
     Class::kInvalid, Scope::kZone, "does not exist in zone"},
    {"fastai/course-v3#430", 404, "notFound", "",
     "The resource 'projects/p/zones/us-west1-b/acceleratorTypes/nvidia-tesla-p4' was not found",
     Class::kInvalid, Scope::kZone, "was not found"},
    {"hashicorp/terraform-provider-google#9522", 404, "notFound", "",
     "The resource 'projects/p/global/images/family/rocky-linux-8' was not found", Class::kInvalid,
     Scope::kRequest, "was not found"},
    {"gardener/gardener-extension-provider-gcp#415", 412, "conditionNotMet", "",
     "Constraint constraints/compute.vmExternalIpAccess violated for project p.", Class::kInvalid,
     Scope::kRequest, "gcp.external_ip"},
    {"IBMSpectrumComputing/cloud-provider-plugins#35", 503, "backendError", "",
     "Internal error. Please try again or contact Google Support.", std::nullopt, Scope::kRequest,
     ""},
    {"dstackai/dstack#488", 503, "", "", "", std::nullopt, Scope::kRequest, ""},
};

HttpResponse AnswerOf(const Case& each) {
  nlohmann::json error = {{"code", each.status}, {"message", each.message}};
  if (*each.reason != '\0') {
    error["errors"] = {{{"reason", each.reason}, {"message", each.message}}};
  }
  if (*each.code != '\0') {
    error["details"] = {
        {{"@type", "type.googleapis.com/google.rpc.ErrorInfo"}, {"reason", each.code}}};
  }
  if (*each.reason == '\0' && each.status == 429) error["status"] = "RESOURCE_EXHAUSTED";
  return {each.status, {}, nlohmann::json{{"error", error}}.dump()};
}

TEST(GceErrors, EachReplyHasItsClass) {
  EXPECT_GE(std::size(kCases), 20U);
  for (const Case& each : kCases) {
    std::optional<Refusal> told;
    const bool operation = *each.reason == '\0' && *each.code != '\0';
    if (operation) {
      told = RefusalOfOperation({{each.status, each.code, "", each.message}});
    } else {
      told = RefusalOf(ParseFailure(AnswerOf(each)));
    }
    ASSERT_EQ(told.has_value(), each.what.has_value()) << each.source;
    if (!told) continue;
    EXPECT_EQ(static_cast<int>(told->what), static_cast<int>(*each.what))
        << each.source << ": " << told->message;
    EXPECT_EQ(static_cast<int>(told->scope), static_cast<int>(each.scope))
        << each.source << ": " << told->message;
    EXPECT_NE(told->message.find(each.next), std::string::npos)
        << each.source << ": " << told->message;
  }
}

TEST(GceErrors, ABulkIsToldByWhatItsPartsSay) {
  const std::vector<Failure> errors = {
      {409, "VM_MIN_COUNT_NOT_REACHED", "", "too few"},
      {403, "QUOTA_EXCEEDED", "", "Quota 'CPUS' exceeded.  Limit: 4.0 in region r."}};
  EXPECT_EQ(RefusalOfOperation(errors).what, Class::kQuota);
  EXPECT_EQ(RefusalOfOperation({errors[0]}).what, Class::kCapacity);
  EXPECT_EQ(RefusalOfOperation({}).what, Class::kCapacity);
}

TEST(GceErrors, AsManyAsOnePolicyHoldsIsALimit) {
  const auto told = [](int most, size_t machines) {
    return *RefusalOf({400, "INVALID_USAGE", "",
                       "No more than " + std::to_string(most) +
                           " instances of machine type "
                           "h3-standard-88 can be created with this policy."},
                      machines);
  };
  EXPECT_EQ(told(0, 1).what, Class::kInvalid);
  EXPECT_EQ(told(22, 23).what, Class::kInvalid);
  EXPECT_NE(told(22, 23).message.find("fewer nodes"), std::string::npos);
  // Others of the job have the policy: they may be gone later, or it is another zone's.
  EXPECT_EQ(told(22, 22).what, Class::kCapacity);
  EXPECT_EQ(told(1, 1).what, Class::kCapacity);
  const Failure vague{400, "INVALID_USAGE", "", "No more can be created with this policy."};
  EXPECT_EQ(RefusalOf(vague, 5)->what, Class::kCapacity);
}

// scylladb/scylla-machine-image#184; whether it is ours is looked up.
TEST(GceErrors, WhatIsThereIsNoRefusal) {
  EXPECT_TRUE(IsThere({409, "alreadyExists", "", "The resource '…/instances/i' already exists"}));
  EXPECT_FALSE(IsThere({400, "invalid", "", "x"}));
}

// "Set and query guest attributes" (Compute Engine documentation).
TEST(GceErrors, WhatAVmSaysOfItself) {
  const auto said = ParseGuestAttributes(
      R"({"kind": "compute#guestAttributes", "queryPath": "stoker/", "queryValue": {"items": [
          {"namespace": "stoker", "key": "boot", "value": "boot failed, denied: no"}]}})");
  ASSERT_TRUE(said.ok());
  EXPECT_EQ(*said, "boot failed, denied: no\n");
  EXPECT_EQ(*ParseGuestAttributes("{}"), "");
  EXPECT_FALSE(ParseGuestAttributes("<html>").ok());
}

TEST(GceErrors, ANoticeThatIsNotKnown) {
  EXPECT_TRUE(
      RefusesNotice({400, "invalid", "",
                     "Invalid value for field 'resource.scheduling.preemptionNoticeDuration'"}));
  EXPECT_FALSE(RefusesNotice({400, "invalid", "", "Invalid value for field 'resource.name'"}));
}

TEST(GceErrors, OtherCallsSayWhatToDo) {
  const auto code = [](int status, const char* reason, const char* message) {
    return StatusOf("GET x", {status, reason, "", message}).code();
  };
  EXPECT_EQ(code(404, "notFound", "The resource 'x' was not found"), Code::kNotFound);
  EXPECT_EQ(code(403, "rateLimitExceeded", "slower"), Code::kBusy);
  EXPECT_EQ(code(403, "forbidden", "Required 'x' permission for 'y'"), Code::kDenied);
  EXPECT_EQ(code(503, "backendError", "again"), Code::kUnavailable);
  EXPECT_EQ(code(400, "invalid", "bad"), Code::kInvalid);
  EXPECT_EQ(code(502, "", ""), Code::kUnavailable);
}

}  // namespace
}  // namespace stoker::gce
