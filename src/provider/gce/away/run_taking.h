// SPDX-License-Identifier: Apache-2.0
// Takes away the parts of a reconciler in Cloud Run; inside provider/gce only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "port/away.h"
#include "provider/gce/away/service_asker.h"

namespace stoker::gce {

struct RunTaking {
  std::string ledger;
  std::set<std::pair<std::string, std::string>> places;  // project and region
  bool shared = true;                                    // what is of a project, too
  std::string node_email;                                // that the settings name for machines
};

// Of a job of Cloud Run: a variable of its environment; "" = it is not set.
std::string VariableOf(const std::string& body, const std::string& name);
// Of a job of Cloud Run: the account whose machines it may ask for; "" = it does not say.
std::string NodeEmailOf(const std::string& body);
// An answer of IAM: it was deleted, and is told of for a while.
bool IsOver(const std::string& body);

// As AwayHost::Uninstall. What starts it goes first, and last the job, which knows for which
// account's machines it was set up: whoever is killed in between finds the rest again.
AwayTaken TakeAway(ServiceAsker& asker, const RunTaking& taking);

}  // namespace stoker::gce
