// SPDX-License-Identifier: Apache-2.0
// Deliberate bugs: mistakes that somebody could make in this very line, for the proof that the
// simulator's checkers can fail (docs/decisions/0012). They exist in one test program only
// (sim/bugs); everywhere else BugIsOn is false at compile time, and the compiler leaves nothing of
// it. Only for .cc files: what a header says must not differ between the two.
#pragma once

#include <string_view>

namespace stoker {

#ifdef STOKER_DELIBERATE_BUGS
// True while the program that this is linked into plays the bug of that name. One thread.
bool BugIsOn(std::string_view name);
#else
constexpr bool BugIsOn(std::string_view) { return false; }
#endif

}  // namespace stoker
