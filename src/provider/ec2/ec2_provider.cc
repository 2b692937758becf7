// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_provider.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "provider/ec2/api/aws_api.h"
#include "provider/ec2/api/ec2_errors.h"
#include "provider/ec2/api/ec2_way_out.h"
#include "provider/ec2/ec2_boot.h"
#include "provider/ec2/ec2_instances.h"
#include "provider/ec2/ec2_request.h"

namespace stoker {
namespace ec2 {
namespace {

constexpr int kMostPages = 1000;

Refusal Refuse(RefusalClass what, std::string message) {
  Refusal refusal;
  refusal.what = what;
  refusal.scope = RefusalScope::kRequest;
  refusal.message = std::move(message);
  return refusal;
}

Refusal Over() {
  return Refuse(RefusalClass::kOver, "the machines of this request have come and gone");
}

bool IsInstanceId(const std::string& id) {
  return StartsWith(id, "i-") && id.size() > 2 && id.size() <= 64 && IsSafeName(id);
}

class Ec2 : public Provider {
 public:
  Ec2(std::shared_ptr<AwsApi> api, cloud::Notes notes)
      : api_(std::move(api)), notes_(std::move(notes)) {
    traits_.name = "ec2";
    traits_.takes_gangs = true;
    traits_.may_stop = true;
    traits_.can_start = true;
    traits_.tells_ender = true;
  }

  const ProviderTraits& traits() const override { return traits_; }

  LaunchAnswer Launch(const LaunchRequest& request) override {
    const std::string& region = request.ask.place.region;
    if (!IsSafeName(region)) return Refuse(RefusalClass::kInvalid, "the request names no region");
    STOKER_ASSIGN(const WallTime now, StoreNow());
    if (request.not_after.ms > 0 && now > request.not_after) {
      return Refuse(RefusalClass::kOver, "the time to send this request is over");
    }
    const auto options = ParseOptions(request.ask.options);
    if (!options.ok()) return Refuse(RefusalClass::kInvalid, options.status().ToString());
    const auto user_data = UserData(request, *options);
    if (!user_data.ok()) return Refuse(RefusalClass::kInvalid, user_data.status().ToString());
    auto params = RunInstances(request, *options, *user_data);
    if (!params.ok()) return Refuse(RefusalClass::kInvalid, params.status().ToString());
    STOKER_TRY(Note(region));
    if (!options->placement.empty()) {
      const Call group{"ec2", region, "CreatePlacementGroup", CreatePlacementGroup(request)};
      const auto made = api_->Repeat(group);
      if (!made.ok()) return NoAnswerOf(made.status());
      if (made->failure && made->failure->code != "InvalidPlacementGroup.Duplicate") {
        return Refused(request, group, *made->failure);
      }
      const std::lock_guard lock(mutex_);
      let_go_.erase(PlacementGroupName(request));
    }
    const Call call{"ec2", region, "RunInstances", std::move(*params)};
    const auto reply = api_->Send(call);
    if (!reply.ok()) return NoAnswerOf(reply.status());
    if (reply->failure) return Refused(request, call, *reply->failure);
    STOKER_ASSIGN(const InstancePage page, ParseInstances(reply->body, reply->now));
    return Given(request, page.instances);
  }

  Result<InstancesSeen> Describe(const std::string& ledger_id, const std::string& job) override {
    STOKER_ASSIGN(const std::vector<std::string> regions, Regions());
    InstancesSeen out;
    for (const std::string& region : regions) {
      const auto found = List(region, [&](const std::string& next) {
        return DescribeInstances(ledger_id, job, "", next);
      });
      if (!found.ok()) {
        out.unheard.push_back({Place{traits_.name, "", region, ""}, found.status()});
        continue;
      }
      for (const Instance& instance : *found) {
        out.push_back(instance.seen);
        out.back().place = Place{traits_.name, "", region, instance.zone};
        if (HoldsGroup(instance, *found)) out.back().freed = false;
      }
    }
    if (!regions.empty() && out.unheard.size() == regions.size()) return out.Whole();
    return out;
  }

  Status Terminate(const std::string& id) override {
    STOKER_ASSIGN(const std::optional<Instance> found, Find(id));
    if (!found) return Status::Ok();
    if (found->seen.state == InstanceState::kGone) return LetGo(*found);
    return Change(id, "TerminateInstances").status;
  }

  StartAnswer Start(const std::string& id) override {
    STOKER_ASSIGN(const std::optional<Instance> found, Find(id));
    const Status gone(Code::kNotFound, id + " is gone");
    if (!found || found->seen.state == InstanceState::kGone) return gone;
    if (found->seen.state == InstanceState::kStopping) {
      return Status(Code::kBusy, id + " is still being stopped");
    }
    const Changed changed = Change(id, "StartInstances");
    // Between two states, as "pending" is, it takes no order; the next look tells which it was.
    if (changed.code == "IncorrectInstanceState") {
      return Status(Code::kBusy, changed.status.message());
    }
    return changed.refusal ? StartAnswer(*changed.refusal) : StartAnswer(changed.status);
  }

  Result<std::optional<BootFailure>> WhyNotBooted(const std::string& id, const Ask& ask) override {
    if (!IsInstanceId(id)) return Status(Code::kInvalid, "not an instance: " + Printable(id));
    STOKER_ASSIGN(const Options options, ParseOptions(ask.options));
    auto why = BootFailureOf(*api_, ask.place.region, id, options.vpc, options.subnet);
    // Nodes may not read it, nor need they: what powers itself off here is gone, and one that is
    // stopped was stopped by somebody.
    if (why.status().Is(Code::kDenied)) return std::optional<BootFailure>();
    return why;
  }

  Status Interrupt(const std::string& id, Duration lead) override {
    STOKER_ASSIGN(const std::optional<Instance> found, Find(id));
    const bool lives = found && (found->seen.state == InstanceState::kRunning ||
                                 found->seen.state == InstanceState::kBooting);
    if (!lives) return Status(Code::kNotFound, "instance " + Printable(id) + " does not run");
    return notes_.drill(found->seen.job, id, lead);
  }

 private:
  struct Changed {
    Status status;
    std::string code;  // of EC2's refusal
    std::optional<Refusal> refusal;
  };

  // What this process lacks is not EC2's word, but it has done nothing either.
  static LaunchAnswer NoAnswerOf(const Status& status) {
    if (!status.Is(Code::kDenied) && !status.Is(Code::kInvalid)) return status;
    Refusal refusal = Refuse(RefusalClass::kDenied, status.ToString());
    refusal.scope = RefusalScope::kAccount;
    return refusal;
  }

  // The last that is told of a placement group which has no machine any more.
  bool HoldsGroup(const Instance& instance, const std::vector<Instance>& all) {
    const auto in_it = [&](const Instance& other) {
      return other.group == instance.group && other.seen.state != InstanceState::kGone;
    };
    if (instance.group.empty() || instance.seen.state != InstanceState::kGone) return false;
    const std::lock_guard lock(mutex_);
    return !let_go_.contains(instance.group) && std::none_of(all.begin(), all.end(), in_it);
  }

  Status LetGo(const Instance& instance) {
    if (!StartsWith(instance.group, GroupName(instance.seen.ledger_id) + "-")) return Status::Ok();
    std::string region;
    {
      const std::lock_guard lock(mutex_);
      // By another machine of its gang.
      if (let_go_.contains(instance.group)) return Status::Ok();
      region = places_[instance.seen.id];
    }
    const Call call{"ec2", region, "DeletePlacementGroup", {{"GroupName", instance.group}}};
    const auto reply = api_->Repeat(call);
    STOKER_TRY(reply.status());
    const std::string code = reply->failure ? reply->failure->code : "";
    // In use: by machines that were asked for since.
    const bool over = code.empty() || code == "InvalidPlacementGroup.Unknown" ||
                      code == "InvalidPlacementGroup.InUse";
    if (!over) return StatusOf(Described(call) + " " + instance.group, *reply->failure);
    const std::lock_guard lock(mutex_);
    let_go_.insert(instance.group);
    return Status::Ok();
  }

  // What EC2 makes of a token that it knows already, and which others have used.
  LaunchAnswer Refused(const LaunchRequest& request, const Call& call, const Failure& failure) {
    auto refusal = RefusalOf(failure, request.ask);
    if (!refusal) return StatusOf(Described(call), failure);
    // A group, a network or a profile may have been deleted since it was looked up: who submits
    // next looks anew.
    if (refusal->what == RefusalClass::kInvalid ||
        refusal->what == RefusalClass::kNotYetConsistent) {
      api_->DropKept();
    }
    if (refusal->what != RefusalClass::kOver) return *refusal;
    STOKER_ASSIGN(const std::vector<Instance> known,
                  List(call.region, [&](const std::string& next) {
                    return DescribeInstances(request.ledger_id, request.job, request.token, next);
                  }));
    return Given(request, known);
  }

  LaunchAnswer Given(const LaunchRequest& request, const std::vector<Instance>& instances) {
    {
      const std::lock_guard lock(mutex_);
      for (const Instance& instance : instances) {
        places_[instance.seen.id] = request.ask.place.region;
      }
    }
    auto ids = IdsByIndex(instances, request.launches.size());
    const bool none =
        std::all_of(ids.begin(), ids.end(), [](const auto& id) { return id.empty(); });
    if (none) return Over();
    return ids;
  }

  Status Note(const std::string& region) {
    {
      const std::lock_guard lock(mutex_);
      if (noted_.contains(region)) return Status::Ok();
    }
    STOKER_TRY(notes_.note_place(region).WithContext("noting the region " + region));
    const std::lock_guard lock(mutex_);
    noted_.insert(region);
    return Status::Ok();
  }

  // No clock but the store's: EC2's and this machine's may be minutes from it.
  Result<WallTime> StoreNow() {
    if (!notes_.store_now()) STOKER_TRY(notes_.places().status());
    if (const auto now = notes_.store_now()) return *now;
    return Status(Code::kUnavailable, "the store does not say what time it is");
  }

  // Asked for anew each time: whoever noted one did so before anything was there.
  Result<std::vector<std::string>> Regions() {
    STOKER_ASSIGN(const std::vector<std::string> told, notes_.places());
    const std::lock_guard lock(mutex_);
    std::set<std::string> all(told.begin(), told.end());
    all.insert(noted_.begin(), noted_.end());
    return std::vector<std::string>(all.begin(), all.end());
  }

  // All pages, or an error: half a list says nothing about what it leaves out.
  Result<std::vector<Instance>> List(const std::string& region,
                                     const std::function<Params(const std::string&)>& params) {
    std::vector<Instance> out;
    std::string next;
    for (int page = 0; page < kMostPages; ++page) {
      WallTime now;
      STOKER_ASSIGN(const std::string body,
                    api_->Read({"ec2", region, "DescribeInstances", params(next)}, &now));
      STOKER_ASSIGN(InstancePage read, ParseInstances(body, now));
      for (Instance& instance : read.instances) {
        const std::lock_guard lock(mutex_);
        places_[instance.seen.id] = region;
        out.push_back(std::move(instance));
      }
      if (read.next.empty()) return out;
      next = read.next;
    }
    return Status(Code::kCorrupt, "the list of instances in " + region + " has no end");
  }

  // Only what carries a ledger's tag: nothing else is ever ours to touch. None: it is gone.
  Result<std::optional<Instance>> Find(const std::string& id) {
    if (!IsInstanceId(id)) return Status(Code::kInvalid, "not an instance: " + Printable(id));
    std::vector<std::string> regions;
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = places_.find(id); known != places_.end()) regions = {known->second};
    }
    if (regions.empty()) {
      STOKER_ASSIGN(regions, Regions());
    }
    Status unheard;
    for (const std::string& region : regions) {
      auto found = List(region, [&](const std::string& next) { return DescribeOne(id, next); });
      if (!found.ok()) {
        if (unheard.ok()) unheard = found.status();
        continue;
      }
      if (!found->empty()) return std::optional(std::move(found->front()));
    }
    // It may be where nobody answers.
    STOKER_TRY(unheard);
    return std::optional<Instance>();
  }

  // Of one that was just found.
  Changed Change(const std::string& id, const std::string& action) {
    std::string region;
    {
      const std::lock_guard lock(mutex_);
      region = places_[id];
    }
    const Call call{"ec2", region, action, {{"InstanceId.1", id}}};
    const auto reply = api_->Repeat(call);
    if (!reply.ok()) return {reply.status(), "", {}};
    if (!reply->failure) return {Status::Ok(), "", {}};
    if (reply->failure->code == "InvalidInstanceID.NotFound" && action == "TerminateInstances") {
      return {Status::Ok(), "", {}};
    }
    return {StatusOf(Described(call) + " of " + id, *reply->failure), reply->failure->code,
            RefusalOf(*reply->failure)};
  }

  const std::shared_ptr<AwsApi> api_;
  const cloud::Notes notes_;
  ProviderTraits traits_;
  std::mutex mutex_;
  std::set<std::string> noted_;                // by this process
  std::set<std::string> let_go_;               // placement groups, by this process
  std::map<std::string, std::string> places_;  // regions of instances that it has seen
};

}  // namespace
}  // namespace ec2

Status TagExpiry(ec2::AwsApi& api, const std::string& region, const std::string& instance_id,
                 WallTime expires) {
  const auto reply = api.Repeat({"ec2",
                                 region,
                                 "CreateTags",
                                 {{"ResourceId.1", instance_id},
                                  {"Tag.1.Key", ec2::kExpiresTag},
                                  {"Tag.1.Value", FormatRfc3339(expires)}}});
  STOKER_TRY(reply.status());
  if (!reply->failure) return Status::Ok();
  return ec2::StatusOf("renewing the lease of " + instance_id, *reply->failure);
}

std::unique_ptr<Provider> MakeEc2Provider(std::shared_ptr<ec2::AwsApi> api, cloud::Notes notes) {
  return std::make_unique<ec2::Ec2>(std::move(api), std::move(notes));
}

}  // namespace stoker
