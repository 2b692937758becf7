// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "controller/away/bound.h"
#include "job/request.h"

namespace stoker {

// What a record's request for one machine of EC2 comes to. Its price is the list's, on spot too, or
// its ceiling on spot where that is lower: spot never costs more than on demand. kInvalid: it is
// for no machine of EC2. Pure.
Result<AskedMachine> AskedOfEc2(const Ask& ask);

}  // namespace stoker
