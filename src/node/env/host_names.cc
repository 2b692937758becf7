// SPDX-License-Identifier: Apache-2.0
#include "node/env/host_names.h"

#include "base/text.h"
#include "contract/environment.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

// One that is not there cannot be replaced either: then there are no names.
std::string HostsOfMachine() {
  std::string text = sys::ReadFile("/etc/hosts", 1 << 20).value_or("");
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

}  // namespace

std::vector<std::string> HostNames(const std::string& job_id, int num_nodes) {
  if (num_nodes == 1) return {sys::Hostname()};
  std::vector<std::string> names;
  for (int rank = 0; rank < num_nodes; ++rank) {
    names.push_back(contract::NodeHostName(job_id, rank));
  }
  return names;
}

Status AskForHostName(const HostPlan& plan, TaskCommand& command) {
  if (plan.num_nodes == 1) return Status::Ok();
  const bool all_known = static_cast<int>(plan.addresses.size()) == plan.num_nodes;
  std::string hosts = HostsOfMachine() + "# stoker: the nodes of this job\n";
  for (size_t i = 0; i < plan.addresses.size(); ++i) {
    const int rank = all_known ? static_cast<int>(i) : plan.rank;
    hosts += plan.addresses[i] + " " + contract::NodeHostName(plan.job_id, rank) + "\n";
  }
  STOKER_TRY(sys::WriteFileAtomic(plan.hosts_file, hosts, 0644, false));
  command.host.name = contract::NodeHostName(plan.job_id, plan.rank);
  command.host.hosts_file = plan.hosts_file;
  const std::string names = Join(HostNames(plan.job_id, plan.num_nodes), " ");
  for (const auto& [name, value] : command.env) {
    if (name != "NODES" || value != names) continue;
    command.host.env_without = {{"NODES", Join(plan.addresses, " ")}};
  }
  return Status::Ok();
}

std::string NoHostName() {
  return "this system gives the nodes of a job no host names of their own (that takes a pid, a "
         "mount and a UTS namespace): gethostname() says " +
         Printable(sys::Hostname()) + " on all of them, and NODES holds their addresses";
}

}  // namespace stoker::node
