// SPDX-License-Identifier: Apache-2.0
// One stackful coroutine: lets code that blocks (controller, ledger, keeper) run unchanged on the
// simulator's one thread. Everything here is for that thread only.
#pragma once

#include <cstddef>
#include <functional>

#include "sim/time/fiber_switch.h"

namespace stoker::sim {

// Thrown through the shipped code when its process dies: it unwinds as if it had stopped between
// two instructions. Not a std::exception, so that no handler of libraries' errors catches it.
struct Killed {};

class Fiber {
 public:
  explicit Fiber(std::function<void()> body);
  // Must have ended, or never have been resumed.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // From outside of it: runs it until it yields or ends. Exceptions other than Killed end the
  // whole program: the code under test lets none out.
  void Resume();
  // From inside: back to who resumed it.
  void Yield();
  bool ended() const { return ended_; }
  bool begun() const { return begun_; }

 private:
  static void Enter(void* self);
  void Run();
  void SwitchIn();
  void SwitchOut(bool for_good);

  std::function<void()> body_;
  void* stack_ = nullptr;
  SwitchPoint here_{};
  SwitchPoint back_{};
  bool begun_ = false;
  bool ended_ = false;
#ifdef STOKER_SIM_ASAN
  // What the sanitizer must be told of stacks that change under it.
  void* fake_stack_here_ = nullptr;
  void* fake_stack_back_ = nullptr;
  const void* back_bottom_ = nullptr;
  size_t back_size_ = 0;
#endif
};

}  // namespace stoker::sim
