// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "port/transfer_side.h"

namespace stoker {

// A file of lines. It is made, with the folders above it, by the first Add. `path` is absolute.
std::unique_ptr<Journal> OpenJournalFile(const std::string& path);

}  // namespace stoker
