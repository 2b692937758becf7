// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/verb.h"

namespace stoker::cli {

// `stoker tensorboard [JOB…]`.
Verb TensorboardVerb();

}  // namespace stoker::cli
