// SPDX-License-Identifier: Apache-2.0
// Who lends instances. One class per platform; as few methods as the controller needs.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "job/boot_failure.h"
#include "job/ended_by.h"
#include "job/refusal.h"
#include "job/request.h"

namespace stoker {

enum class InstanceState {
  kQueued,  // accepted, and it will be given in hours or days: costs nothing, no clock of it runs
  kRequested,
  kBooting,
  kRunning,
  kStopping,
  kStopped,  // its power is off: what it keeps costs, and it may come up again
  kGone,
};

// Everything that machines are created from: a pure function of the request's entry in the record,
// always of all of it, whatever has become of some of its launches.
struct LaunchRequest {
  std::string token;  // hash of the entry; the same token and index never make a second machine
  std::string ledger_id;
  std::string store_url;  // the agent opens this
  std::string job;
  std::string job_name;  // as it was submitted, for people who look there; "" = not known
  Ask ask;
  std::vector<int> launches;  // launches[index]: the launch that the machine serves; at least one
  std::vector<int> slots;     // slots[index]: that the machine is for; may be left out
  std::string binary_digest;  // SHA-256 of the stoker that the machine runs
  Duration limit;      // the machine ends itself so long after it left the queue, if it waited in
                       // one, unless its lease is renewed
  WallTime not_after;  // nothing is sent after this (store's clock)
  std::string ending;  // "", "pidns", "cgroup", "subreaper": how the agent ends a task's processes
};

struct InstanceSeen {
  std::string id;
  std::string own_id{};  // the provider's own, where `id` is the name that it was given; else ""
  std::string token;
  std::string ledger_id;
  std::string job;
  Place place;         // as far as the provider tells it; what is "" is not known
  std::string type{};  // as an Ask has it; "" = the provider does not tell it
  int launch = 0;
  int index = 0;  // within its request
  InstanceState state = InstanceState::kRequested;
  std::string address;  // "" until known
  std::string why;      // why it is Queued, Stopped or Gone, in the provider's words
  // How long it has been coming up or running, since it was last given power; by the provider's
  // clock alone, for no two clocks agree. Unset where the provider cannot tell, and in the queue.
  std::optional<Duration> up_for;
  WallTime expires;  // absolute; anyone may end it after this (provider's clock)
  // Gone, and nothing of it is left that Terminate would free: listed only to be told about, as EC2
  // does for an hour.
  bool freed = false;
  // Gone, and it has never been up: why not, where that is a refusal that came late (no room after
  // all, what it is made from cannot be had). Whoever looks acts on it. Unset for every other end.
  // Stopped: why it did not come up though Start was answered ok, of the newest try.
  std::optional<Refusal> refusal;
  // Gone, stopped or about to be, and it was up: who ended it. What its owner has ended for good is
  // not asked for again: the job is cancelled.
  EndedBy ended_by = EndedBy::kUnknown;
};

// The machine `index` of a request, as `id`: whose it is. All else is as nothing is known of it.
InstanceSeen SeenOf(const LaunchRequest& request, int index, std::string id);

// A place of a provider that did not answer; what of `place` is "" means all that it has there.
struct Unheard {
  Place place;  // its provider is the one that was asked
  Status why;
};

// What Describe could see. A place that did not answer is not empty: what is there is not known.
// It hides nothing of the others.
struct InstancesSeen : std::vector<InstanceSeen> {
  using vector::vector;
  std::vector<Unheard> unheard;
  // An error where something of it is not known: for who needs all.
  Status Whole() const { return unheard.empty() ? Status::Ok() : unheard.front().why; }
};

// How sure the provider is of what Describe leaves out.
struct ProviderTraits {
  std::string name;                    // "local", "ec2", "gce", "slurm"
  bool describe_is_immediate = false;  // an instance that Describe leaves out does not exist
  Duration appear_within = Duration::Minutes(10);  // else: absent only means gone after this long
  // All machines that an attempt lacks are asked for in one request.
  bool takes_gangs = false;
  // Terminate ends that machine and no other; else all of its request.
  bool ends_one_alone = true;
  // Machines of it may be Stopped, by the place or by a person: such a one hears of nothing.
  bool may_stop = false;
  // Start gives such a one its power back.
  bool can_start = false;
  // Describe says of each that is ended by whom, were it a little later.
  bool tells_ender = false;
};

// What whoever asks for machines is told. Ok: their ids, by index; "" for one that has come and
// gone. An error with a refusal(): the provider's no to all of them, and nothing was made. It says
// what kind of no that is, for how much of the provider it holds, and for how long, where it knows.
// An error without: no answer that would count, and it may have taken effect.
class LaunchAnswer : public Result<std::vector<std::string>> {
 public:
  LaunchAnswer(std::vector<std::string> ids);  // NOLINT: implicit on purpose, as all three
  LaunchAnswer(Status unanswered);             // NOLINT
  // Its status is for people and for logs: who decides looks at the refusal. One that is not for a
  // provider to tell (kUnanswered) is taken for no answer.
  LaunchAnswer(Refusal refusal);  // NOLINT

  // Unset also where it is ok.
  const std::optional<Refusal>& refusal() const { return refusal_; }

 private:
  std::optional<Refusal> refusal_;
};

// What whoever has a machine come up again is told. Ok: it is up, comes up or waits to; it may be
// refused all the same, later (InstanceSeen::refusal). Errors as those of LaunchAnswer.
class StartAnswer : public Status {
 public:
  StartAnswer(Status answer) : Status(std::move(answer)) {}  // NOLINT: implicit on purpose
  StartAnswer(Refusal refusal);                              // NOLINT

  const std::optional<Refusal>& refusal() const { return refusal_; }

 private:
  std::optional<Refusal> refusal_;
};

// A machine that a record has met, and where.
struct InstanceMet {
  Place place;
  InstanceSeen seen;  // what its request says of it, and its id
};

// Thread-safe. Errors but those of Launch and Start: kBusy = throttled; kDenied = permission;
// kInvalid = bad parameter; kNoSpace = no room; kUnavailable/kTimeout = may have taken effect.
class Provider {
 public:
  virtual ~Provider() = default;
  virtual const ProviderTraits& traits() const = 0;
  // Machines for all of the request or for none. Idempotent by token: repeating it returns the same
  // ids, "" for one that has come and gone. Refused as kOver: all of them have, or not_after is
  // past. What this process itself lacks (rights, credentials, a program) is kDenied. A no to what
  // was accepted, which came later, may be told when it is sent once more.
  virtual LaunchAnswer Launch(const LaunchRequest& request) = 0;
  // Every instance of this ledger (and job, unless empty) that the provider knows of. An error
  // where no place of it answers.
  virtual Result<InstancesSeen> Describe(const std::string& ledger_id, const std::string& job) = 0;
  // From now on Describe tells what became of these, too, where its lists leave out what is gone.
  virtual void Expect(const std::vector<InstanceMet>& met) { (void)met; }
  // Ends the machine (see ends_one_alone) and everything on it, and frees what it held. Ok when it
  // is gone already.
  virtual Status Terminate(const std::string& instance_id) = 0;
  // Has a machine that is Stopped come up again, as it is; never makes one. kNotFound: it is gone.
  // kBusy also while it is being stopped.
  virtual StartAnswer Start(const std::string& instance_id) {
    return Status(Code::kInvalid, traits().name + " starts no machine again: " + instance_id);
  }
  // Of a machine that is gone or off and of which no node was ever heard, asked for by `ask`: what
  // it has said itself of why. Unset: nothing. Errors: it cannot be asked.
  virtual Result<std::optional<BootFailure>> WhyNotBooted(const std::string& instance_id,
                                                          const Ask& ask) {
    (void)instance_id, (void)ask;
    return std::optional<BootFailure>();
  }
  // A fire drill: gives the instance a real interruption notice, and takes it after `lead`.
  virtual Status Interrupt(const std::string& instance_id, Duration lead) = 0;
};

}  // namespace stoker
