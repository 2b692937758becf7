// SPDX-License-Identifier: Apache-2.0
// What gcloud's own configuration says of where things are made. Source: "Managing gcloud CLI
// configurations" and `gcloud topic configurations`.
#pragma once

#include <string>

#include "base/status.h"
#include "google/environment.h"

namespace stoker {

struct GcloudConfig {
  std::string project, region, zone;  // "" = not set
};

// Of the active configuration: CLOUDSDK_ACTIVE_CONFIG_NAME, else the file `active_config` in
// $CLOUDSDK_CONFIG, else ~/.config/gcloud, else "default". Variables of gcloud
// (CLOUDSDK_CORE_PROJECT, CLOUDSDK_COMPUTE_REGION, CLOUDSDK_COMPUTE_ZONE) count before the file.
// No file is no error, nor is one that nothing is looked for in. kInvalid: the file is none that
// gcloud would read.
Result<GcloudConfig> ReadGcloudConfig(const GoogleEnvironment& environment);

}  // namespace stoker
