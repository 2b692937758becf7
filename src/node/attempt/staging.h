// SPDX-License-Identifier: Apache-2.0
// Staging: all that an attempt's program needs on this node, made before it starts. Code, what the
// submitter left, inputs, GPUs, packages, setup, the checkpoint.
#pragma once

#include <optional>
#include <string>

#include "agent/supervisor.h"
#include "node/attempt/context.h"
#include "node/attempt/keepers.h"
#include "node/attempt/program.h"
#include "node/env/shell_step.h"

namespace stoker::node {

// Used by one thread but for Cancel and cancelled.
class Staging {
 public:
  // Both must outlive it.
  Staging(AttemptContext& here, AttemptKeepers& keepers)
      : here_(here), keepers_(keepers), step_(here.runner) {}

  // Opens the log and stages; while the store is away it tries again, unless cancelled.
  StagingEnded Stage(const std::string& restore);
  void Cancel() { step_.Cancel(); }
  bool cancelled() { return step_.cancelled(); }

  // Stage was called: what lies in the machine's folder is this process's.
  bool begun() const { return begun_; }
  const Staged& staged() const { return staged_; }

 private:
  Status TryStage(const std::string& restore, StagingEnded* result);
  Status SetUp(const std::string& restore, StagingEnded* result);
  Status LearnVariables(StagingEnded* result);
  Status WhyWithoutVariables(const Status& why, StagingEnded* result);
  Status BringInputs(StagingEnded* result);
  Status AwaitItsGpus();
  void MakeNamedFolders();

  AttemptContext& here_;
  AttemptKeepers& keepers_;
  ShellStep step_;
  Staged staged_;
  bool begun_ = false;
  bool set_up_ = false;
  std::optional<MonoTime> secrets_asked_;  // first without an answer
};

}  // namespace stoker::node
