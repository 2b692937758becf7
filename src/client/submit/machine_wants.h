// SPDX-License-Identifier: Apache-2.0
// What a job asks of this machine, before it is submitted: taken from the shell, compared with what
// there is.
#pragma once

#include <string>
#include <vector>

#include "client/open/client.h"
#include "policy/local_queue.h"
#include "spec/job_spec.h"

namespace stoker::client {

// What CUDA_VISIBLE_DEVICES says, among the job's variables or in this shell (`shell`), is asked
// for, unless the job says how many GPUs it wants. What cannot be taken so is said.
void TakeVisibleGpus(Client& client, bool shell, JobSpec* spec);

// For a file over which the command line says that it runs here: what this machine will never have
// is said, and not asked for. What `flags` ("--cpus") ask for stays.
void LeaveOutWhatIsMissing(Client& client, const std::vector<std::string>& flags, JobSpec* spec);

// kInvalid when the job could never start on this machine: what is there and what was asked. kUsage
// when what is there was said in words that are not understood.
Status CheckItFits(const JobSpec& spec);

}  // namespace stoker::client
