// SPDX-License-Identifier: Apache-2.0
// Conditions of writes as preconditions on generations; inside store/ only.
#pragma once

#include <string>

#include "store/gcs/gcs_upload.h"

namespace stoker::gcs {

// "ifGenerationMatch=…", or "" for none. A version that is no generation matches none that there
// can be.
std::string ConditionQuery(const Condition& condition);

// What a refused write means by the port: 412 says only that the condition does not hold, so that
// somebody must look whether the object that it names is there.
Status Meant(const Bucket& bucket, const std::string& key, const Condition& condition,
             const Status& refused);

}  // namespace stoker::gcs
