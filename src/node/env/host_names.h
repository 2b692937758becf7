// SPDX-License-Identifier: Apache-2.0
// Host names for the nodes of one job that are one machine, so that each finds itself by
// gethostname() among the names in NODES.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "port/process_runner.h"

namespace stoker::node {

// By rank. A single node keeps the machine's own name: nobody has to tell it from another.
std::vector<std::string> HostNames(const std::string& job_id, int num_nodes);

struct HostPlan {
  std::string job_id;
  int num_nodes = 1;
  int rank = 0;
  std::vector<std::string> addresses;  // by rank; {own} while the others are not known
  std::string hosts_file;              // written here: this machine's /etc/hosts and the names
};

// Asks for the host name of this node, where there are several: see TaskHost. NODES in the
// command's environment holds addresses instead where the system gives none, unless the user set
// it.
Status AskForHostName(const HostPlan& plan, TaskCommand& command);

// What the log says when it was not given.
std::string NoHostName();

}  // namespace stoker::node
