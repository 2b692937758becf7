// SPDX-License-Identifier: Apache-2.0
// What Compute Engine's errors mean; inside provider/gce only. Pure: one table. Sources stand in
// gce_errors_test.cc, at each reply.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "job/refusal.h"
#include "provider/cloud/refusal_rows.h"
#include "provider/gce/gce_answer.h"

namespace stoker::gce {

// A no to a launch, at once or at the end of its operation. Unset: it is none, whatever was asked
// for may have been made (5xx, an answer that says nothing). `machines`: as many as were asked for.
std::optional<Refusal> RefusalOf(const Failure& failure, size_t machines = 1);
// The table that it goes by; docs/refusals.md is printed from it.
std::span<const cloud::RefusalRow> RefusalRows();
// Of an operation that is done and has failed, of which nothing is left; the one of its errors that
// says most.
Refusal RefusalOfOperation(const std::vector<Failure>& errors, size_t machines = 1);

// For every other call. `what` says which and on what: "listing instances in my-project".
Status StatusOf(const std::string& what, const Failure& failure);

// Something of that name is there, ours or not.
bool IsThere(const Failure& failure);
// Its requestId was sent before, with another request.
bool IsOtherRequest(const Failure& failure);
// It knows no notice of preemption, or not that long: to be asked for again without.
bool RefusesNotice(const Failure& failure);
// The token is not taken any more, but another may be.
bool IsUnauthenticated(const Failure& failure);

}  // namespace stoker::gce
