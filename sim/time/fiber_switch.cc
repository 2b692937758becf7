// SPDX-License-Identifier: Apache-2.0
#include "sim/time/fiber_switch.h"

#include <cstdint>

#ifdef STOKER_SIM_UCONTEXT

namespace stoker::sim {
namespace {

// makecontext passes ints.
void EnterParts(unsigned enter_high, unsigned enter_low, unsigned high, unsigned low) {
  const auto join = [](unsigned a, unsigned b) {
    return (static_cast<uintptr_t>(a) << 32) | static_cast<uintptr_t>(b);
  };
  const auto enter = reinterpret_cast<void (*)(void*)>(join(enter_high, enter_low));
  enter(reinterpret_cast<void*>(join(high, low)));
}

}  // namespace

void MakePoint(SwitchPoint* point, void* stack, size_t size, void (*enter)(void*), void* argument) {
  ::getcontext(point);
  point->uc_stack.ss_sp = stack;
  point->uc_stack.ss_size = size;
  point->uc_link = nullptr;
  const auto code = reinterpret_cast<uintptr_t>(enter);
  const auto data = reinterpret_cast<uintptr_t>(argument);
  ::makecontext(point, reinterpret_cast<void (*)()>(&EnterParts), 4,
                static_cast<unsigned>(code >> 32), static_cast<unsigned>(code),
                static_cast<unsigned>(data >> 32), static_cast<unsigned>(data));
}

void Switch(SwitchPoint* from, SwitchPoint* to) { ::swapcontext(from, to); }

}  // namespace stoker::sim

#else

// System V ABI: a function keeps rbx, rbp, r12 to r15 and rsp; the caller takes care of the rest.
// The control words of the floating-point units are nobody's to change here.
extern "C" void stoker_sim_switch(void** from, void* to);
extern "C" void stoker_sim_begin();
asm(R"(
.text
.p2align 4
.globl stoker_sim_switch
.hidden stoker_sim_switch
.type stoker_sim_switch, @function
stoker_sim_switch:
  .cfi_startproc
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  .cfi_adjust_cfa_offset 48
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  .cfi_adjust_cfa_offset -48
  ret
  .cfi_endproc
.size stoker_sim_switch, . - stoker_sim_switch

# Where a new stack begins: enter(argument), and nobody above it.
.p2align 4
.globl stoker_sim_begin
.hidden stoker_sim_begin
.type stoker_sim_begin, @function
stoker_sim_begin:
  .cfi_startproc
  .cfi_undefined rip
  movq %r12, %rdi
  callq *%r13
  ud2
  .cfi_endproc
.size stoker_sim_begin, . - stoker_sim_begin
)");

namespace stoker::sim {

void MakePoint(SwitchPoint* point, void* stack, size_t size, void (*enter)(void*), void* argument) {
  auto* top = reinterpret_cast<uintptr_t*>(static_cast<char*>(stack) + size);
  *--top = 0;
  *--top = 0;  // at the call the stack is aligned to 16 bytes
  *--top = reinterpret_cast<uintptr_t>(&stoker_sim_begin);
  *--top = 0;                                      // rbp
  *--top = 0;                                      // rbx
  *--top = reinterpret_cast<uintptr_t>(argument);  // r12
  *--top = reinterpret_cast<uintptr_t>(enter);     // r13
  *--top = 0;                                      // r14
  *--top = 0;                                      // r15
  *point = top;
}

void Switch(SwitchPoint* from, SwitchPoint* to) { stoker_sim_switch(from, *to); }

}  // namespace stoker::sim

#endif
