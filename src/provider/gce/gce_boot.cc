// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_boot.h"

#include <algorithm>

#include "provider/cloud/cloud_boot.h"
#include "provider/cloud/cloud_launch.h"
#include "provider/gce/gce_boot_scripts.h"

namespace stoker::gce {

Result<std::string> StartupScript(const LaunchRequest& request, const Options& options) {
  STOKER_ASSIGN(const cloud::Bucket bucket,
                cloud::BucketOf(request.store_url, "gs://", "machines of Google"));
  STOKER_TRY(
      cloud::CheckLines({request.store_url, options.storage_endpoint, options.compute_endpoint,
                         options.secrets_endpoint, options.logs_endpoint, request.ask.place.account,
                         request.binary_digest}));
  using cloud::SetVariable;
  const std::string env =
      SetVariable("LIMIT", std::to_string(std::max<int64_t>(request.limit.ms / 1000, 60))) +
      // One that was off for long is given time to renew its lease.
      (options.restart ? SetVariable("GRACE", "900") : "") +
      SetVariable("DIGEST", request.binary_digest) +
      SetVariable("PERIOD", std::to_string(options.blob_period)) +
      SetVariable("BASE", cloud::GoogleBlobBase(bucket, options.storage_endpoint)) +
      SetVariable("PROJECT", request.ask.place.account) +
      SetVariable("STORAGE_ENDPOINT", options.storage_endpoint) +
      SetVariable("COMPUTE_ENDPOINT", options.compute_endpoint) +
      SetVariable("SECRETS_ENDPOINT", options.secrets_endpoint) +
      SetVariable("LOGS_ENDPOINT", options.logs_endpoint) +
      "MD=${GCE_METADATA_HOST:-169.254.169.254}\n";
  return "#!/bin/sh\n# Written by stoker for one job: see docs/gcp.md.\n" +
         cloud::BootScript(
             {env,
              kRunScript,
              cloud::EncodeLaunch(request),
              kLaunchFile,
              {{"/opt/stoker/metadata", kMetadataScript}, {"/opt/stoker/end", kEndScript}}});
}

}  // namespace stoker::gce
