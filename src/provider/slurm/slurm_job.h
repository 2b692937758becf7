// SPDX-License-Identifier: Apache-2.0
// A request as a job of Slurm: its name, the words of sbatch, the batch script. Pure functions of
// the request and of where things lie on the cluster.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "port/provider.h"
#include "provider/slurm/slurm_ask.h"

namespace stoker {

inline constexpr char kSlurmNodeVerb[] = "__slurm_node";  // stoker __slurm_node FOLDER
// In the environment of all that the batch script starts: EncodeSlurmRequest.
inline constexpr char kSlurmRequest[] = "STOKER_SLURM_REQUEST";

// Where a request's things lie, on a disk that the asker and all nodes see.
struct SlurmPaths {
  std::string folder;  // of this request
  std::string binary;  // the stoker that its nodes run
};

// "NAME:JOB.TOKEN", of which squeue's own format shows the beginning: the same for all who send the
// request, and no other's, so that of two jobs of one request the second waits for the first
// (--dependency=singleton), and whoever looks finds both. It stands in the name and not in the
// comment, since sacct keeps a name always and a comment only where the cluster wants it.
std::string SlurmJobName(const LaunchRequest& request);
// The token in such a name, or in "stoker-JOB.TOKEN", which an older stoker gave; "" = it is none.
std::string TokenOfSlurmName(std::string_view name);
std::string JobOfSlurmName(std::string_view name);

// An instance: "5.0.0123abcd" is job 5, its first node, and how the token begins, as a controller
// that died may give its number to another.
std::string SlurmInstanceId(int64_t job, size_t index, const std::string& token);
int64_t JobOfSlurmInstance(const std::string& id);  // 0 = it is none
// False only for another one of that number. An id that an older stoker wrote has no token.
bool IsOfSlurmInstance(const std::string& id, std::string_view token);

// For people, and for whoever has lost the request's folder: ledger, job, token, launches.
std::string SlurmComment(const LaunchRequest& request);
// Of one that SlurmComment wrote: with token, ledger_id, job and launches. nullopt: another's.
std::optional<LaunchRequest> ParseSlurmComment(std::string_view comment);

// Behind "sbatch"; the script goes to its standard input. Errors: kInvalid.
Result<std::vector<std::string>> SbatchWords(const LaunchRequest& request, const SlurmAsk& ask,
                                             const SlurmPaths& paths);
// For /bin/sh. Nothing secret is in it, nor in the words.
std::string BatchScript(const LaunchRequest& request, const SlurmAsk& ask, const SlurmPaths& paths);

// All of it, for the request's nodes.
std::string EncodeSlurmRequest(const LaunchRequest& request);
Result<LaunchRequest> ParseSlurmRequest(std::string_view text);

// The GPUs of a step, "cuda:0,1" or "rocm:0", out of the variables that Slurm sets; "" = it says
// nothing. A cluster that does not know of what make its GPUs are sets both (gres.conf(5), Flags):
// then `amd` counts.
std::string SlurmGpus(const std::string& cuda, const std::string& rocr, bool amd);
// The same by the numbers of their device files, "2,3", which hold outside the step's control
// group, too, where CUDA_VISIBLE_DEVICES may count from 0 (ConstrainDevices). By SLURM_STEP_GPUS,
// which srun(1) calls global ids, or by SLURM_JOB_GPUS, which are those of the batch script's node;
// "" = neither says so.
std::string SlurmGpuDevices(const std::string& step, const std::string& job, bool one_node);

}  // namespace stoker
