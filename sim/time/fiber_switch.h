// SPDX-License-Identifier: Apache-2.0
// Leaving one stack for another. On x86-64 it is a dozen instructions; elsewhere, and under
// AddressSanitizer, which knows them, it is the C library's ucontext, whose every switch is two
// system calls for a signal mask that nobody here changes.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define STOKER_SIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STOKER_SIM_ASAN 1
#endif
#endif

#if !defined(__x86_64__) || defined(STOKER_SIM_ASAN)
#define STOKER_SIM_UCONTEXT 1
#include <ucontext.h>
#endif

namespace stoker::sim {

// Where something stopped: a stack pointer, below which it left its registers.
#ifdef STOKER_SIM_UCONTEXT
using SwitchPoint = ucontext_t;
#else
using SwitchPoint = void*;
#endif

// Makes `point` the beginning of enter(argument), which must not return, on that stack. `stack` is
// its lowest address, aligned to 16 bytes as its size is.
void MakePoint(SwitchPoint* point, void* stack, size_t size, void (*enter)(void*), void* argument);

// Stops here and goes on at `to`; returns when somebody switches to `from`.
void Switch(SwitchPoint* from, SwitchPoint* to);

}  // namespace stoker::sim
