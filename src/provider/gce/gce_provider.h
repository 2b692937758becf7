// SPDX-License-Identifier: Apache-2.0
// Virtual machines of Google Compute Engine: on-demand and spot, in any zone, all machines of a
// request or none.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "google/token.h"
#include "port/provider.h"
#include "provider/cloud/cloud_notes.h"

namespace stoker {

namespace gce {
class ComputeApi;
}

inline constexpr char kGceProvider[] = "gce";

// "my-project.us-central1-a"
std::string GcePlace(const std::string& project, const std::string& zone);

// The credentials that Google's own tools would use (google/), and the address that gcloud would:
// CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE. Sends nothing yet.
Result<std::shared_ptr<gce::ComputeApi>> MakeComputeApi();
// That address; "" = Google's own.
std::string ComputeEndpoint();
// The same of Cloud Logging, which speaks as Compute Engine does.
inline constexpr char kLoggingEndpointVariable[] = "CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING";
Result<std::shared_ptr<gce::ComputeApi>> MakeLoggingApi();
std::string LoggingEndpoint();
// The same of Pub/Sub: CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB.
Result<std::shared_ptr<gce::ComputeApi>> MakePubSubApi();
// Whether this machine's user has credentials for it that are good now; asks for them, seconds.
bool CanPublish();
// Other services of Google's that speak as Compute Engine does, for what sets up a function: each
// by its name, "run". Its address is that of gcloud, CLOUDSDK_API_ENDPOINT_OVERRIDES_RUN where that
// is set, without a slash at its end. kInvalid: it is none of the table.
Result<std::string> GoogleServiceUrl(const std::string& service);
Result<std::shared_ptr<gce::ComputeApi>> MakeServiceApi(const std::string& service);
// A token for all of Google's services, as far as this machine's user may use them; and the file of
// certificates by which they are trusted, "" = the system's.
Result<GoogleToken> GoogleCloudToken();
std::string GoogleCaFile();

// An operation that failed is told, to whoever sends the same request, for so long; after that the
// same request is tried again. Longer than any pause between two sends.
inline constexpr Duration kToldFor = Duration::Seconds(65);

// Of `notes` places are as GcePlace has them. Interrupt asks the agent of the machine: Google gives
// no drills with a notice of any length. Machines are named by InstanceSeen::id in all calls: their
// names in the project.
std::unique_ptr<Provider> MakeGceProvider(std::shared_ptr<gce::ComputeApi> api, cloud::Notes notes,
                                          Duration told_for = kToldFor);

// Moves the time until which nobody but its own job ends the machine.
Status LabelExpiry(gce::ComputeApi& api, const std::string& project, const std::string& zone,
                   const std::string& instance_id, WallTime expires);

}  // namespace stoker
