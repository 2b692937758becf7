// SPDX-License-Identifier: Apache-2.0
// The registry: each provider has one line. Commands, agents and main() ask here, and know no
// provider by name. docs/adding-a-provider.md says what a line needs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "port/allocation.h"
#include "port/away.h"
#include "port/broker.h"
#include "port/clock.h"
#include "port/cloud_log.h"
#include "port/node_platform.h"
#include "port/rights.h"
#include "port/topic.h"

namespace stoker {

// A process of a provider's own: `stoker VERB FOLDER`.
struct ProviderProgram {
  std::string_view verb;
  int (*main)(const std::string& folder);  // returns the exit code
};

// What looks after jobs in that cloud while nobody is at a desk; nullptrs: it has no such thing.
struct ProviderAway {
  // Where this process is that, as its environment says: does it, and returns the exit code.
  std::optional<int> (*main)() = nullptr;
  // Sets it up and takes it away.
  Result<std::unique_ptr<AwayHost>> (*host)(const ProviderOptions& options) = nullptr;
};

// The log that its cloud itself keeps of machines; nullptrs: there is none.
struct ProviderCloudLog {
  // On a machine of the provider, as its own account. `store`, the ledger's, must outlive it.
  Result<std::unique_ptr<CloudLog>> (*open)(const CloudLogPlace& place,
                                            ObjectStore& store) = nullptr;
  // How people find a job's lines there.
  CloudLogQuery (*query)(const CloudLogPlace& place) = nullptr;
};

// Topics of its cloud for `notify`; nullptrs: it has none.
struct ProviderTopic {
  const char* kind = nullptr;  // of an entry of `notify`
  Result<std::unique_ptr<Topic>> (*open)(const std::string& name) = nullptr;
  // What whoever publishes to these must be allowed.
  void (*allow)(const std::vector<std::string>& names, Rights* rights) = nullptr;
};

struct ProviderLine {
  const BrokerTraits& traits;
  std::unique_ptr<Broker> (*make)(const ProviderOptions& options, Clock& clock);
  // For the agent of this machine, which has the folder `dir`: its platform, or null where the
  // machine is not this provider's. nullptr: agents on its machines are another provider's.
  Result<std::unique_ptr<NodePlatform>> (*platform)(const std::string& dir, Clock& clock) = nullptr;
  std::vector<ProviderProgram> programs{};
  // Of a cluster inside of whose allocations jobs of this machine may be begun.
  const Allocations& (*allocations)() = nullptr;
  ProviderAway away{};
  ProviderCloudLog cloud_log{};
  ProviderTopic topic{};
};

// All providers, in the order in which people see them. Its lines live as long as the process.
const std::vector<ProviderLine>& Registry();

// Adds a line to the registry of this process, for programs that have more providers than stoker;
// before main(), or before anything asks for the registry. Returns true.
bool AddProvider(const ProviderLine& line);

// Of the provider of that name.
ProviderCloudLog CloudLogOf(std::string_view provider);

// Of any provider: an OpenTopic.
Result<std::unique_ptr<Topic>> OpenAnyTopic(const std::string& kind, const std::string& name);
// Adds what it takes to publish to the topics among `all`.
void AllowTopics(const std::vector<NotifySpec>& all, Rights* rights);

// Those of all lines that have any.
std::vector<const Allocations*> AllAllocations();

// Tells spec/text/infra.h which words people may write for places. main() calls it first.
void LearnPlaces();

// The body of `stoker VERB FOLDER`; null: no provider has such a process.
int (*FindProviderProgram(std::string_view verb))(const std::string& folder);

// What `away.main` of the first line that has something to do returns; unset: none has.
std::optional<int> RunAway();

}  // namespace stoker
