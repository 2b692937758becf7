// SPDX-License-Identifier: Apache-2.0
// What the cloud must allow, printed and tried.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/context.h"
#include "cli/doctor_boxes.h"
#include "spec/text/infra.h"

namespace stoker::cli {

// The least rights that the store's bucket must grant; with `infra`, those of the places that it
// names, too.
Status PrintRights(Context& context, const std::string& infra);

// What EC2 allows whoever asks, in the region of `infra`. Makes nothing.
Result<std::vector<Finding>> TryRights(Context& context, const Infra& infra);

}  // namespace stoker::cli
