// SPDX-License-Identifier: Apache-2.0
// Places that a node's job has left. A machine of one cloud may well have no rights in another, and
// need none: what is still to be done there, somebody else does.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "job/job.h"
#include "port/provider.h"

namespace stoker {

// Thread-safe.
class LeftBehind {
 public:
  // `own`: the provider of this machine.
  explicit LeftBehind(std::string own);
  ~LeftBehind();

  // The node's job, as it was read last.
  void Heard(const Job& job);

  // What a pass is to ask for `provider`, which outlives this: that, or null (ProviderLookup of
  // controller/controller.h) once it has refused (kDenied) to tell this node of machines, while the
  // job can have none there any more. Where it can, a refusal is to be told and decided upon.
  Provider* ToAsk(const std::string& name, Provider* provider);

 private:
  class Watched;

  const std::string own_;
  std::mutex mutex_;
  std::set<std::string> offered_;                          // guarded by mutex_
  std::map<std::string, std::unique_ptr<Watched>> asked_;  // guarded by mutex_
};

}  // namespace stoker
