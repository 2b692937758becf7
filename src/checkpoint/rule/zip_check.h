// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/rule/format_check.h"

namespace stoker {

// kWhole when the end record, the directory and each entry's CRC-32 agree (APPNOTE.TXT 6.3.10 of
// PKWARE, zip64 included); kUnknown for entries that are encrypted or packed in unusual ways, and
// for several whole archives one behind the other.
Wholeness CheckZip(ByteSource& source);

}  // namespace stoker
