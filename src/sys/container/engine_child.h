// SPDX-License-Identifier: Apache-2.0
// A client of an engine that stays in the foreground for as long as its container: apptainer's,
// which keeps no books. When this process is gone, however, it ends with the container, whose first
// process reads that.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "sys/task/process_table.h"

namespace stoker {

class EngineChild {
 public:
  // Runs `argv`, whose first is a path, in `folder`, which has what it says from then on.
  static Result<std::unique_ptr<EngineChild>> Start(const std::vector<std::string>& argv,
                                                    const std::string& folder);
  // As End, for a second.
  ~EngineChild();
  EngineChild(const EngineChild&) = delete;
  EngineChild& operator=(const EngineChild&) = delete;

  // Its exit code, 128 and the signal's number if that ended it; nullopt: it runs.
  std::optional<int> Ended();
  // Once the container runs: notes whatever the client has started for it, what serves the image
  // among it, which outlives a client that somebody killed; in `folder`, too, for who comes after
  // this process (EndNotedProcesses).
  void NoteHelpers(const std::string& folder);
  // What it has said on either stream, the end of it.
  std::string Said() const;
  // Waits for its end for so long, then kills it; and ends what is left of its helpers.
  void End(int64_t within_ms);

 private:
  EngineChild(pid_t pid, std::string said) : pid_(pid), said_(std::move(said)) {}
  const pid_t pid_;
  const std::string said_;  // a file
  std::optional<int> code_;
  std::vector<ProcessStat> helpers_;
  std::string noted_;  // the folder
};

}  // namespace stoker
