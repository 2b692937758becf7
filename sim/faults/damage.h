// SPDX-License-Identifier: Apache-2.0
// What becomes of an object that a hand, a disk or another version of stoker has spoilt.
#pragma once

#include <string>

#include "base/prng.h"

namespace stoker::sim {

// `text` spoilt in a way that is drawn: nothing, garbage, cut short, a bit flipped, other JSON, or
// a format that only a newer version knows.
std::string Spoil(Prng& rng, const std::string& text);

// An index segment with a checksum that holds, over lines that are none.
std::string HostileSegment(Prng& rng, const std::string& segment);

}  // namespace stoker::sim
