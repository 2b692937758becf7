// SPDX-License-Identifier: Apache-2.0
// Looks after one job for as long as a command is attached to it: a pass now and then, and in
// between, while the job runs undisturbed, a glance at its record, which costs a bucket a dozenth.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "agent/look_pace.h"
#include "controller/controller.h"

namespace stoker::client {

class JobWatch {
 public:
  // Both must outlive it.
  JobWatch(Controller& controller, Clock& clock, const StoreTraits& traits, std::string job)
      : controller_(controller), clock_(clock), pace_(Attached(traits)), job_(std::move(job)) {}

  // What a pass saw; unset = a glance was enough, and everything is as the last one saw it. Errors
  // as Controller::Pass.
  Result<std::optional<PassResult>> Look() {
    const MonoTime now = clock_.Mono();
    if (!pace_.Whole(now)) {
      const auto seen = controller_.Glance(job_);
      if (!seen.ok()) pace_.Disturb();
      if (!seen.ok()) return seen.status();
      if (*seen) return std::optional<PassResult>();
    }
    auto pass = controller_.Pass(job_);
    if (!pass.ok()) pace_.Disturb();
    if (!pass.ok()) return pass.status();
    pace_.Looked(now, pass->job, pass->reports, pass->machines, pass->changed);
    return std::optional<PassResult>(std::move(*pass));
  }

 private:
  // As often as the nodes together: where there is one alone, nobody else finds out that it has
  // fallen silent.
  static StoreTraits Attached(StoreTraits traits) {
    traits.look = traits.look / 2;
    return traits;
  }

  Controller& controller_;
  Clock& clock_;
  LookPace pace_;
  const std::string job_;
};

}  // namespace stoker::client
