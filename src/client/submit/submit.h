// SPDX-License-Identifier: Apache-2.0
// From a valid JobSpec to a job in the ledger: code packed and stored, binary stored, record made.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/open/client.h"
#include "job/job.h"
#include "spec/job_spec.h"

namespace stoker::client {

struct SubmitRequest {
  JobSpec spec;
  bool yes = false;      // do not ask before packing very much
  bool outlive = false;  // the allocation of Slurm that it is submitted inside of (allocation.h)
  std::string retry_of;  // begin from that job's newest checkpoint …
  std::string from;      // Job::from
  std::string promised;  // Job::promised
  // What it goes on from or takes its code from (LineOf): it is to be there for the record.
  std::vector<std::string> line;
  std::string code_digest;  // … with the code that it was submitted with
  std::string code_note;
  std::optional<GitOrigin> git;  // Job::git and Job::pins of that code
  std::vector<Pin> pins;
  std::string image;  // Job::image and its bytes, of that job's container.image
  int64_t image_bytes = 0;
  std::string image_blob;
  std::vector<LeftOut> left_behind;                  // … and what packing had left behind then
  std::string code_downloads;                        // as Job's
  std::map<std::string, std::string> secret_values;  // those that flags gave
  // Variables of this shell go along: what is listed, and unless `code_digest` is there (a retry
  // has what its record says) what the job names.
  bool shell_env = true;
  // Called once, last before the record is made: who ends this process from now on may leave a job.
  std::function<void()> before_record = {};
};

// Nothing is written before the spec and the work directory have been found good. What it packed is
// said on standard error.
Result<Job> Submit(Client& client, const SubmitRequest& request);

// Adds to `spec` the variables of this shell that it or its work directory names, as Submit does;
// a work directory that is a repository is not cloned for that.
Status AddNamed(Client& client, const SubmitRequest& request, JobSpec* spec);

}  // namespace stoker::client
