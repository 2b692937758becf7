// SPDX-License-Identifier: Apache-2.0
#include "node/attempt_run.h"
namespace stoker::node {
Status AttemptRun::RestoreCheckpoint(const std::string&, StagingEnded*) { return Status::Ok(); }
void AttemptRun::StartKeepers() {}
Status AttemptRun::FinalSync(const FinalizeAttempt&) { return Status::Ok(); }
std::string AttemptRun::NewestCheckpoint() const { return ""; }
std::string AttemptRun::KeeperTrouble() const { return ""; }
}  // namespace stoker::node
