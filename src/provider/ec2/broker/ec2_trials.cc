// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/broker/ec2_trials.h"

#include <algorithm>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "provider/ec2/api/aws_api.h"
#include "provider/ec2/api/ec2_errors.h"
#include "provider/ec2/api/ec2_lists.h"
#include "provider/ec2/api/ec2_role.h"
#include "provider/ec2/api/ec2_simulate.h"
#include "provider/ec2/broker/ec2_rights.h"
#include "provider/ec2/ec2_door.h"
#include "provider/ec2/ec2_holdings.h"
#include "provider/ec2/ec2_options.h"
#include "provider/ec2/ec2_request.h"
#include "provider/ec2/ec2_resolve.h"

namespace stoker {
namespace {

using ec2::AwsApi;
using ec2::Call;
using ec2::Failure;
using nlohmann::ordered_json;

// EC2 says which right it was that lacked, of the several that a call needs: "… is not authorized
// to perform: iam:PassRole on resource: …".
std::string LackedIn(const Failure& failure, const std::string& action) {
  if (EndsWith(failure.code, "ServiceLinkedRoleCreationNotPermitted")) {
    return "iam:CreateServiceLinkedRole";
  }
  constexpr std::string_view kMark = "perform: ";
  const size_t at = failure.message.find(kMark);
  if (at == std::string::npos) return action;
  const size_t begin = at + kMark.size();
  return failure.message.substr(begin, failure.message.find(' ', begin) - begin);
}

// It was let through, to be refused for what it asks. Sources: "Error codes" (EC2 API reference);
// "SendSSHPublicKey" (EC2 Instance Connect API reference).
bool IsLetThrough(const Failure& failure) {
  for (const char* code : {"DryRunOperation", "VolumeInUse", "InvalidArgsException",
                           "EC2InstanceStateInvalidException", "EC2InstanceUnavailableException"}) {
    if (failure.code == code) return true;
  }
  return EndsWith(failure.code, "NotFound") || EndsWith(failure.code, "AlreadyExists");
}

RightTried Outcome(const std::string& action, const Result<ec2::Reply>& reply) {
  if (!reply.ok()) return {action, Tried::kUnknown, reply.status().ToString()};
  if (!reply->failure || IsLetThrough(*reply->failure)) return {action, Tried::kAllowed, ""};
  const Status why = ec2::StatusOf(ec2::Described({"", "", action}), *reply->failure);
  if (why.Is(Code::kDenied)) {
    const std::string said = reply->failure->code + (why.next().empty() ? "" : "; " + why.next());
    return {LackedIn(*reply->failure, action), Tried::kDenied, said};
  }
  if (why.Is(Code::kNotFound)) return {action, Tried::kAllowed, ""};
  return {action, Tried::kUnknown, why.ToString()};
}

class Trier {
 public:
  Trier(AwsApi& api, const std::string& region, const std::string& ledger_id,
        const std::string& profile)
      : api_(api), region_(region), ledger_(ledger_id), profile_(profile) {
    std::vector<std::string> troubles;
    const auto holdings = Ec2Holdings(api, region, ledger_id, &troubles);
    for (const Holding& one : holdings.value_or(std::vector<Holding>())) {
      if (one.kind == HoldingKind::kMachine) machine_ = one.id;
      if (one.kind == HoldingKind::kGroup) group_ = one.id;
    }
    // Also those of machines that live, which no list of what is left over has.
    const Status volumes = ec2::EachItem(
        api,
        {"ec2", region, "DescribeVolumes",
         ec2::Filters({{std::string("tag:") + ec2::kLedgerTag, {ledger_id}}})},
        "volumeSet", [&](const pugi::xml_node& item) { volume_ = ec2::TextIn(item, "volumeId"); });
    for (const Status& one : {holdings.status(), volumes}) {
      if (!one.ok()) troubles.push_back(one.ToString());
    }
    if (!troubles.empty()) unseen_ = "what the ledger has there is not known: " + troubles.front();
  }

  std::vector<RightTried> TryAll();

  // ---- how rights are tried; each of the table's ----
  void Dry(const std::string& action) { Dry(action, {}); }
  void OnMachine(const std::string& action) { On(machine_, action, "InstanceId.1"); }
  void OnConsole(const std::string& action) { On(machine_, action, "InstanceId"); }
  void OnVolume(const std::string& action) { On(volume_, action, "VolumeId"); }
  void OnGroup(const std::string& action) { On(group_, action, "GroupId"); }
  void OnRules(const std::string& action) {
    On(group_, action, "GroupId",
       {{"IpPermissions.1.IpProtocol", "-1"}, {"IpPermissions.1.Groups.1.GroupId", group_}});
  }
  void NewGroup(const std::string& action) {
    Dry(action, {{"GroupName", TrialGroup()},
                 {"GroupDescription", "stoker: a trial"},
                 {"TagSpecification.1.ResourceType", "security-group"},
                 {"TagSpecification.1.Tag.1.Key", ec2::kLedgerTag},
                 {"TagSpecification.1.Tag.1.Value", ledger_}});
  }
  void NewPlace(const std::string& action) {
    Dry(action, {{"GroupName", TrialGroup()}, {"Strategy", ec2::kCluster}});
  }
  void NoPlace(const std::string& action) { Dry(action, {{"GroupName", TrialGroup()}}); }
  void Launch(const std::string& action);
  void Image(const std::string& action) {
    Json(action,
         {{"Name", "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"}});
  }
  // A parameter as a job's secret would be one, put and removed. Who may not put has none to
  // remove, and is told of its absence where he may remove.
  void Put(const std::string& action) {
    Json(action, {{"Name", Secret()},
                  {"Value", "trial"},
                  {"Type", "SecureString"},
                  {"Tags", {{{"Key", ec2::kLedgerTag}, {"Value", ledger_}}}}});
  }
  void Remove(const std::string& action) { Json(action, {{"Name", Secret()}}); }
  void Secrets(const std::string& action) {
    Json(action, {{"Path", "/stoker/" + ledger_}, {"WithDecryption", false}});
  }
  void Profile(const std::string& action) {
    out_.push_back(Outcome(
        action, api_.Repeat({"iam", region_, Bare(action), {{"InstanceProfileName", profile_}}})));
  }
  void Simulated(const std::string& action);
  void Key(const std::string& action);

 private:
  static std::string Bare(const std::string& action) { return action.substr(action.find(':') + 1); }
  std::string TrialGroup() const { return ec2::GroupName(ledger_) + "-trial"; }
  std::string Secret() const { return "/stoker/" + ledger_ + "/trial/TRIAL"; }

  void Dry(const std::string& action, ec2::Params params) {
    params.emplace_back("DryRun", "true");
    out_.push_back(Outcome(action, api_.Repeat({"ec2", region_, Bare(action), std::move(params)})));
  }
  void On(const std::string& thing, const std::string& action, const char* name,
          ec2::Params more = {}) {
    if (thing.empty()) return NothingYet(action);
    more.insert(more.begin(), {name, thing});
    Dry(action, std::move(more));
  }
  void NothingYet(const std::string& action) {
    out_.push_back({action, Tried::kUnknown,
                    !unseen_.empty() ? unseen_
                                     : "there is nothing yet to try it on: ask again once a job "
                                       "runs"});
  }
  void Json(const std::string& action, const ordered_json& body) {
    Call call{"ssm", region_, Bare(action)};
    call.json = body.dump();
    out_.push_back(Outcome(action, api_.Repeat(call)));
  }
  RightTried OneLaunch(const std::string& action, bool spot);

  AwsApi& api_;
  const std::string region_, ledger_, profile_;
  std::string machine_, group_, volume_;
  std::string unseen_;  // why one of them may be there all the same
  std::vector<RightTried> out_;
};

// Each action of the submitter's policy but the bucket's. null: the call of another needs it, too,
// and where it lacks it is named for that one.
struct Trial {
  const char* action;
  void (Trier::*run)(const std::string& action);
};
constexpr Trial kTrials[] = {
    {"ec2:DescribeAvailabilityZones", &Trier::Dry},
    {"ec2:DescribeCapacityReservations", &Trier::Dry},
    {"ec2:DescribeImages", &Trier::Dry},
    {"ec2:DescribeInstances", &Trier::Dry},
    {"ec2:DescribeInstanceTypeOfferings", &Trier::Dry},
    {"ec2:DescribeInstanceTypes", &Trier::Dry},
    {"ec2:DescribePlacementGroups", &Trier::Dry},
    {"ec2:DescribeRegions", &Trier::Dry},
    {"ec2:DescribeRouteTables", &Trier::Dry},
    {"ec2:DescribeSecurityGroups", &Trier::Dry},
    {"ec2:DescribeSecurityGroupRules", &Trier::Dry},
    {"ec2:DescribeSpotPriceHistory", &Trier::Dry},
    {"ec2:DescribeSubnets", &Trier::Dry},
    {"ec2:DescribeVolumes", &Trier::Dry},
    {"ec2:DescribeVpcEndpoints", &Trier::Dry},
    {"ec2:DescribeVpcs", &Trier::Dry},
    {"ssm:GetParameter", &Trier::Image},
    {"ssm:PutParameter", &Trier::Put},
    {"ssm:AddTagsToResource", nullptr},
    {"ssm:GetParametersByPath", &Trier::Secrets},
    {"ssm:DeleteParameter", &Trier::Remove},
    {"iam:GetInstanceProfile", &Trier::Profile},
    {"iam:SimulatePrincipalPolicy", &Trier::Simulated},
    {"ec2:RunInstances", &Trier::Launch},
    {"ec2:CreateTags", nullptr},
    {"iam:PassRole", nullptr},
    {"iam:CreateServiceLinkedRole", nullptr},
    {"ec2:CreateSecurityGroup", &Trier::NewGroup},
    {"ec2:AuthorizeSecurityGroupIngress", &Trier::OnRules},
    {"ec2:AuthorizeSecurityGroupEgress", &Trier::OnRules},
    {"ec2:RevokeSecurityGroupIngress", &Trier::OnRules},
    {"ec2:DeleteSecurityGroup", &Trier::OnGroup},
    {"ec2:CreatePlacementGroup", &Trier::NewPlace},
    {"ec2:DeletePlacementGroup", &Trier::NoPlace},
    {"ec2:TerminateInstances", &Trier::OnMachine},
    {"ec2:StartInstances", &Trier::OnMachine},
    {"ec2:GetConsoleOutput", &Trier::OnConsole},
    {"ec2:DeleteVolume", &Trier::OnVolume},
    {"ec2-instance-connect:SendSSHPublicKey", &Trier::Key},
};

std::vector<RightTried> Trier::TryAll() {
  for (const Trial& trial : kTrials) {
    if (trial.run != nullptr) (this->*trial.run)(trial.action);
  }
  return std::move(out_);
}

// A launch of the usual machine, which needs all that is needed to read, too. On spot the account
// must have a role of its own, or whoever asks first must be allowed to make it.
RightTried Trier::OneLaunch(const std::string& action, bool spot) {
  Ec2Wish wish;
  wish.spot = spot;
  wish.region = region_;
  wish.profile = profile_;
  const auto offers = ResolveEc2(api_, wish);
  if (!offers.ok()) return {action, Tried::kUnknown, offers.status().ToString()};
  LaunchRequest trial;
  trial.token = "trial";
  trial.job = "trial";
  trial.ledger_id = "trial";
  trial.launches = {1};
  trial.ask = offers->front().ask;
  trial.not_after = api_.Now();
  const auto options = ec2::ParseOptions(trial.ask.options);
  if (!options.ok()) return {action, Tried::kUnknown, options.status().ToString()};
  auto params = ec2::RunInstances(trial, *options, "");
  if (!params.ok()) return {action, Tried::kUnknown, params.status().ToString()};
  params->emplace_back("DryRun", "true");
  return Outcome(action, api_.Repeat({"ec2", region_, Bare(action), std::move(*params)}));
}

void Trier::Launch(const std::string& action) {
  out_.push_back(OneLaunch(action, false));
  out_.push_back(OneLaunch(action, true));
  if (out_.back().outcome != Tried::kDenied) out_.back().action += " on spot";
}

// Who may not ask it hears less, and is refused nothing.
void Trier::Simulated(const std::string& action) {
  const auto role = ec2::RoleOfProfile(api_, region_, profile_);
  if (!role.ok() || role->empty()) {
    out_.push_back({action, Tried::kUnknown, "the role of the machines is not told"});
    return;
  }
  RightTried tried = Outcome(action, api_.Repeat({"iam",
                                                  region_,
                                                  Bare(action),
                                                  {{"PolicySourceArn", *role},
                                                   {"ActionNames.member.1", "s3:GetObject"},
                                                   {"ResourceArns.member.1", "*"}}}));
  if (tried.outcome == Tried::kDenied) {
    tried.outcome = Tried::kUnknown;
    tried.why = "not allowed in " + region_ + " (" + tried.why +
                "), so that what the role of the machines may is not known";
  }
  out_.push_back(std::move(tried));
}

// As a key what is none, for a user that no image has: it is let through and refused, and the
// machine never hears of it.
void Trier::Key(const std::string& action) {
  if (machine_.empty()) return NothingYet(action);
  const auto door = FindEc2Door(api_, region_, machine_, ledger_);
  if (!door.ok()) {
    out_.push_back({action, Tried::kUnknown, door.status().ToString()});
    return;
  }
  const std::string no_key = "a trial of stoker's, which is no key: " + std::string(80, '-');
  out_.push_back(Outcome(action, api_.Repeat(Ec2KeyCall(*door, "stoker-trial", no_key))));
}

enum class How { kTried, kSimulated, kNotTried, kNoRights };
// A file of the rights: how doctor looks at it, what it calls that, and what follows where any of
// it lacks, or why nothing tries it.
struct FileLooked {
  const char* file;
  How how;
  const char* what;
  const char* words;
};
constexpr FileLooked kFiles[] = {
    {kSubmitterFile, How::kTried, "", ""},
    {kNodeFile, How::kSimulated, "node.json",
     "nodes do not do what needs it, which the job's record, 'stoker show' and their logs say; "
     "'recovery: controller' leaves it to others. node.json of 'stoker doctor --iam' is that "
     "policy"},
    {ec2::kTrustFile, How::kNoRights, "", ""},
    {ec2::kNodeLogsFile, How::kSimulated, "logs: {cloud: true}",
     "lines of jobs that ask for it stay in the store alone; node-logs.json of 'stoker doctor "
     "--iam' is that policy"},
    {ec2::kImagesFile, How::kSimulated, "images of ECR",
     "jobs whose image lies there do not begin; images.json of 'stoker doctor --iam' is that "
     "policy, for whoever submits, too, where docker has no login"},
    {ec2::kInstallerFile, How::kNotTried, "installer.json",
     "they make and take away what looks after jobs while nobody is at a desk: 'stoker controller "
     "--install aws' stops at the first that lacks, and names it"},
};

std::vector<std::string> ActionsIn(const std::string& policy, std::string_view begin) {
  std::vector<std::string> out;
  const auto questions = ec2::AskedOf(policy, "", "");
  for (const ec2::AskedRole& each : questions.value_or(std::vector<ec2::AskedRole>())) {
    for (const std::string& action : each.actions) {
      if (StartsWith(action, begin)) out.push_back(action);
    }
  }
  return out;
}

std::string PublishesTo(const std::string& topic) {
  return ordered_json({{"Statement",
                        {{{"Effect", "Allow"}, {"Action", "sns:Publish"}, {"Resource", topic}}}}})
      .dump();
}

}  // namespace

std::vector<RightTried> TryEc2Rights(AwsApi& api, const std::string& region,
                                     const std::string& ledger_id, const std::string& profile) {
  (void)api.Forget();  // what was allowed an hour ago may not be now
  return Trier(api, region, ledger_id, profile).TryAll();
}

std::vector<Finding> TellRights(const std::vector<RightTried>& all, const std::string& region) {
  std::vector<Finding> findings;
  std::vector<std::string> lacking;
  for (const RightTried& tried : all) {
    const bool told = std::find(lacking.begin(), lacking.end(), tried.action) != lacking.end();
    if (tried.outcome == Tried::kDenied && !told) lacking.push_back(tried.action);
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
             " --write iam' writes iam/submitter.json, and prints the commands by which whoever "
             "manages the account attaches it"});
  }
  return findings;
}

std::vector<Finding> TellOtherRights(AwsApi& api, const std::string& region,
                                     const std::string& profile, Rights rights,
                                     const std::vector<std::string>& topics) {
  std::vector<Finding> out;
  std::vector<RolePolicy> asked;
  for (const FileLooked& each : kFiles) {
    const std::string* text = rights.Find(each.file);
    if (text == nullptr) continue;
    if (each.how == How::kSimulated) asked.push_back({each.what, *text, each.words});
    if (each.how == How::kNotTried) {
      out.push_back({each.what, "note",
                     "not tried: " + Join(ActionsIn(*text, ""), ", ") + ": " + each.words});
    }
    const std::vector<std::string> bucket = ActionsIn(*text, "s3:");
    if (each.how == How::kTried && !bucket.empty()) {
      out.push_back({"bucket", "note",
                     "not tried here: " + Join(bucket, ", ") +
                         ": 'stoker doctor' looks at the "
                         "store"});
    }
  }
  for (const std::string& topic : topics) {
    asked.push_back({"notify " + Printable(topic), PublishesTo(topic),
                     "nodes leave events to whoever may; notify-sns.json of 'stoker doctor --iam' "
                     "is that policy, and 'stoker notify --test' tries your own"});
  }
  const auto role = ec2::RoleOfProfile(api, region, profile);
  for (Finding& finding : TellRoleMore(api, region, role.value_or(""), asked)) {
    out.push_back(std::move(finding));
  }
  return out;
}

namespace ec2 {

std::vector<std::string> TriedActions() {
  std::vector<std::string> out;
  for (const Trial& trial : kTrials) out.emplace_back(trial.action);
  return out;
}

std::string HowLookedAt(const std::string& file) {
  constexpr const char* kWords[] = {"tried", "simulated", "not tried", "no rights"};
  for (const FileLooked& each : kFiles) {
    if (file == each.file) return kWords[static_cast<int>(each.how)];
  }
  return "";
}

}  // namespace ec2
}  // namespace stoker
