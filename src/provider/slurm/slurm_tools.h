// SPDX-License-Identifier: Apache-2.0
// Slurm's own programs, run here or, by the system's ssh, on the host that has them.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "provider/slurm/slurm_queue.h"

namespace stoker {

class SlurmTools {
 public:
  // `login`: a host for ssh; "" = this machine.
  explicit SlurmTools(std::string login);

  // What it printed on its standard output. Errors: kDenied: there is no such program, here or
  // there; kTimeout; else kUnavailable with what it said. `input`: a file; "" = nothing.
  Result<std::string> Run(const std::vector<std::string>& words, Duration limit,
                          const std::string& input = "", std::string* said = nullptr) const;
  // `words` of sbatch, as Run. What it takes of the asker's environment is the little that a node's
  // stoker needs: all else may be secret, or another's. It is the environment of sbatch itself, for
  // to a list behind --export Slurm adds what a login shell on the node says, which takes seconds.
  Result<std::string> Submit(const std::vector<std::string>& words, Duration limit,
                             const std::string& script, std::string* said) const;
  static constexpr Duration kLookLimit = Duration::Seconds(30);
  // Every job of this user that Slurm remembers.
  Result<std::vector<SlurmJobSeen>> Queue(Duration limit = kLookLimit);
  // One of them, of that request; nullopt: Slurm does not know it (any more). A controller that
  // died may have given its number to another.
  Result<std::optional<SlurmJobSeen>> Job(int64_t job, const std::string& token,
                                          Duration limit = kLookLimit);
  // The same, whoever has made it.
  Result<std::optional<SlurmJobSeen>> Row(int64_t job, Duration limit = kLookLimit);
  Status Cancel(const std::vector<int64_t>& jobs) const;
  // How long Slurm waits from SIGTERM to SIGKILL.
  Duration KillWait(Duration limit = kLookLimit) const;
  // When its controller began.
  Result<WallTime> Began() const;

 private:
  Result<std::string> RunWith(std::vector<std::string> env, const std::vector<std::string>& words,
                              const std::string& before, Duration limit, const std::string& input,
                              std::string* said) const;
  // The first number behind "NAME = ".
  Result<int64_t> Configured(const std::string& name, Duration limit = kLookLimit) const;
  Result<std::vector<SlurmJobSeen>> QueueByLines(Duration limit, bool* known);

  const std::string login_;
  std::mutex mutex_;
  bool no_lines_ = false;  // it does not know our format
};

}  // namespace stoker
