// SPDX-License-Identifier: Apache-2.0
// CloudWatch Logs: a group a ledger, a stream a job, attempt and rank. Its makers are the
// registry's and a test's.
#pragma once

#include <memory>

#include "base/status.h"
#include "port/cloud_log.h"
#include "port/object_store.h"
#include "provider/ec2/api/aws_api.h"

namespace stoker {

// With the credentials and addresses of this machine's user. Sends nothing yet. `store`, the
// ledger's, must outlive it. Errors: those of MakeAwsApi.
Result<std::unique_ptr<CloudLog>> OpenCloudWatch(const CloudLogPlace& place, ObjectStore& store);
std::unique_ptr<CloudLog> MakeCloudWatch(std::shared_ptr<ec2::AwsApi> api,
                                         const CloudLogPlace& place, ObjectStore& store);
// Of the job's lines in the region of `place`.
CloudLogQuery CloudWatchQuery(const CloudLogPlace& place);

}  // namespace stoker
