// SPDX-License-Identifier: Apache-2.0
// A simulated provider of machines. Cloud is the service and the hosts; CloudClient is one
// process's way to it. What runs on a machine is not its matter: see the hooks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "job/notice.h"
#include "port/provider.h"
#include "sim/bucket.h"
#include "sim/clock.h"
#include "sim/scheduler.h"

namespace stoker::sim {

// In a thousand requests, while it holds; and how machines come up.
struct CloudFaults {
  int throttled = 0;    // kBusy, no effect
  int before = 0;       // kUnavailable, no effect
  int after = 0;        // kTimeout, took effect
  int late = 0;         // kTimeout, takes effect up to `late_ms` after that was said
  int no_capacity = 0;  // kNoSpace
  int denied = 0;       // kDenied for this request
  int never_boots = 0;  // in a thousand machines: listed as booting until it is ended
  int slow_boots = 0;   // in a thousand machines: takes up to `slow_boot_ms`
  int64_t late_ms = 30'000;
  int64_t slow_boot_ms = 900'000;
};

struct Zone {
  std::string name;
  int capacity = 1'000'000;  // machines at once; falling below what runs takes machines away
  int running = 0;
};

struct CloudMachine {
  std::string id;
  LaunchRequest request;
  std::string zone;
  InstanceState state = InstanceState::kRequested;
  std::string why;
  int64_t made_at = 0;     // true time, as all here
  int64_t booted_at = -1;  // of the newest boot
  int64_t gone_at = -1;
  int64_t expires_at = 0;  // ends itself then, whatever runs on it
  int boots = 0;
  std::optional<Notice> notice;  // until = the platform's clock, which is true time
  int64_t visible_at = 0;        // Describe leaves it out before
};

struct CloudCounts {
  int64_t launches = 0;
  int64_t describes = 0;
  int64_t terminates = 0;
};

class Cloud {
 public:
  Cloud(Scheduler& scheduler, Prng& prng);

  std::map<std::string, CloudMachine>& machines() { return machines_; }
  CloudMachine* Find(const std::string& id);
  int Running() const;  // machines that are not gone

  CloudFaults faults;
  std::vector<Zone> zones = {{"zone-a"}};
  int quota = 1'000'000;  // machines at once over all zones: kNoSpace beyond
  int64_t stale_ms = 0;   // Describe shows states as of up to so long ago, and new ones late
  int64_t boot_low = 500;
  int64_t boot_high = 60'000;
  int64_t latency_low = 20;
  int64_t latency_high = 300;
  int64_t token_memory_ms = 86'400'000;  // after a machine's end its token is forgotten, as on EC2
  ProviderTraits traits;
  CloudCounts counts;

  // Hooks; called outside of fibers or in the fiber of who caused it. `booted`: the host is up, an
  // agent should start. `ended`: everything on it stops at once (power off); its disk is lost.
  // `stopped`: power off, the disk stays; `booted` may follow. `requested` is called before the
  // effect of a launch; `terminating` before that of a terminate by a client.
  std::function<void(CloudMachine&)> booted;
  std::function<void(CloudMachine&)> stopped;
  std::function<void(CloudMachine&)> ended;
  std::function<void(const LaunchRequest&, const std::string& process)> requested;
  std::function<void(const CloudMachine&, const std::string& process)> terminating;

  // ---- what happens to machines, from outside ----
  // The platform takes it: a notice with `lead` ms if `lead` > 0, then gone.
  void Take(const std::string& id, int64_t lead);
  // The notice is withdrawn; a machine that is gone stays gone.
  void Withdraw(const std::string& id);
  // STOP and, after `down_ms`, START of the same machine.
  void StopAndStart(const std::string& id, int64_t down_ms);
  // By the machine itself (power off), or by the platform without notice.
  void End(const std::string& id, const std::string& why);
  // The limit of the machine, moved by a healthy agent.
  void Renew(const std::string& id, int64_t expires_at);
  // Capacity of a zone changes; machines that no longer fit are taken with `lead`.
  void SetCapacity(const std::string& zone, int capacity, int64_t lead);

 private:
  friend class CloudClient;
  Result<std::string> Make(const LaunchRequest& request);
  void Boot(const std::string& id);
  void CheckLimit(const std::string& id);

  Scheduler& scheduler_;
  Prng& prng_;
  std::map<std::string, CloudMachine> machines_;
  std::map<std::string, std::string> by_token_;
  int next_ = 1;
};

// Sleeps in the calling fiber; one moment of effect in between; no effect once the process is dead.
class CloudClient : public Provider {
 public:
  // `link` may be null.
  CloudClient(Cloud& cloud, Scheduler& scheduler, Prng& prng, std::string process, Link* link);
  const ProviderTraits& traits() const override;
  Result<std::string> Launch(const LaunchRequest& request) override;
  Result<std::vector<InstanceSeen>> Describe(const std::string& ledger_id,
                                             const std::string& job) override;
  Status Terminate(const std::string& instance_id) override;
  Status Interrupt(const std::string& instance_id, Duration lead) override;

 private:
  Cloud& cloud_;
  Scheduler& scheduler_;
  Prng& prng_;
  const std::string process_;
  Link* const link_;
};

}  // namespace stoker::sim
