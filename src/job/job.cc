// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"

#include <algorithm>
#include <iterator>

#include "base/digest.h"
#include "job/checkpoint_name.h"

namespace stoker {
namespace {

constexpr std::string_view kJobStates[] = {"Pending",   "Waiting", "Running",  "Stopping",
                                           "Succeeded", "Failed",  "Cancelled"};
constexpr std::string_view kAttemptStates[] = {"Provisioning", "Staging", "Running", "Draining",
                                               "Ended"};
constexpr std::string_view kEndReasons[] = {
    "None",      "Completed",     "UserError",  "Interrupted", "NodeLost",
    "NodeFault", "LaunchRefused", "NoProgress", "TimedOut",    "StoppedByRule",
    "Cancelled", "Internal",      "Moved"};
constexpr std::string_view kNodePhases[] = {"Waiting",  "Staging",  "Ready", "Running",
                                            "Draining", "Stopping", "Ended"};
constexpr std::string_view kCloseReasons[] = {"done",       "lost",       "interrupted", "refused",
                                              "never-came", "superseded", "moved",       "kept"};
constexpr std::string_view kMoveStates[] = {"Asked", "Told", "Arrived", "GivingUp", "GivenUp"};
static_assert(std::size(kMoveStates) == static_cast<size_t>(MoveState::kGivenUp) + 1);
constexpr std::string_view kRefusalClasses[] = {
    "capacity", "quota", "throttled",  "denied",
    "invalid",  "over",  "unanswered", "not-yet-consistent"};
constexpr std::string_view kRefusalScopes[] = {"request", "zone", "market", "region", "account"};
static_assert(std::size(kRefusalClasses) ==
              static_cast<size_t>(RefusalClass::kNotYetConsistent) + 1);
static_assert(std::size(kRefusalScopes) == static_cast<size_t>(RefusalScope::kAccount) + 1);
static_assert(std::size(kJobStates) == static_cast<size_t>(JobState::kCancelled) + 1);
static_assert(std::size(kAttemptStates) == static_cast<size_t>(AttemptState::kEnded) + 1);
static_assert(std::size(kEndReasons) == static_cast<size_t>(EndReason::kMoved) + 1);
static_assert(std::size(kNodePhases) == static_cast<size_t>(NodePhase::kEnded) + 1);
static_assert(std::size(kCloseReasons) == static_cast<size_t>(CloseReason::kKept) + 1);

template <typename E, size_t N>
std::string_view At(const std::string_view (&names)[N], E value) {
  const auto index = static_cast<size_t>(value);
  return index < N ? names[index] : "?";
}

template <typename E, size_t N>
std::optional<E> Find(const std::string_view (&names)[N], std::string_view name) {
  const auto* found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<E>(found - std::begin(names));
}

template <typename List>
auto* FindNumber(List& list, int number) {
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const auto& item) { return item.number == number; });
  return found == list.end() ? nullptr : &*found;
}

// Length-prefixed, so that no two different lists of fields read the same.
void Feed(Sha256& hash, std::string_view field) {
  hash.Update(std::to_string(field.size()));
  hash.Update(":");
  hash.Update(field);
}

}  // namespace

std::string_view Name(JobState s) { return At(kJobStates, s); }
std::string_view Name(AttemptState s) { return At(kAttemptStates, s); }
std::string_view Name(EndReason r) { return At(kEndReasons, r); }
std::string_view Name(NodePhase p) { return At(kNodePhases, p); }
std::string_view Name(CloseReason r) { return At(kCloseReasons, r); }
std::string_view Name(RefusalClass r) { return At(kRefusalClasses, r); }
std::string_view Name(MoveState s) { return At(kMoveStates, s); }
std::string_view Name(RefusalScope s) { return At(kRefusalScopes, s); }

template <>
std::optional<JobState> ParseName<JobState>(std::string_view name) {
  return Find<JobState>(kJobStates, name);
}
template <>
std::optional<AttemptState> ParseName<AttemptState>(std::string_view name) {
  return Find<AttemptState>(kAttemptStates, name);
}
template <>
std::optional<EndReason> ParseName<EndReason>(std::string_view name) {
  return Find<EndReason>(kEndReasons, name);
}
template <>
std::optional<NodePhase> ParseName<NodePhase>(std::string_view name) {
  return Find<NodePhase>(kNodePhases, name);
}
template <>
std::optional<CloseReason> ParseName<CloseReason>(std::string_view name) {
  return Find<CloseReason>(kCloseReasons, name);
}
template <>
std::optional<RefusalClass> ParseName<RefusalClass>(std::string_view name) {
  return Find<RefusalClass>(kRefusalClasses, name);
}
template <>
std::optional<MoveState> ParseName<MoveState>(std::string_view name) {
  return Find<MoveState>(kMoveStates, name);
}
template <>
std::optional<RefusalScope> ParseName<RefusalScope>(std::string_view name) {
  return Find<RefusalScope>(kRefusalScopes, name);
}

const Launch* FindLaunch(const Job& job, int number) { return FindNumber(job.launches, number); }
Launch* FindLaunch(Job& job, int number) { return FindNumber(job.launches, number); }
const Attempt* FindAttempt(const Job& job, int number) { return FindNumber(job.attempts, number); }
Attempt* FindAttempt(Job& job, int number) { return FindNumber(job.attempts, number); }

bool IsKept(const Launch& launch, WallTime now) {
  return launch.kept_until && now < *launch.kept_until;
}

std::optional<WallTime> KeptUntil(const Job& job, WallTime now) {
  std::optional<WallTime> last;
  for (const Launch& launch : job.launches) {
    if (IsKept(launch, now)) last = std::max(last.value_or(now), *launch.kept_until);
  }
  return last;
}

const Attempt* NewestNeeded(const Job& job) {
  const auto needed = std::find_if(job.attempts.rbegin(), job.attempts.rend(),
                                   [](const Attempt& attempt) { return !attempt.not_needed; });
  return needed == job.attempts.rend() ? nullptr : &*needed;
}

std::optional<LeftNewer> NewerThanSaved(const Job& job) {
  std::optional<LeftNewer> out;
  for (auto it = job.attempts.rbegin(); it != job.attempts.rend(); ++it) {
    if (!out && !it->as_left.empty()) out = {it->as_left, "", Duration{it->left_newer_ms}};
    const bool went_on = !it->restore.empty() && it->restore.find(kAsLeft) == std::string::npos;
    const std::string& whole =
        went_on && it->newest_checkpoint.empty() ? it->restore : it->newest_checkpoint;
    if (whole.empty()) continue;
    if (out) out->than = whole;
    break;
  }
  return out && !out->than.empty() ? out : std::nullopt;
}

std::string LeftText(const LeftNewer& left) {
  return left.name + ", which is " + (left.by.ms > 0 ? HumanDuration(left.by) + " " : "") +
         "newer than checkpoint " + left.than;
}

const Attempt* CurrentAttempt(const Job& job, int launch) {
  const Attempt* newest = nullptr;
  for (const Attempt& attempt : job.attempts) {
    const auto& mine = attempt.launches;
    if (attempt.state == AttemptState::kEnded) continue;
    if (std::find(mine.begin(), mine.end(), launch) == mine.end()) continue;
    if (newest == nullptr || attempt.number > newest->number) newest = &attempt;
  }
  return newest;
}

Request* FindRequest(Job& job, int number) {
  // They rise: of droughts there are thousands.
  const auto found =
      std::lower_bound(job.requests.begin(), job.requests.end(), number,
                       [](const Request& request, int n) { return request.number < n; });
  return found == job.requests.end() || found->number != number ? nullptr : &*found;
}
const Request* FindRequest(const Job& job, int number) {
  return FindRequest(const_cast<Job&>(job), number);  // NOLINT: changes nothing
}

const Request& RequestOf(const Job& job, const Launch& launch) {
  static const Request kNone;
  const Request* found = FindRequest(job, launch.request);
  return found != nullptr ? *found : kNone;
}

Locality LocalityOf(const Job& job, const std::string& provider) {
  const std::vector<Offer> all = AllOffers(job);
  auto local = std::count_if(all.begin(), all.end(), [](const Offer& offer) {
    return offer.ask.place.provider == kLocalProvider;
  });
  size_t ways = all.size();
  if (job.offers.empty()) {  // by its spec's provider
    ++ways;
    local += provider == kLocalProvider ? 1 : 0;
  }
  if (local == 0) return Locality::kNone;
  return static_cast<size_t>(local) == ways ? Locality::kAll : Locality::kSome;
}

void TieToHost(Job& job, const std::string& provider, const std::string& host,
               const std::string& path) {
  const bool local = LocalityOf(job, provider) != Locality::kNone;
  job.host = local ? host : "";
  job.path = local ? path : "";
}

Request& AppendRequest(Job& job, const std::vector<int>& slots) {
  Launch launch;
  launch.number = job.launches.empty() ? 0 : job.launches.back().number;
  Request request;
  request.slots = slots;
  request.number = 1 + (job.requests.empty() ? 0 : job.requests.back().number);
  launch.request = request.number;
  for (const int slot : slots) {
    ++launch.number;
    launch.slot = slot;
    job.launches.push_back(launch);
    ++launch.index;
  }
  return job.requests.emplace_back(std::move(request));
}

namespace {

void FeedAsk(Sha256& hash, const Request& request) {
  Feed(hash, std::to_string(request.number));
  Feed(hash, std::to_string(request.slots.size()));
  for (const int slot : request.slots) Feed(hash, std::to_string(slot));
  const auto& [place, type, image, market, ceiling, options] = request.ask;
  for (const std::string* field : {&place.provider, &place.account, &place.region, &place.zone,
                                   &type, &image, &market, &options, &request.store_url}) {
    Feed(hash, *field);
  }
  Feed(hash, ceiling ? std::to_string(*ceiling) : "");
}

}  // namespace

std::string RequestToken(const std::string& ledger_id, const Job& job, const Request& request) {
  Sha256 hash;
  Feed(hash, "stoker request 2");
  Feed(hash, ledger_id);
  Feed(hash, job.id);
  FeedAsk(hash, request);
  Feed(hash, std::to_string(request.opened.ms));
  Feed(hash, std::to_string(request.not_after.ms));
  Feed(hash, std::to_string(request.limit.ms));
  return hash.Hex();
}

}  // namespace stoker
