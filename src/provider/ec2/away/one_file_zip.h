// SPDX-License-Identifier: Apache-2.0
// An archive of one file, as Lambda takes code; inside provider/ec2 only. Pure. Source:
// "APPNOTE.TXT
// - .ZIP File Format Specification", 4.3.
#pragma once

#include <string>
#include <string_view>

namespace stoker::ec2 {

// A zip in which `data` is the only file, executable, with the same bytes each time: its digest
// tells whether the code is another. "" where it is too large for the format (4 GiB) or the memory.
std::string OneFileZip(std::string_view name, std::string_view data);

}  // namespace stoker::ec2
