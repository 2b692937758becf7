// SPDX-License-Identifier: Apache-2.0
#include "provider/open.h"

#include <iterator>

#include "base/text.h"
#include "base/utf8.h"
#include "provider/allocation_gate.h"
#include "provider/ec2/api/aws_api.h"
#include "provider/ec2/ec2_broker.h"
#include "provider/gce/gce_broker.h"
#include "provider/gce/gce_provider.h"
#include "provider/local/local_broker.h"
#include "provider/slurm/slurm_broker.h"
#include "provider/ssh/ssh_broker.h"
#include "sys/folder_cache.h"

namespace stoker {
namespace {

struct Line {
  const BrokerTraits& traits;
  std::unique_ptr<Broker> (*make)(Providers& all);
};

// The registry: each provider has a line here.
constexpr Line kLines[] = {
    {kLocalBroker,
     [](Providers& p) { return MakeLocalBroker(p.options(), [&p] { return p.Local(); }); }},
    {kSlurmBroker, [](Providers& p) { return MakeSlurmBroker(p.options(), p.clock()); }},
    {kSshBroker, [](Providers& p) { return MakeSshBroker(p.options(), p.clock()); }},
    {kEc2Broker,
     [](Providers& p) { return MakeEc2Broker(p.options(), p.clock(), [&p] { return p.Aws(); }); }},
    {kGceBroker,
     [](Providers& p) {
       return MakeGceBroker(p.options(), p.clock(), [&p] { return p.Compute(); });
     }},
};

std::string Names() {
  std::vector<std::string> names;
  for (const Line& line : kLines) {
    names.push_back(line.traits.name + std::string(" (") + line.traits.title + ")");
  }
  return Join(names, ", ");
}

}  // namespace

const BrokerTraits* TraitsOf(std::string_view provider) {
  for (const Line& line : kLines) {
    if (line.traits.name == provider) return &line.traits;
  }
  return nullptr;
}

Providers::Providers(ProviderOptions options, Clock& clock)
    : options_(std::move(options)), clock_(clock), brokers_(std::size(kLines)) {}

Providers::~Providers() = default;

std::vector<Broker*> Providers::All() {
  std::vector<Broker*> all;
  for (size_t i = 0; i < std::size(kLines); ++i) {
    if (!brokers_[i]) brokers_[i] = kLines[i].make(*this);
    all.push_back(brokers_[i].get());
  }
  return all;
}

Result<Broker*> Providers::At(std::string_view name) {
  for (Broker* broker : All()) {
    if (broker->traits().name == name) return broker;
  }
  return Status(Code::kInvalid,
                "'" + Spelled(std::string(name)) + "' is no provider that this stoker has",
                "It has: " + Names());
}

Result<Provider*> Providers::Get(const std::string& name) {
  STOKER_ASSIGN(Broker * broker, At(name));
  return broker->Machines();
}

Result<LocalProvider*> Providers::Local() {
  if (!local_) {
    LocalProviderOptions local;
    local.state_dir = options_.state_dir;
    local.gate = MakeAllocationGate();
    STOKER_ASSIGN(local_, MakeLocalProvider(local, clock_));
  }
  return local_.get();
}

Result<std::shared_ptr<ec2::AwsApi>> Providers::Aws() {
  if (!aws_) {
    std::shared_ptr<Cache> memory;
    if (!options_.cache_dir.empty()) memory = sys::MakeFolderCache(options_.cache_dir + "/aws");
    STOKER_ASSIGN(aws_, MakeAwsApi(std::move(memory)));
  }
  return aws_;
}

Result<std::shared_ptr<gce::ComputeApi>> Providers::Compute() {
  if (!compute_) {
    STOKER_ASSIGN(compute_, MakeComputeApi());
  }
  return compute_;
}

}  // namespace stoker
