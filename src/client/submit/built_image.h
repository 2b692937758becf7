// SPDX-License-Identifier: Apache-2.0
// The image of a job that brings a Dockerfile: built by this machine's engine, of the code as it
// was packed.
#pragma once

#include "client/open/client.h"
#include "job/job.h"
#include "spec/job_spec.h"

namespace stoker::client {

// Nothing to do for a job without. `job`: its code is packed, its offers are known; sets its image,
// and where it runs elsewhere too, the blob of its archive. Neither is made again for the same
// code. kInvalid: it cannot be built, with the engine's last words.
Status BuildImage(Client& client, const JobSpec& spec, Job* job);

}  // namespace stoker::client
