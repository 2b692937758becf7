// SPDX-License-Identifier: Apache-2.0
// What a training process may rely on: the environment of the program and of `setup`. Pure.
// Sources of the names: torchrun's PET_<FLAG> defaults (torch.distributed.run), SkyPilot's
// "Environment variables" page, and docs/job-file.md for STOKER_*.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "job/job.h"
#include "spec/job_spec.h"

namespace stoker::contract {

using Environment = std::vector<std::pair<std::string, std::string>>;

// In the work directory: $STOKER_OUTPUT_DIR and $STOKER_MODEL_DIR, which are always kept.
inline constexpr char kOutputFolder[] = "output";
inline constexpr char kModelFolder[] = "model";

// What is known of one node when its program starts. Paths are absolute, on that node.
struct ProgramInput {
  std::string job_id;
  std::string job_name;
  std::string user;
  int attempt = 1;
  int rank = 0;
  std::vector<std::string> addresses;   // by rank; during setup only this node's may be known
  std::vector<std::string> host_names;  // by rank: what gethostname() says there
  int master_port = 0;                  // 0 during setup
  int num_nodes = 1;
  int gpus = 0;         // on this node
  bool resume = false;  // a checkpoint was restored
  std::string checkpoint_dir;
  std::string output_dir;
  std::string model_dir;
  std::string metrics_file;      // "" during setup
  std::string saves_file;        // ToldSaves; "" during setup
  std::string inputs_dir;        // each channel has the folder of its name in it
  std::optional<GitOrigin> git;  // of the packed code
  std::string store_url;
  std::string home;
  std::string path;        // PATH that the agent itself has
  Environment shell;       // of the submitter's shell, for a job on the submitter's machine
  Environment secrets;     // by name and value; they win over all but `granted`
  Environment granted;     // which GPUs the job was given; where there are any, `gpus` of them
  Environment from_setup;  // what `setup` wrote into $STOKER_ENV; wins over what the file says
};

// The host name that a node of several has, where the system lets it have one: the job's id and the
// rank as one label of the domain name system (RFC 1123), the same for all who ask.
std::string NodeHostName(const std::string& job_id, int rank);

// The whole environment of the program: a small base, the submitter's shell, what launchers set,
// the job's `envs`, what `setup` added, the secrets; later ones win. RANK, LOCAL_RANK, WORLD_SIZE
// are left to torchrun: with them set at node level, Lightning and accelerate take the process for
// one of torchrun's workers.
Environment ProgramEnvironment(const JobSpec& spec, const ProgramInput& facts);
// The same for `setup`: no rendezvous yet, SKYPILOT_SETUP_* instead.
Environment SetupEnvironment(const JobSpec& spec, const ProgramInput& facts);

}  // namespace stoker::contract
