// SPDX-License-Identifier: Apache-2.0
// Which image a job's container is of, found out when it is submitted.
#pragma once

#include <future>
#include <optional>
#include <string>

#include "client/open/client.h"
#include "job/job.h"
#include "provider/local/local_private.h"
#include "spec/job_spec.h"

namespace stoker::client {

// What this machine's engine has under the name, looked for while other things are done. kInvalid:
// there is no engine here that the job could use.
using ImageLook = std::future<Result<std::optional<std::string>>>;

// Sets `job->image` and its bytes, unless an earlier job gave them; `job->offers` are known. `own`
// has the secrets that a login of the job may be made of. Of a job that runs on this machine alone
// what its engine has goes before what a registry has: the look for it is begun, and FinishImage
// has the last word, on whatever thread. kInvalid, kNotFound: there is no such image for the job's
// machines, or no engine where this one is all it has. A registry that cannot be asked is said, and
// the job's first node finds out.
Result<ImageLook> FixImage(Client& client, const JobSpec& spec, const LocalPrivate& own, Job* job);
// `look`: of FixImage.
Status FinishImage(Client& client, const JobSpec& spec, const LocalPrivate& own, ImageLook look,
                   Job* job);

}  // namespace stoker::client
