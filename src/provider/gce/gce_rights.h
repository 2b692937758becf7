// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "port/rights.h"

namespace stoker {

namespace gce {
// Files of the rights beside those of submitters and nodes (port/rights.h).
inline constexpr char kSubmitterSecretsFile[] = "submitter-secrets.json";
inline constexpr char kNodeSecretsFile[] = "node-secrets.json";
inline constexpr char kNodeLogsFile[] = "node-logs.json";
inline constexpr char kAwayFile[] = "away.json";
inline constexpr char kInstallerFile[] = "away-installer.json";
}  // namespace gce

// `rights` of the store at `store_url`, a bucket of Google's, with what must be allowed on the
// project besides: to whoever submits, and to the machines of a job, which replace one another,
// move their own leases and delete themselves. Source: "IAM permissions" of each method (Compute
// Engine v1 API). `project`: "" = not known; `account`: e-mail of the machines, "" = the usual one.
// kInvalid: the store is elsewhere.
Result<Rights> AddGceRights(Rights rights, const std::string& store_url, const std::string& project,
                            const std::string& account);

// What a reconciler needs on the project that looks after the jobs of others: all of a node's, and
// to list and remove secrets of jobs that are over, not to read them.
std::vector<std::string> GceAwayPermissions();

}  // namespace stoker
