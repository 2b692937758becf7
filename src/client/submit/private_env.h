// SPDX-License-Identifier: Apache-2.0
// What goes with a job on this machine and into no ledger: secrets, variables of the shell.
#pragma once

#include <map>
#include <string>

#include "client/open/client.h"
#include "provider/local/local_private.h"
#include "spec/job_spec.h"

namespace stoker::client {

struct PrivateRequest {
  const JobSpec& spec;
  std::map<std::string, std::string> secret_values;  // by --secret NAME=@FILE and such
  bool shell = true;                                 // variables of the shell go along
  std::string workdir;                               // the folder that was packed; "" = none
};

// Where all variables of the shell are to go along, the job's machines must be this one, or
// Slurm's.
Status CheckWholeShell(const JobSpec& spec);

// Finds each secret of the spec: among `secret_values`, in this environment, or in the file
// secrets.env beside the settings (mode 0600), in this order; kInvalid names all that are nowhere,
// or says that the store holds the folder in which all this would lie. Says which secrets go along.
Result<LocalPrivate> GatherPrivate(Client& client, const PrivateRequest& request);

// Says which variables of the shell do.
void SayShell(Client& client, const JobSpec& spec, const LocalPrivate& own);

// Stops at a password in a URL, or a token, in requirements.txt below `workdir` and in the files
// that it names, since the folder goes into the ledger.
Status CheckRequirements(const std::string& workdir);

}  // namespace stoker::client
