// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_provider.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "provider/cloud/boot_words.h"
#include "provider/gce/compute_api.h"
#include "provider/gce/gce_answer.h"
#include "provider/gce/gce_boot.h"
#include "provider/gce/gce_catalog.h"
#include "provider/gce/gce_errors.h"
#include "provider/gce/gce_fleet.h"
#include "provider/gce/gce_late.h"
#include "provider/gce/gce_placement.h"
#include "provider/gce/gce_request.h"
#include "provider/gce/gce_resolve.h"

namespace stoker {
namespace gce {
namespace {

constexpr int kMostTries = 12;  // of one request: its time is over long before
// Whoever opens an entry sends it at once, while ten minutes of its time are left, and others three
// seconds later at the soonest (reconcile/). So one with less left than this may have been sent by
// somebody else. If that is not so, a list is asked in vain.
constexpr Duration kLeftOfNew = Duration::Seconds(9 * 60 + 57);

Refusal Refuse(RefusalClass what, std::string message) {
  Refusal refusal;
  refusal.what = what;
  refusal.scope = RefusalScope::kRequest;
  refusal.message = std::move(message);
  return refusal;
}

// One that this process has seen: as it last was, and since when; told so long after its end.
struct Listed {
  InstanceSeen seen;
  WallTime since;
};
constexpr Duration kRemembered = Duration::Hours(1);

// What became of one try.
struct Outcome {
  std::optional<Operation> operation;  // unset: it was refused at once, or made under another id
  std::optional<Refusal> refusal;
  bool there = false;  // something of that name is there
  bool known =
      false;  // its id stands for another request: of the same token, so it is over or there
  bool notice = true;  // else it was the notice of preemption that was refused
};

class Gce : public Provider {
 public:
  Gce(std::shared_ptr<ComputeApi> api, cloud::Notes notes, Duration told_for)
      : api_(std::move(api)), notes_(std::move(notes)), fleet_(*api_, notes_), told_for_(told_for) {
    traits_.name = kGceProvider;
    traits_.takes_gangs = true;
    traits_.may_stop = true;
    traits_.can_start = true;
    traits_.tells_ender = true;
    // Assumed: Google documents no delay of its lists, and has none for what an operation has made.
    traits_.appear_within = Duration::Minutes(2);
  }

  const ProviderTraits& traits() const override { return traits_; }

  // The answer is an operation, and its errors come later: whoever asks for the same again, which
  // any observer does as long as no machine of it is seen, is told what became of it.
  LaunchAnswer Launch(const LaunchRequest& request) override {
    const Place& place = request.ask.place;
    if (!IsSafeName(place.account) || !IsSafeName(place.zone)) {
      return Refuse(RefusalClass::kInvalid, "the request names no project and zone");
    }
    STOKER_ASSIGN(const WallTime now, StoreNow());
    if (request.not_after.ms > 0 && now > request.not_after) {
      return Refuse(RefusalClass::kOver, "the time to send this request is over");
    }
    const auto options = ParseOptions(request.ask.options);
    if (!options.ok()) return Refuse(RefusalClass::kInvalid, options.status().ToString());
    const auto startup = StartupScript(request, *options);
    if (!startup.ok()) return Refuse(RefusalClass::kInvalid, startup.status().ToString());
    Try attempt;
    const auto checked = LaunchBody(request, *options, *startup, attempt);
    if (!checked.ok()) return Refuse(RefusalClass::kInvalid, checked.status().ToString());
    STOKER_TRY(fleet_.Note(GcePlace(place.account, place.zone)));
    while (attempt.number < kMostTries) {
      auto tried = TryOnce(request, *options, *startup, attempt);
      if (!tried.ok()) return NoAnswerOf(tried.status());
      const bool failed = tried->operation && !tried->operation->errors.empty();
      if (attempt.notice && !tried->notice) {
        Forget(request.token);
        attempt.notice = false;
        continue;
      }
      if (tried->refusal) return *tried->refusal;
      if (tried->known) return GivenByName(request);
      if (tried->there) {
        auto given = GivenByName(request);
        const bool over = given.refusal() && given.refusal()->what == RefusalClass::kOver;
        if (!over) return given;
        return Status(Code::kUnavailable, "what is said to be there is not to be seen yet");
      }
      if (!failed) {
        return tried->operation->done ? GivenByName(request) : Named(request);
      }
      if (api_->Now() - tried->operation->ended < told_for_) {
        return Refused(request, *tried->operation);
      }
      Forget(request.token);
      ++attempt.number;
    }
    return Refuse(RefusalClass::kOver, "it has failed too often");
  }

  Result<InstancesSeen> Describe(const std::string& ledger_id, const std::string& job) override {
    STOKER_ASSIGN(const std::string filter, InstancesFilter(ledger_id, job));
    STOKER_ASSIGN(Fleet::Listing heard, fleet_.ListAll(filter));
    InstancesSeen out;
    for (const Instance& instance : heard.instances) {
      if (instance.unsure || !IsNamedByRequest(instance.seen)) continue;
      out.push_back(instance.seen);
      if (out.back().state == InstanceState::kStopping) TellEnder(&out.back());
    }
    out.unheard = std::move(heard.unheard);
    AddStartRefusals(&out);
    AddRefused(ledger_id, job, &out);  // first: it says why, also of those that were there a moment
    AddVanished(ledger_id, job, &out);
    return out;
  }

  void Expect(const std::vector<InstanceMet>& met) override {
    for (const InstanceMet& one : met) {
      if (!IsInstanceName(one.seen.id)) continue;
      fleet_.Remember(one.seen.id, one.place.account, one.place.zone);
      const std::lock_guard lock(mutex_);
      const auto [listed, is_new] = listed_.try_emplace(one.seen.id, Listed{one.seen, api_->Now()});
      if (is_new) listed->second.seen.place = one.place;
    }
  }

  Status Terminate(const std::string& id) override {
    STOKER_ASSIGN(const std::optional<Found> found, fleet_.Find(id));
    return found ? Delete(*found) : Status::Ok();
  }

  // Google's no comes in the operation, as a rule: see AddStartRefusals.
  StartAnswer Start(const std::string& id) override {
    STOKER_ASSIGN(const std::optional<Found> found, fleet_.Find(id));
    if (!found) return Status(Code::kNotFound, id + " is gone");
    const InstanceState state = found->instance.seen.state;
    if (state == InstanceState::kStopping) {
      return Status(Code::kBusy, id + " is still being stopped");
    }
    if (state != InstanceState::kStopped) return Status::Ok();
    const Call call{"POST", PathOf(*found) + "/start"};
    STOKER_ASSIGN(const Reply reply, api_->Repeat(call));
    if (!reply.failure) return Status::Ok();
    if (auto refusal = RefusalOf(*reply.failure)) return *std::move(refusal);
    return StatusOf(Described(call), *reply.failure);
  }

  Result<std::optional<BootFailure>> WhyNotBooted(const std::string& id, const Ask& ask) override {
    STOKER_ASSIGN(const Options options, ParseOptions(ask.options));
    STOKER_ASSIGN(const std::optional<Found> found, fleet_.Find(id));
    if (!found) return std::optional<BootFailure>();  // with all that it had said
    const auto body =
        api_->Read({"GET", PathOf(*found) + "/getGuestAttributes", {{"queryPath", "stoker/"}}});
    if (body.status().Is(Code::kNotFound)) return std::optional<BootFailure>();
    STOKER_TRY(body.status());
    STOKER_ASSIGN(const std::string said, ParseGuestAttributes(*body));
    cloud::BootAdvice advice;
    advice.has_route =
        options.external_ip || (cloud::SaysNoRoute(said) && HasPrivateAccess(ask, options));
    advice.no_route =
        "Its subnetwork needs Private Google Access, or the VM an external address: gcloud compute "
        "networks subnets update SUBNET --region " +
        ask.place.region + " --enable-private-ip-google-access; gcp.external_ip";
    advice.denied =
        "The account of the VMs may not read the bucket; a right that was given just now takes "
        "some "
        "minutes: 'stoker doctor --iam --infra gcp --write iam' writes the roles, and prints the "
        "commands that bind them";
    return cloud::BootFailureIn(said, advice);
  }

  Result<bool> MayStillRefuse(const std::string& token) {
    const auto sent = SentBefore(token);
    if (!sent || sent->done) return false;
    STOKER_ASSIGN(const std::string body, api_->Read({"GET", sent->path}));
    STOKER_ASSIGN(const Operation operation, ParseOperation(body));
    Remember(*sent, operation);
    return !operation.done;
  }

  Status Interrupt(const std::string& id, Duration lead) override {
    STOKER_ASSIGN(const std::optional<Found> found, fleet_.Find(id));
    const bool lives = found && (found->instance.seen.state == InstanceState::kRunning ||
                                 found->instance.seen.state == InstanceState::kBooting);
    if (!lives) return Status(Code::kNotFound, "instance " + Printable(id) + " does not run");
    return notes_.drill(found->instance.seen.job, id, lead);
  }

 private:
  struct Sent {
    LaunchRequest request;
    std::string path;  // of its operation
    Try attempt;
    bool done = false;
    std::optional<Refusal> refusal;  // done, and it has failed
  };

  // What this process lacks is not Google's word, but it has done nothing either.
  static LaunchAnswer NoAnswerOf(const Status& status) {
    if (!status.Is(Code::kDenied) && !status.Is(Code::kInvalid)) return status;
    Refusal refusal = Refuse(RefusalClass::kDenied, status.ToString());
    refusal.scope = RefusalScope::kAccount;
    return refusal;
  }

  static bool AnyRefusesNotice(const Operation& operation) {
    return std::any_of(operation.errors.begin(), operation.errors.end(), RefusesNotice);
  }

  // No clock but the store's: Google's and this machine's may be minutes from it.
  Result<WallTime> StoreNow() {
    if (!notes_.store_now()) STOKER_TRY(notes_.places().status());
    if (const auto now = notes_.store_now()) return *now;
    return Status(Code::kUnavailable, "the store does not say what time it is");
  }

  // Sent under the id of this try. What was sent before, by this process or by another one, is only
  // looked up.
  Result<Outcome> TryOnce(const LaunchRequest& request, const Options& options,
                          const std::string& startup, Try& attempt) {
    const std::string zone = ZonePath(request.ask.place.account, request.ask.place.zone);
    if (const auto sent = SentBefore(request.token)) {
      attempt = sent->attempt;
      STOKER_ASSIGN(const std::string body, api_->Read({"GET", sent->path}));
      STOKER_ASSIGN(const Operation operation, ParseOperation(body));
      return OutcomeOf(request, attempt, operation);
    }
    const std::string id = RequestId(request, attempt);
    STOKER_ASSIGN(const WallTime now, StoreNow());
    if (request.not_after - now < kLeftOfNew) {
      STOKER_ASSIGN(const std::optional<Operation> found, FindOperation(zone, id));
      if (found) return OutcomeOf(request, attempt, *found);
    }
    STOKER_ASSIGN(const std::string body, LaunchBody(request, options, startup, attempt));
    Outcome out;
    if (!options.placement.empty()) {
      STOKER_ASSIGN(out.refusal, MakePolicy(*api_, request));
      if (out.refusal) return out;
    }
    const Call call{"POST", zone + LaunchMethod(request), {{"requestId", id}}, body};
    STOKER_ASSIGN(const Reply reply, api_->Send(call));
    if (!reply.failure) {
      STOKER_ASSIGN(const Operation operation, ParseOperation(reply.body));
      return OutcomeOf(request, attempt, operation);
    }
    out.there = IsThere(*reply.failure);
    out.known = IsOtherRequest(*reply.failure);
    if (out.there || out.known) return out;
    out.notice = !RefusesNotice(*reply.failure);
    out.refusal = RefusalOf(*reply.failure, request.launches.size());
    if (!out.refusal) return StatusOf(Described(call), *reply.failure);
    return out;
  }

  Outcome OutcomeOf(const LaunchRequest& request, const Try& attempt, const Operation& operation) {
    const Place& place = request.ask.place;
    Sent sent{request,
              ZonePath(place.account, place.zone) + "operations/" + operation.name,
              attempt,
              operation.done,
              {}};
    {
      const std::lock_guard lock(mutex_);
      sent_[request.token] = std::move(sent);
    }
    Outcome out;
    out.operation = operation;
    out.notice = !AnyRefusesNotice(operation);
    return out;
  }

  // Whoever sent it, be it dead: Google keeps operations for two weeks, and finds them by the id
  // that they were sent under. Unset: nobody has sent it, or no list shows it yet.
  Result<std::optional<Operation>> FindOperation(const std::string& zone, const std::string& id) {
    STOKER_ASSIGN(
        const std::string body,
        api_->Read(
            {"GET", zone + "operations", {{"filter", "clientOperationId = \"" + id + "\""}}}));
    STOKER_ASSIGN(std::vector<Operation> found, ParseOperations(body));
    for (Operation& operation : found) {
      const bool it = operation.request_id == id && IsLabelValue(operation.name);
      if (it) return std::optional(std::move(operation));
    }
    return std::optional<Operation>();
  }

  // What has become of it since.
  void Remember(const Sent& sent, const Operation& operation) {
    if (!operation.done) return;
    if (!operation.errors.empty() && !AnyRefusesNotice(operation)) {
      (void)Refused(sent.request, operation);
    }
    const std::lock_guard lock(mutex_);
    const auto found = sent_.find(sent.request.token);
    if (found != sent_.end() && found->second.path == sent.path) found->second.done = true;
  }

  // That it has failed is told to all who look from now on, as its machines were seen before.
  Refusal Refused(const LaunchRequest& request, const Operation& operation) {
    Refusal refusal = RefusalIn(request, operation);
    const std::lock_guard lock(mutex_);
    const auto found = sent_.find(request.token);
    if (found != sent_.end()) found->second.refusal = refusal;
    return refusal;
  }

  // What was listed here before and is not any more is asked for by its name: no list has what was
  // deleted, and that one is left out says little.
  void AddVanished(const std::string& ledger_id, const std::string& job, InstancesSeen* out) {
    std::vector<InstanceSeen> missing;
    {
      const std::lock_guard lock(mutex_);
      std::set<std::string> here;
      for (const InstanceSeen& seen : *out) {
        here.insert(seen.id);
        listed_[seen.id] = {seen, api_->Now()};
      }
      for (const auto& [id, one] : listed_) {
        const InstanceSeen& seen = one.seen;
        const bool asked = seen.ledger_id == ledger_id && (job.empty() || seen.job == job);
        if (asked && !here.contains(id)) missing.push_back(seen);
      }
    }
    for (InstanceSeen& seen : missing) {
      const bool was_gone = seen.state == InstanceState::kGone;
      if (!was_gone && !HasVanished(&seen)) continue;
      if (seen.ended_by == EndedBy::kUnknown) TellEnder(&seen);
      const std::lock_guard lock(mutex_);
      Listed& kept = listed_[seen.id];
      if (!was_gone) kept.since = api_->Now();
      kept.seen = seen;
      out->push_back(std::move(seen));
    }
    // Whom a record still wants is expected anew at each look.
    const std::lock_guard lock(mutex_);
    std::erase_if(listed_, [now = api_->Now()](const auto& one) {
      return now - one.second.since > kRemembered;
    });
  }

  // Without an external address. Who may not look, as nodes may not, goes by what is usual: there
  // is none.
  bool HasPrivateAccess(const Ask& ask, const Options& options) {
    const auto subnetwork = ReadSubnetwork(*api_, SubnetworkPath(options, ask.place.region));
    return subnetwork.ok() && subnetwork->private_access;
  }

  bool HasVanished(InstanceSeen* seen) {
    const auto place = fleet_.PlaceOf(seen->id);
    if (!place) return false;
    const auto found = fleet_.Get(place->first, place->second, seen->id);
    if (!found.ok() || *found) return false;
    seen->state = InstanceState::kGone;
    seen->freed = true;
    seen->up_for.reset();
    seen->why = "Compute Engine does not have it any more";
    return true;
  }

  // Of the operations on what goes or is gone: of one that goes, what is under way; else the newest
  // that has ended it. Where Google does not answer, and lists none yet, it stays unknown.
  void TellEnder(InstanceSeen* seen) {
    const auto place = fleet_.PlaceOf(seen->id);
    if (!place) return;
    const bool goes = seen->state == InstanceState::kStopping;
    WallTime newest;
    const auto all = OperationsOf(seen->id, place->first, place->second);
    for (const Operation& operation : all.value_or({})) {
      const EndedBy by = EnderOf(operation, UsualServiceAccount(place->first));
      if (by == EndedBy::kUnknown || !operation.errors.empty()) continue;
      if (goes ? operation.done : operation.done && operation.ended < newest) continue;
      if (operation.done) newest = operation.ended;
      seen->ended_by = by;
      if (by == EndedBy::kPlatform) seen->why = operation.type;
    }
  }

  // Why what is off did not come up, where somebody has asked for that: whoever looks finds it.
  void AddStartRefusals(InstancesSeen* out) {
    for (InstanceSeen& seen : *out) {
      const auto place = fleet_.PlaceOf(seen.id);
      if (seen.state != InstanceState::kStopped || !place) continue;
      const std::vector<Operation> told =
          OperationsOf(seen.id, place->first, place->second).value_or({});
      const Operation* newest = nullptr;
      for (const Operation& operation : told) {
        if (operation.type != "start") continue;
        const bool newer = newest == nullptr || !operation.done || operation.ended > newest->ended;
        if (newer && (newest == nullptr || newest->done)) newest = &operation;
      }
      if (newest == nullptr || !newest->done || newest->errors.empty()) continue;
      seen.refusal = RefusalOfOperation(newest->errors);
    }
  }

  Result<std::vector<Operation>> OperationsOf(const std::string& id, const std::string& project,
                                              const std::string& zone) {
    const std::string filter = "targetLink eq \".*/instances/" + id + "\"";
    STOKER_ASSIGN(
        const std::string body,
        api_->Read({"GET", ZonePath(project, zone) + "operations", {{"filter", filter}}}));
    return ParseOperations(body);
  }

  // Of what was asked for here: machines that will not come after all.
  void AddRefused(const std::string& ledger_id, const std::string& job,
                  std::vector<InstanceSeen>* out) {
    std::vector<Sent> all;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [token, sent] : sent_) {
        const LaunchRequest& request = sent.request;
        const bool asked = request.ledger_id == ledger_id && (job.empty() || request.job == job);
        const auto its = [&](const InstanceSeen& seen) { return seen.token == request.token; };
        if (asked && std::none_of(out->begin(), out->end(), its)) all.push_back(sent);
      }
    }
    for (Sent& sent : all) {
      if (!sent.done) {
        const auto body = api_->Read({"GET", sent.path});
        const auto operation = body.ok() ? ParseOperation(*body) : body.status();
        if (operation.ok()) Remember(sent, *operation);
      }
      const auto now = SentBefore(sent.request.token);
      if (now && now->refusal) TellRefused(*now, out);
    }
  }

  static void TellRefused(const Sent& sent, std::vector<InstanceSeen>* out) {
    for (size_t i = 0; i < sent.request.launches.size(); ++i) {
      const int index = static_cast<int>(i);
      InstanceSeen seen = SeenOf(sent.request, index, InstanceName(sent.request, index));
      seen.place = sent.request.ask.place;
      seen.state = InstanceState::kGone;
      seen.freed = true;
      seen.refusal = sent.refusal;
      out->push_back(std::move(seen));
    }
  }

  std::optional<Sent> SentBefore(const std::string& token) {
    const std::lock_guard lock(mutex_);
    const auto found = sent_.find(token);
    if (found == sent_.end()) return std::nullopt;
    return found->second;
  }

  void Forget(const std::string& token) {
    const std::lock_guard lock(mutex_);
    sent_.erase(token);
  }

  // A bulk says of itself only that it was rolled back: its parts say why.
  Refusal RefusalIn(const LaunchRequest& request, const Operation& operation) {
    std::vector<Failure> errors = operation.errors;
    if (request.launches.size() > 1 && !operation.group.empty() && IsLabelValue(operation.group)) {
      const Place& place = request.ask.place;
      const auto body =
          api_->Read({"GET",
                      ZonePath(place.account, place.zone) + "operations",
                      {{"filter", "operationGroupId = \"" + operation.group + "\""}}});
      const auto parts = body.ok() ? ParseOperations(*body) : body.status();
      for (const Operation& part : parts.value_or({})) {
        errors.insert(errors.end(), part.errors.begin(), part.errors.end());
      }
    }
    return RefusalOfOperation(errors, request.launches.size());
  }

  LaunchAnswer Named(const LaunchRequest& request) {
    std::vector<std::string> ids;
    for (size_t i = 0; i < request.launches.size(); ++i) {
      ids.push_back(InstanceName(request, static_cast<int>(i)));
      fleet_.Remember(ids.back(), request.ask.place.account, request.ask.place.zone);
    }
    return ids;
  }

  // Each is looked up: lists may be behind.
  LaunchAnswer GivenByName(const LaunchRequest& request) {
    std::vector<std::string> ids;
    bool any = false;
    for (size_t i = 0; i < request.launches.size(); ++i) {
      const std::string name = InstanceName(request, static_cast<int>(i));
      const Place& place = request.ask.place;
      STOKER_ASSIGN(const std::optional<Instance> found,
                    fleet_.Get(place.account, place.zone, name));
      const bool gone = !found || found->seen.state == InstanceState::kGone;
      if (found && found->seen.token != request.token) {
        return Refuse(RefusalClass::kInvalid, "another machine has the name " + name);
      }
      ids.push_back(gone ? "" : name);
      any = any || !gone;
    }
    if (!any) {
      return Refuse(RefusalClass::kOver, "the machines of this request have come and gone");
    }
    return ids;
  }

  static std::string PathOf(const Found& found) {
    return ZonePath(found.project, found.instance.zone) + "instances/" + found.instance.seen.id;
  }

  Status Delete(const Found& found) {
    const std::string id = DeleteId(found.instance.seen.id, api_->Now());
    const Call call{"DELETE", PathOf(found), {{"requestId", id}}};
    STOKER_ASSIGN(const Reply reply, api_->Repeat(call));
    if (!reply.failure) return Status::Ok();
    const Status status = StatusOf(Described(call), *reply.failure);
    return status.Is(Code::kNotFound) ? Status::Ok() : status;
  }

  const std::shared_ptr<ComputeApi> api_;
  const cloud::Notes notes_;
  Fleet fleet_;
  const Duration told_for_;
  ProviderTraits traits_;
  std::mutex mutex_;
  std::map<std::string, Sent> sent_;      // by token
  std::map<std::string, Listed> listed_;  // by id
};

}  // namespace
}  // namespace gce

std::string GcePlace(const std::string& project, const std::string& zone) {
  return project + "." + zone;
}

Status LabelExpiry(gce::ComputeApi& api, const std::string& project, const std::string& zone,
                   const std::string& instance_id, WallTime expires) {
  const std::string path = gce::ZonePath(project, zone) + "instances/" + instance_id;
  // Labels are set all at once, and only over those that were read.
  STOKER_ASSIGN(const std::string body, api.Read({"GET", path}));
  STOKER_ASSIGN(gce::Instance instance, gce::ParseInstance(body, api.Now()));
  instance.labels[gce::kExpiresLabel] = std::to_string(expires.ms / 1000);
  const nlohmann::json labels = {{"labels", instance.labels},
                                 {"labelFingerprint", instance.fingerprint}};
  const gce::Call call{"POST", path + "/setLabels", {}, labels.dump()};
  STOKER_ASSIGN(const gce::Reply reply, api.Repeat(call));
  if (!reply.failure) return Status::Ok();
  return gce::StatusOf("renewing the lease of " + instance_id, *reply.failure);
}

Result<bool> MayStillRefuse(Provider& provider, const std::string& token) {
  auto* const gce = dynamic_cast<gce::Gce*>(&provider);
  if (gce == nullptr) return false;
  return gce->MayStillRefuse(token);
}

std::unique_ptr<Provider> MakeGceProvider(std::shared_ptr<gce::ComputeApi> api, cloud::Notes notes,
                                          Duration told_for) {
  return std::make_unique<gce::Gce>(std::move(api), std::move(notes), told_for);
}

}  // namespace stoker
