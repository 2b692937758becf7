// SPDX-License-Identifier: Apache-2.0
#include "sim/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define STOKER_SIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STOKER_SIM_ASAN 1
#endif
#endif
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

}  // namespace

struct StackPool::Free {
  Free* next;
};

size_t StackPool::size() { return kStackSize; }

StackPool::~StackPool() {
  while (free_ != nullptr) {
    Free* next = free_->next;
    ::munmap(reinterpret_cast<char*>(free_) - kGuard, kStackSize + kGuard);
    free_ = next;
  }
}

void* StackPool::Take() {
  if (free_ != nullptr) {
    Free* stack = free_;
    free_ = stack->next;
    return stack;
  }
  void* memory = ::mmap(nullptr, kStackSize + kGuard, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || ::mprotect(memory, kGuard, PROT_NONE) != 0) {
    std::perror("sim: no memory for a stack");
    std::abort();
  }
  return static_cast<char*>(memory) + kGuard;
}

void StackPool::Give(void* stack) {
  auto* free = static_cast<Free*>(stack);
  free->next = free_;
  free_ = free;
}

Fiber::Fiber(StackPool& stacks, std::function<void()> body)
    : stacks_(stacks), body_(std::move(body)) {}

Fiber::~Fiber() {
  if (begun_ && !ended_) {
    std::fputs("sim: a fiber was destroyed while it ran\n", stderr);
    std::abort();
  }
  if (stack_ != nullptr) stacks_.Give(stack_);
}

void Fiber::Enter(unsigned high, unsigned low) {
  const auto address = (static_cast<uintptr_t>(high) << 32) | static_cast<uintptr_t>(low);
  reinterpret_cast<Fiber*>(address)->Run();
}

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
  ::swapcontext(&back_, &here_);
#ifdef STOKER_SIM_ASAN
  __sanitizer_finish_switch_fiber(fake_stack_back_, nullptr, nullptr);
#endif
}

void Fiber::SwitchOut([[maybe_unused]] bool for_good) {
#ifdef STOKER_SIM_ASAN
  __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_stack_here_, back_bottom_, back_size_);
#endif
  ::swapcontext(&here_, &back_);
#ifdef STOKER_SIM_ASAN
  __sanitizer_finish_switch_fiber(fake_stack_here_, &back_bottom_, &back_size_);
#endif
}

void Fiber::Resume() {
  if (!begun_) {
    begun_ = true;
    stack_ = stacks_.Take();
    ::getcontext(&here_);
    here_.uc_stack.ss_sp = stack_;
    here_.uc_stack.ss_size = kStackSize;
    here_.uc_link = nullptr;
    const auto address = reinterpret_cast<uintptr_t>(this);
    ::makecontext(&here_, reinterpret_cast<void (*)()>(&Fiber::Enter), 2,
                  static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
  }
  SwitchIn();
}

void Fiber::Yield() { SwitchOut(false); }

}  // namespace stoker::sim
