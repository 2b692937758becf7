// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM, as the verbs mean them.
#pragma once

namespace stoker::cli {

// From now on the first one is only noted. A second one ends the process with 130, saying `last`
// (a literal, without line end; "" = nothing).
void CatchInterrupts(const char* last = "");
// True once one came since CatchInterrupts.
bool Interrupted();
// Was the last one SIGTERM?
bool InterruptedByTerm();
// What came so far counts no more.
void ForgetInterrupts();

// Until CatchInterrupts: the first one ends the process with 130 and says `last` (a literal).
void EndOnInterrupt(const char* last);

}  // namespace stoker::cli
