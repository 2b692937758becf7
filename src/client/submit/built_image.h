// SPDX-License-Identifier: Apache-2.0
// The image of a job that brings a Dockerfile: built by this machine's engine, of the code as it
// was packed.
#pragma once

#include "client/open/client.h"
#include "job/job.h"
#include "provider/local/local_private.h"
#include "spec/job_spec.h"

namespace stoker::client {

// Nothing to do for a job without. `job`: its code is packed, its offers are known; sets its image,
// and where it runs elsewhere too, the blob of its archive or, where the settings name a registry,
// its digest there. None is made again for the same code. `own` has the secrets that a login of the
// job may be made of. kInvalid: it cannot be built or pushed, with the engine's last words.
Status BuildImage(Client& client, const JobSpec& spec, const LocalPrivate& own, Job* job);

}  // namespace stoker::client
