// SPDX-License-Identifier: Apache-2.0
// The memory that only a start needs, in a process that stays for long.
#pragma once

namespace stoker {

// Gives back the pages of this program's own file that are mapped, and free memory of the heap.
// What is needed again comes again, from the kernel's cache: a fault for each 64 KiB or so. Any
// thread; others may run meanwhile.
void LetGoOfStartPages();

}  // namespace stoker
