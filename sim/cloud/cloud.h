// SPDX-License-Identifier: Apache-2.0
// A simulated provider of machines. Cloud is the service and the hosts; CloudClient is one
// process's way to it. What runs on a machine is not its matter: see the hooks.
//
//   cloud.cc         machines: how they come, what becomes of them, and what Describe shows of them
//   cloud_others.cc  who else is in the account, what machines cost, and which cannot begin
//   cloud_client.cc  requests: their way there, their moment, their way back
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "job/notice.h"
#include "port/provider.h"
#include "sim/bucket/bucket.h"
#include "sim/time/clock.h"
#include "sim/time/scheduler.h"

namespace stoker::sim {

// Of machines: what a job has that says no other, and what no function is bound to.
inline constexpr char kUsualType[] = "usual";
inline constexpr char kLargeType[] = "large";

// Whose machines they are: of the ledgers that share the account, and of none of them.
inline constexpr int kLedgers = 2;
inline constexpr int kNobodyOfOurs = -1;

// In a thousand requests, while it holds; and how machines come up.
struct CloudFaults {
  int throttled = 0;    // kBusy, no effect
  int before = 0;       // kUnavailable, no effect
  int after = 0;        // kTimeout, took effect
  int late = 0;         // kTimeout, takes effect up to `late_ms` after that was said
  int no_capacity = 0;  // no room in a zone
  int denied = 0;       // kDenied for this request
  int malformed = 0;    // of launches, invalid: what the platform does not have
  int doubled = 0;      // a launch whose machine is there already makes another one: tokens are
                        // good for one zone only, or are forgotten
  int never_boots = 0;  // in a thousand machines: listed as booting until it is ended
  int slow_boots = 0;   // in a thousand machines: takes up to `slow_boot_ms`
  int holes = 0;        // in a thousand times that Describe shows a machine: from then on, once in
                        // its life, answers leave it out for up to `hole_ms`, whatever its age
  int queues = 0;  // in a thousand launches: all their machines wait for up to `queue_ms` first
  int stops_early = 0;    // in a thousand machines: is stopped before it is up, for good
  int starts_fail = 0;    // in a thousand Starts that are accepted: it is off again soon
  int starts_mute = 250;  // in a thousand of those: nobody says why
  int no_market = 0;      // of launches: no room for that type and market in all of the region
  int no_quota = 0;       // of launches: the account may have no more of that market
  int unsettled = 0;      // of launches: names what is not yet known there
  int dead_births = 0;    // in a thousand machines: dies of a refusal before it is up
  int late_refusals = 0;  // in a thousand launches that find no room: are taken, and die of that
  int64_t queue_ms = 7'200'000;
  int64_t late_ms = 30'000;
  int64_t slow_boot_ms = 900'000;
  int64_t hole_ms = 25'000;
};

struct Zone {
  std::string name;
  int capacity = 1'000'000;  // machines at once; falling below what runs takes machines away
  int running = 0;
  std::string provider = "";  // whose; "" in a world that has one provider alone
  int64_t price = 0;          // of a machine, in millionths an hour; 0 = nothing is asked for it
};

// What machines meet that come up in a zone: none of them can begin.
struct BootTrouble {
  int64_t until = 0;  // true time
  BootFailure failure;
};

// What a Describe of a moment shows of a machine.
struct CloudView {
  int64_t since = 0;
  InstanceState state = InstanceState::kRequested;
  std::string why;
  std::string address;
  int64_t expires_at = 0;
  int64_t powered_at = -1;
};

struct CloudMachine {
  std::string id;
  int owner = 0;  // the number of the ledger whose process asked for it, or kNobodyOfOurs
  LaunchRequest request;
  int index = 0;                  // within its request
  std::vector<std::string> gang;  // ids of all that came with it, by index
  int launch() const { return request.launches.at(static_cast<size_t>(index)); }
  std::string zone;
  InstanceState state = InstanceState::kRequested;
  std::string why;
  int64_t made_at = 0;     // true time, as all here
  int64_t booted_at = -1;  // of the newest boot
  int64_t powered_at = 0;  // when it left its queue, or was last told to come up
  int64_t stopped_at = -1;
  int64_t gone_at = -1;
  int64_t ran_ms = 0;      // over all boots that are over
  int64_t price = 0;       // when it was made
  int64_t renewed_at = 0;  // when its time began, or was last begun anew
  int64_t expires_at = 0;  // ends itself then, whatever runs on it
  int boots = 0;
  std::optional<Notice> notice;    // until = the platform's clock, which is true time
  std::optional<Refusal> doom;     // what it is to die of before it is up
  std::optional<Refusal> refusal;  // what it has died of so, or why it did not come up again
  EndedBy ended_by = EndedBy::kUnknown;
  int64_t ender_told_at = 0;                // nobody is told who ended it before
  std::optional<BootFailure> boot_failure;  // what it said as it powered itself off
  // Its platform took it and lets it begin anew, with an empty disk: it is told as gone, and comes
  // up all the same unless somebody ends it.
  bool requeued = false;
  int64_t away_until = 0;  // nobody reaches it: lists can only guess, and it cannot be ended
  int64_t visible_at = 0;  // Describe leaves it out before
  int64_t hole_until = 0;  // and until then; 0 = it has had no hole
  std::string address;     // "" before the first boot

  // Of the cloud's own: what stale answers still show, oldest first; and how many notices and how
  // many switchings of its power there were, so that timers of former ones do nothing.
  std::vector<CloudView> views;
  int64_t notices = 0;
  int64_t power = 0;
};

// Requests of clients, whatever became of them.
struct CloudCounts {
  int64_t launches = 0;
  int64_t describes = 0;
  int64_t terminates = 0;
  int64_t interrupts = 0;
  int64_t starts = 0;
};

class Cloud {
 public:
  Cloud(Scheduler& scheduler, Prng& prng);

  std::map<std::string, CloudMachine>& machines() { return machines_; }
  const std::map<std::string, CloudMachine>& machines() const { return machines_; }
  CloudMachine* Find(const std::string& id);
  int Running() const;  // machines that are not gone, whoever's
  int RunningOf(int owner) const { return running_of_.at(static_cast<size_t>(owner + 1)); }
  // The owner of what the token has made last; unset: nothing that is known.
  std::optional<int> OwnerOf(const std::string& token) const;
  // Requests that were given up by who sent them, and will take effect.
  int on_their_way() const { return on_their_way_; }
  // Whose process asks, while one of the hooks for requests is called.
  int asking() const { return asking_; }
  // The platform's clock.
  WallTime Now() const { return {kEpochMs + scheduler_.now()}; }

  CloudFaults faults;
  std::vector<Zone> zones = {{"zone-a"}};
  int quota = 1'000'000;           // machines at once over all zones
  std::optional<Refusal> refuses;  // what every launch of new machines is told
  std::optional<Refusal> dooms;    // what every new machine dies of before it is up
  // Describe shows states as of up to so long ago, each answer of a moment of its own: one that is
  // older than a machine leaves it out, also after another has shown it. New ones are late besides.
  // Never more than the traits' appear_within; nothing when they say that Describe is immediate.
  int64_t stale_ms = 0;
  int64_t away_until = 0;  // true time; nobody reaches any provider until then
  std::map<std::string, int64_t> one_away_until;  // the same of one of several
  int64_t away_since = 0;                         // when the newest such time began
  std::map<std::string, int64_t> one_away_since;
  // The same of one zone, by name: lists say that they leave it out, and nothing is made or changed
  // there.
  std::map<std::string, int64_t> zone_away_until;
  std::map<std::string, int64_t> zone_away_since;
  bool IsZoneAway(const std::string& zone) const;
  std::map<std::string, BootTrouble> boot_troubles;  // by zone
  // Nobody has reached the place of the machine from `since` to `until`.
  bool WasAway(const CloudMachine& machine, int64_t since, int64_t until) const;
  // When any of all that was away is back.
  int64_t LastAway() const;
  int64_t timeout_ms = 30'000;  // clients wait so long at most for an answer that does not come
  // A machine that is not up cannot end itself (EC2): one that is past its limit does so at its
  // next boot. Else the platform does it whatever its state.
  bool limit_needs_boot = false;
  // The platform knows nothing of not_after (EC2): only who sends looks at it, before the way
  // there, and what is held up on the way makes a machine all the same.
  bool late_sends = false;
  // What it takes it stops: the disk stays, and the machine waits to be started. One that comes up
  // is given time to renew its lease, however long it was off.
  bool stops_taken = false;
  // Its lists show all that is in the account, whatever they are asked for but the job.
  bool lists_all = false;
  int64_t boot_low = 500;
  int64_t boot_high = 60'000;
  int64_t latency_low = 20;
  int64_t latency_high = 300;
  int64_t token_memory_ms = 86'400'000;  // after a machine's end its token is forgotten, as on EC2
  ProviderTraits traits;
  CloudCounts counts;

  // Hooks; called outside of fibers or in the fiber of who caused it. `booted`: the host is up, an
  // agent should start. `ended`: everything on it stops at once (power off); its disk is lost.
  // Called once for each machine, also for one that never came up. `stopped`: power off, the disk
  // stays; `booted` may follow. `emptied`: as `stopped`, and the disk is lost. `requested` is
  // called before the effect of a launch, also of one that is repeated or will find no room;
  // `terminating` before that of a terminate by a client, of a machine that the cloud knows, gone
  // or not. The last two must not kill the process that asks.
  std::function<void(CloudMachine&)> booted;
  std::function<void(CloudMachine&)> stopped;
  std::function<void(CloudMachine&)> emptied;
  std::function<void(CloudMachine&)> ended;
  std::function<void(const CloudMachine&)> noticed;  // it has been given a notice
  std::function<void(const LaunchRequest&, const std::string& process)> requested;
  std::function<void(const CloudMachine&, const std::string& process)> terminating;
  // As `terminating`, of one that is to come up again.
  std::function<void(const CloudMachine&, const std::string& process)> starting;

  // ---- what happens to machines, from outside ----
  // The platform takes it: a notice with `lead` ms if `lead` > 0, then gone. One that has a notice
  // keeps it unless this end is sooner.
  void Take(const std::string& id, int64_t lead);
  // The notice is withdrawn; a machine that is gone stays gone.
  void Withdraw(const std::string& id);
  // STOP and, after `down_ms`, START of the same machine; below 0: not before somebody starts it.
  // Nothing when it is down already, or queues.
  void StopAndStart(const std::string& id, int64_t down_ms);
  // Lets all that queue out.
  void EndQueue();
  // What was given in one request is taken and waits once more, behind everybody's back.
  void Requeue(const std::string& id, int64_t queue_ms);
  // For so long nobody but its own agent knows how it is; see CloudMachine::away_until.
  void Hide(const std::string& id, int64_t ms);
  // Somebody's who has nothing to do with us; "" = there is no room. It looks like `like`, with its
  // tags on it but its token, if there is such a machine: "launch more like this".
  std::string AddForeign(const std::string& zone, const std::string& like);
  // What machines of the zone cost from now on; those that may not cost so much are taken, with
  // `lead`.
  void SetPrice(const std::string& zone, int64_t price, int64_t lead);
  // By the machine itself (power off), or by the platform without notice. Nothing when the process
  // that calls it is dead. `by`: as Describe tells it.
  void End(const std::string& id, const std::string& why, EndedBy by = EndedBy::kUnknown);
  // By a person, with the platform's own tools: it is shut down, and `told_ms` later the platform
  // says who wanted that.
  void EndByOwner(const std::string& id, int64_t told_ms);
  // The limit of the machine, moved by a healthy agent; true time. As End for dead processes.
  void Renew(const std::string& id, int64_t expires_at);
  // Capacity of a zone changes; machines that no longer fit are taken with `lead`: those that have
  // a notice first, then the newest. A name that is not known is a new zone.
  void SetCapacity(const std::string& zone, int capacity, int64_t lead);

 private:
  friend class CloudClient;
  // Effects of requests, at their moment.
  // `sent_in_time`: it was not past not_after when it was sent.
  LaunchAnswer Make(const LaunchRequest& request, const std::string& process, bool sent_in_time);
  // What its token has made already; unset: nothing that it remembers.
  std::optional<LaunchAnswer> Known(const std::string& token) const;
  bool InTime(const LaunchRequest& request) const;
  // `provider`: only what is its; "" = all.
  InstancesSeen Show(const std::string& provider, const std::string& ledger_id,
                     const std::string& job, bool stale);
  static void TellOtherwise(const CloudMachine& machine, int64_t now, InstanceSeen* seen);
  Status Finish(const std::string& id, const std::string& process);
  Status Warn(const std::string& id, Duration lead);
  StartAnswer GivePower(const std::string& id, const std::string& process);

  // One where it is asked for that has room for all of them.
  Zone* RoomFor(const LaunchRequest& request);
  CloudMachine& Add(const LaunchRequest& request, int index, Zone& zone, int64_t queue_ms,
                    const std::optional<Refusal>& doom);
  bool IsThere(const Place& place) const;
  Zone& ZoneFor(const LaunchRequest& request);
  void DrawDoom(CloudMachine& machine);
  // How long the machines of a launch wait; 0 = they do not.
  int64_t QueueTime();
  void LeaveQueue(CloudMachine& machine);
  void ComeUp(CloudMachine& machine);
  void PowerOn(CloudMachine& machine, int64_t boot);
  // Accepted, and it does not come up after all.
  void FailToStart(CloudMachine& machine);
  // Draws how long a boot takes.
  int64_t BootTime();
  // Does `next` to the machine at that time, unless its power was switched meanwhile.
  void Later(const CloudMachine& machine, int64_t at, std::function<void(CloudMachine&)> next);
  void Enter(CloudMachine& machine, InstanceState state);
  void Boot(CloudMachine& machine);
  // It is up: its agent starts, or it tries for some minutes, says why it could not, and powers
  // off.
  void Begin(CloudMachine& machine);
  void CheckLimit(const std::string& id);
  int64_t Staleness() const;
  bool InHole(CloudMachine& machine);
  void Remember(CloudMachine& machine);
  bool CallerIsDead() const;

  Scheduler& scheduler_;
  Prng& prng_;
  std::map<std::string, CloudMachine> machines_;
  std::map<std::string, std::vector<std::string>> by_token_;  // ids by index
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> by_job_;
  std::array<int, kLedgers + 1> running_of_ = {};  // by owner, from kNobodyOfOurs on
  int asking_ = 0;
  int on_their_way_ = 0;
  int next_ = 1;
};

// Sleeps in the calling fiber; one moment of effect in between; no effect once the process is dead.
class CloudClient : public Provider {
 public:
  // `link` may be null. `provider`: which of several; "" = the only one. `owner`: whose process it
  // is, by the number of its ledger.
  CloudClient(Cloud& cloud, Scheduler& scheduler, Prng& prng, std::string process, Link* link,
              std::string provider = "", int owner = 0);
  const ProviderTraits& traits() const override;
  LaunchAnswer Launch(const LaunchRequest& request) override;
  Result<InstancesSeen> Describe(const std::string& ledger_id, const std::string& job) override;
  Status Terminate(const std::string& instance_id) override;
  StartAnswer Start(const std::string& instance_id) override;
  Status Interrupt(const std::string& instance_id, Duration lead) override;
  Result<std::optional<BootFailure>> WhyNotBooted(const std::string& instance_id,
                                                  const Ask& ask) override;

 private:
  enum class Kind { kLaunch, kDescribe, kTerminate, kInterrupt, kStart };
  enum class Fault {
    kNone,
    kRefused,    // did not arrive
    kThrottled,  // arrived, no effect
    kDenied,     // arrived, no effect
    kMalformed,  // arrived, no effect
    kNoSpace,    // arrived, no effect, as the next three
    kNoMarket,
    kNoQuota,
    kUnsettled,
    kLate,        // takes effect after its client gave up
    kUnanswered,  // took effect; the answer is lost
    kUnheard,     // lost on the way there
  };
  struct Trip {
    bool real = true;  // false outside of fibers: no time, no faults
    Fault fault = Fault::kNone;
    int64_t back = 0;
    bool arrives() const { return fault == Fault::kNone || fault == Fault::kUnanswered; }
  };
  using Effect = std::function<Status()>;
  bool Cut() const;
  Fault Draw(Kind kind);
  Result<Trip> Send(Kind kind);
  Status Return(const Trip& trip);
  static std::optional<Refusal> RefusalOf(const Trip& trip);
  Status Silence(const Trip& trip);
  Status Carry(const Trip& trip, Effect effect);
  Status Change(Kind kind, Effect effect);

  Cloud& cloud_;
  Scheduler& scheduler_;
  Prng& prng_;
  const std::string process_;
  Link* const link_;
  const std::string provider_;
  const int owner_;
  mutable ProviderTraits traits_;  // those of the cloud, under its own name
};

// One process's way to each provider of a world.
class CloudClients {
 public:
  CloudClients(Cloud& cloud, Scheduler& scheduler, Prng& prng, std::string process, Link* link,
               int owner = 0);
  // kInvalid: there is none of that name; one that has no name is every one's.
  Result<Provider*> Find(const std::string& provider);

 private:
  Cloud& cloud_;
  Scheduler& scheduler_;
  Prng& prng_;
  const std::string process_;
  Link* const link_;
  const int owner_;
  std::map<std::string, std::unique_ptr<CloudClient>> clients_;
};

}  // namespace stoker::sim
