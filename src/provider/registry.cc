// SPDX-License-Identifier: Apache-2.0
#include "provider/registry.h"

#include "provider/ec2/away/lambda_host.h"
#include "provider/ec2/away/lambda_main.h"
#include "provider/ec2/broker/ec2_broker.h"
#include "provider/ec2/ec2_platform.h"
#include "provider/ec2/lines/cloudwatch.h"
#include "provider/ec2/lines/sns.h"
#include "provider/gce/away/run_host.h"
#include "provider/gce/away/run_main.h"
#include "provider/gce/broker/gce_broker.h"
#include "provider/gce/gce_platform.h"
#include "provider/gce/lines/cloud_logging.h"
#include "provider/gce/lines/pubsub.h"
#include "provider/local/local_boot.h"
#include "provider/local/local_broker.h"
#include "provider/local/local_machine.h"
#include "provider/local/local_platform.h"
#include "provider/local/local_waiter.h"
#include "provider/slurm/slurm_broker.h"
#include "provider/slurm/slurm_job.h"
#include "provider/slurm/slurm_node.h"
#include "provider/slurm/slurm_platform.h"
#include "provider/slurm/tied/allocation_gate.h"
#include "provider/slurm/tied/allocations.h"
#include "provider/ssh/box_serve.h"
#include "provider/ssh/box_words.h"
#include "provider/ssh/ssh_broker.h"
#include "spec/text/infra.h"

namespace stoker {
namespace {

std::vector<ProviderLine>& Lines() {
  static std::vector<ProviderLine> lines = {
      {kLocalBroker,
       [](const ProviderOptions& options, Clock& clock) {
         return MakeLocalBroker(options, MakeAllocationGate(), clock);
       },
       FindLocalPlatform,
       {{kLocalMachineVerb, LocalMachineMain}, {kLocalWaiterVerb, LocalWaiterMain}}},
      {kSlurmBroker,
       MakeSlurmBroker,
       FindSlurmPlatform,
       {{kSlurmNodeVerb, SlurmNodeMain}},
       SlurmAllocations},
      {kSshBroker,
       MakeSshBroker,
       nullptr,
       {{kBoxVerb, [](const std::string& folder) { return BoxMain(folder); }}}},
      {kEc2Broker,
       MakeEc2Broker,
       FindEc2Platform,
       {},
       nullptr,
       {LambdaMain, MakeLambdaHost},
       {OpenCloudWatch, CloudWatchQuery},
       {"sns", OpenSns, AllowSns}},
      {kGceBroker,
       MakeGceBroker,
       FindGcePlatform,
       {},
       nullptr,
       {CloudRunMain, MakeCloudRunHost},
       {OpenCloudLogging, CloudLoggingQuery},
       {"pubsub", OpenPubSub, AllowPubSub}},
  };
  return lines;
}

}  // namespace

const std::vector<ProviderLine>& Registry() { return Lines(); }

bool AddProvider(const ProviderLine& line) {
  Lines().push_back(line);
  return true;
}

ProviderCloudLog CloudLogOf(std::string_view provider) {
  for (const ProviderLine& line : Registry()) {
    if (line.traits.name == provider) return line.cloud_log;
  }
  return {};
}

Result<std::unique_ptr<Topic>> OpenAnyTopic(const std::string& kind, const std::string& name) {
  for (const ProviderLine& line : Registry()) {
    if (line.topic.kind != nullptr && line.topic.kind == kind) return line.topic.open(name);
  }
  return std::unique_ptr<Topic>();
}

void AllowTopics(const std::vector<NotifySpec>& all, Rights* rights) {
  for (const ProviderLine& line : Registry()) {
    if (line.topic.kind == nullptr) continue;
    std::vector<std::string> names;
    for (const NotifySpec& to : all) {
      if (to.kind == line.topic.kind) names.push_back(to.to);
    }
    if (!names.empty()) line.topic.allow(names, rights);
  }
}

std::vector<const Allocations*> AllAllocations() {
  std::vector<const Allocations*> all;
  for (const ProviderLine& line : Registry()) {
    if (line.allocations != nullptr) all.push_back(&line.allocations());
  }
  return all;
}

void LearnPlaces() {
  for (const ProviderLine& line : Registry()) LearnInfra(line.traits.name, line.traits.infra);
}

std::optional<int> RunAway() {
  for (const ProviderLine& line : Registry()) {
    const auto code = line.away.main == nullptr ? std::nullopt : line.away.main();
    if (code) return code;
  }
  return std::nullopt;
}

int (*FindProviderProgram(std::string_view verb))(const std::string& folder) {
  for (const ProviderLine& line : Registry()) {
    for (const ProviderProgram& program : line.programs) {
      if (program.verb == verb) return program.main;
    }
  }
  return nullptr;
}

}  // namespace stoker
