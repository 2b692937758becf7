// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_rights.h"

#include "aws/account/account.h"
#include "aws/config.h"
#include "base/json.h"
#include "base/text.h"
#include "provider/ec2/ec2_resolve.h"
#include "provider/ec2/ec2_rights.h"
#include "provider/gce/gce_rights.h"
#include "store/rights.h"

namespace stoker::cli {
namespace {

// Roles of a project: what machines are made of is not in a bucket.
Result<Rights> WithGoogle(const std::string& store, Rights rights) {
  if (!StartsWith(store, "gs://")) {
    return Status(Code::kInvalid, "machines of Google need a store in a bucket of Google",
                  "Set the store first: stoker config set store gs://bucket/prefix");
  }
  STOKER_ASSIGN(rights.submitter, WithGceRights(rights.submitter, true));
  STOKER_ASSIGN(rights.node, WithGceRights(rights.node, false));
  rights.how =
      "Make roles of them and bind them on the project; storage permissions alone may be bound on "
      "the bucket instead:\n"
      "  gcloud iam roles create stokerSubmitter --project=PROJECT --file=submitter.json\n"
      "  gcloud iam roles create stokerNode --project=PROJECT --file=node.json\n"
      "  gcloud projects add-iam-policy-binding PROJECT --member=user:NAME "
      "--role=projects/PROJECT/roles/stokerSubmitter\n"
      "  gcloud iam service-accounts create stoker --project=PROJECT\n"
      "  gcloud projects add-iam-policy-binding PROJECT "
      "--member=serviceAccount:stoker@PROJECT.iam.gserviceaccount.com "
      "--role=projects/PROJECT/roles/stokerNode\n"
      "Leave compute.subnetworks.useExternalIp out where gcp.external_ip is false.\n";
  return rights;
}

// The machines' own policies, beside the roles of a bucket of Google's, which are its own affair.
Rights WithIdentity(const std::string& store) {
  const std::string bucket = store.substr(0, store.find('/', 5));
  Rights rights;
  rights.submitter = rights.node = R"({"Version": "2012-10-17", "Statement": []})";
  rights.how =
      "These are policies of Amazon's IAM: attach the first to the users or roles that submit, and "
      "the second to the role of the machines. The bucket is Google's: what it must allow, 'stoker "
      "doctor --iam' prints. Google must know the machines' role, and let it in:\n"
      "  gcloud iam roles create stokerNode --project=PROJECT --file=node.json  # of 'doctor "
      "--iam'\n"
      "  gcloud iam workload-identity-pools create stoker --project=PROJECT --location=global\n"
      "  gcloud iam workload-identity-pools providers create-aws stoker-aws --project=PROJECT "
      "--location=global --workload-identity-pool=stoker --account-id=AWS_ACCOUNT\n"
      "  gcloud storage buckets add-iam-policy-binding " +
      bucket +
      " --role=projects/PROJECT/roles/stokerNode --member=principalSet://iam.googleapis.com/"
      "projects/NUMBER/locations/global/workloadIdentityPools/stoker/attribute.aws_role/"
      "arn:aws:sts::AWS_ACCOUNT:assumed-role/ROLE\n"
      "  stoker config set aws.google_identity projects/NUMBER/locations/global/"
      "workloadIdentityPools/stoker/providers/stoker-aws\n";
  return rights;
}

// With `infra`, those of the places that it names, too.
Result<Rights> RightsOf(Context& context, const std::string& infra) {
  STOKER_ASSIGN(const stoker::Settings* settings, context.settings());
  STOKER_ASSIGN(Rights rights, RightsFor(settings->store, RegionOfRights(settings->store)));
  const Infra parts = ParseInfra(infra);
  if (parts.provider == kGceProvider) return WithGoogle(settings->store, std::move(rights));
  if (parts.provider != kEc2Provider) return rights;
  if (StartsWith(settings->store, "gs://")) rights = WithIdentity(settings->store);
  const std::string role =
      settings->aws_instance_profile.empty() ? kUsualProfile : settings->aws_instance_profile;
  for (std::string* policy : {&rights.submitter, &rights.node}) {
    const bool submitter = policy == &rights.submitter;
    STOKER_ASSIGN(*policy, WithEc2Rights(*policy, parts.where, role, submitter));
  }
  return rights;
}

}  // namespace

Status PrintRights(Context& context, const std::string& infra) {
  STOKER_ASSIGN(const Rights rights, RightsOf(context, infra));
  if (context.json) {
    const nlohmann::ordered_json both = {
        {"submitter", nlohmann::ordered_json::parse(rights.submitter)},
        {"node", nlohmann::ordered_json::parse(rights.node)}};
    context.Print(both.dump() + "\n");
    return Status::Ok();
  }
  context.Print("submitter.json, for whoever submits and looks:\n" + rights.submitter +
                "\n\nnode.json, for machines that run jobs:\n" + rights.node + "\n\n" + rights.how);
  return Status::Ok();
}

Result<std::vector<Finding>> TryRights(Context& context, const Infra& infra) {
  STOKER_ASSIGN(const stoker::Settings* settings, context.settings());
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const auto api, context.aws());
  STOKER_ASSIGN(const AwsAccount account, FindAwsAccount());
  const std::string region =
      infra.where.empty() ? AwsRegion(account.outside, account.config) : infra.where;
  const std::string profile =
      settings->aws_instance_profile.empty() ? kUsualProfile : settings->aws_instance_profile;
  std::vector<Finding> findings;
  std::vector<std::string> lacking;
  for (const RightTried& tried : TryEc2Rights(*api, region, ledger->id(), profile)) {
    if (tried.outcome == Tried::kDenied) lacking.push_back(tried.action);
    const char* level = tried.outcome == Tried::kAllowed  ? "ok"
                        : tried.outcome == Tried::kDenied ? "bad"
                                                          : "note";
    findings.push_back({tried.action, level,
                        tried.outcome == Tried::kAllowed ? "allowed in " + region
                        : tried.outcome == Tried::kDenied
                            ? "not allowed in " + region + " (" + tried.why + ")"
                            : "not known: " + tried.why});
  }
  if (!lacking.empty()) {
    findings.push_back(
        {"rights", "bad",
         "these lack: " + Join(lacking, ", ") + ". 'stoker doctor --iam --infra aws/" + region +
             "' prints submitter.json; whoever manages the account attaches it: aws iam "
             "put-user-policy --user-name NAME --policy-name stoker --policy-document "
             "file://submitter.json"});
  }
  return findings;
}

}  // namespace stoker::cli
