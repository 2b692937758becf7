// SPDX-License-Identifier: Apache-2.0
// Who lends instances. One class per platform; as few methods as the controller needs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace stoker {

enum class InstanceState { kRequested, kBooting, kRunning, kStopping, kStopped, kGone };

// Everything that the machine is created from: a pure function of the launch entry in the record.
struct LaunchRequest {
  std::string token;  // hash of the launch entry; the same token never makes a second machine
  std::string ledger_id;
  std::string store_url;  // the agent opens this
  std::string job;
  int launch = 0;
  std::string binary_digest;  // SHA-256 of the stoker that the machine runs
  Duration limit;             // the machine ends itself after this long unless its lease is renewed
  WallTime not_after;         // nothing is sent after this (store's clock)
  std::string ending;  // "", "pidns", "cgroup", "subreaper": how the agent ends a task's processes
};

struct InstanceSeen {
  std::string id;
  std::string token;
  std::string ledger_id;
  std::string job;
  int launch = 0;
  InstanceState state = InstanceState::kRequested;
  std::string address;  // "" until known
  std::string why;      // why it is Gone or Stopped, in the provider's words
  WallTime expires;     // absolute; anyone may end it after this (provider's clock)
  // Gone, and nothing of it is left that Terminate would free: listed only to be told about, as EC2
  // does for an hour.
  bool freed = false;
};

// How sure the provider is of what Describe leaves out.
struct ProviderTraits {
  std::string name;                    // "local", "ec2", "gce", "slurm"
  bool describe_is_immediate = false;  // an instance that Describe leaves out does not exist
  Duration appear_within = Duration::Minutes(10);  // else: absent only means gone after this long
  Duration notice_poll = Duration::Seconds(5);
};

// Thread-safe. Errors: kBusy = throttled; kDenied = permission; kInvalid = bad parameter; kNoSpace
// = no capacity or quota (message says which); kUnavailable/kTimeout = may have taken effect.
class Provider {
 public:
  virtual ~Provider() = default;
  virtual const ProviderTraits& traits() const = 0;
  // Idempotent by token: repeating it returns the same instance id. kNotFound: the token's instance
  // has come and gone, or not_after is past: the launch is over.
  virtual Result<std::string> Launch(const LaunchRequest& request) = 0;
  // Every instance of this ledger (and job, unless empty) that the provider knows of.
  virtual Result<std::vector<InstanceSeen>> Describe(const std::string& ledger_id,
                                                     const std::string& job) = 0;
  // Ends the machine and everything on it, and frees what it held. Ok when it is gone already.
  virtual Status Terminate(const std::string& instance_id) = 0;
  // A fire drill: gives the instance a real interruption notice, and takes it after `lead`.
  virtual Status Interrupt(const std::string& instance_id, Duration lead) = 0;
};

}  // namespace stoker
