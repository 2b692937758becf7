// SPDX-License-Identifier: Apache-2.0
#include "sim/time/fiber.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#ifdef STOKER_SIM_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace stoker::sim {
namespace {

// The JSON library recurses and the sanitizers widen every frame.
#ifdef STOKER_SIM_ASAN
constexpr size_t kStackSize = size_t{1} << 20;
#else
constexpr size_t kStackSize = size_t{256} << 10;
#endif
constexpr size_t kGuard = 4096;

// Kept for reuse, from world to world: each makes dozens of short fibers. As many as the largest
// world had at once; their pages are clean after the first time.
struct FreeStack {
  FreeStack* next;
};
thread_local FreeStack* free_stacks = nullptr;

void* TakeStack() {
  if (free_stacks != nullptr) return std::exchange(free_stacks, free_stacks->next);
  void* memory = ::mmap(nullptr, kStackSize + kGuard, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || ::mprotect(memory, kGuard, PROT_NONE) != 0) {
    std::perror("sim: no memory for a stack");
    std::abort();
  }
  return static_cast<char*>(memory) + kGuard;
}

void GiveStack(void* stack) {
  auto* free = static_cast<FreeStack*>(stack);
  free->next = free_stacks;
  free_stacks = free;
}

}  // namespace

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)) {}

Fiber::~Fiber() {
  if (begun_ && !ended_) {
    std::fputs("sim: a fiber was destroyed while it ran\n", stderr);
    std::abort();
  }
  if (stack_ != nullptr) GiveStack(stack_);
}

void Fiber::Enter(void* self) { static_cast<Fiber*>(self)->Run(); }

void Fiber::Run() {
#ifdef STOKER_SIM_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &back_bottom_, &back_size_);
#endif
  try {
    body_();
  } catch (const Killed&) {
  }
  body_ = nullptr;
  ended_ = true;
  SwitchOut(true);
}

void Fiber::SwitchIn() {
#ifdef STOKER_SIM_ASAN
  __sanitizer_start_switch_fiber(&fake_stack_back_, stack_, kStackSize);
#endif
  Switch(&back_, &here_);
#ifdef STOKER_SIM_ASAN
  __sanitizer_finish_switch_fiber(fake_stack_back_, nullptr, nullptr);
#endif
}

void Fiber::SwitchOut([[maybe_unused]] bool for_good) {
#ifdef STOKER_SIM_ASAN
  __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_stack_here_, back_bottom_, back_size_);
#endif
  Switch(&here_, &back_);
#ifdef STOKER_SIM_ASAN
  __sanitizer_finish_switch_fiber(fake_stack_here_, &back_bottom_, &back_size_);
#endif
}

void Fiber::Resume() {
  if (!begun_) {
    begun_ = true;
    stack_ = TakeStack();
    MakePoint(&here_, stack_, kStackSize, &Fiber::Enter, this);
  }
  SwitchIn();
}

void Fiber::Yield() { SwitchOut(false); }

}  // namespace stoker::sim
