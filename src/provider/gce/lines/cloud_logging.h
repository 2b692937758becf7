// SPDX-License-Identifier: Apache-2.0
// Cloud Logging: entries of the log "stoker" of a project, of the VM that wrote them. Its makers
// are the registry's and a test's.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "port/cloud_log.h"
#include "port/object_store.h"
#include "provider/gce/compute_api.h"

namespace stoker {

// On a VM, which is asked for its number; with its own account. Errors: those of the metadata
// server, of MakeComputeApi.
Result<std::unique_ptr<CloudLog>> OpenCloudLogging(const CloudLogPlace& place, ObjectStore&);
// `number`: Google's own id of the VM.
std::unique_ptr<CloudLog> MakeCloudLogging(std::shared_ptr<gce::ComputeApi> api,
                                           const CloudLogPlace& place, const std::string& number);
CloudLogQuery CloudLoggingQuery(const CloudLogPlace& place);

}  // namespace stoker
