// SPDX-License-Identifier: Apache-2.0
// One stackful coroutine: lets code that blocks (controller, ledger, keeper) run unchanged on the
// simulator's one thread. Everything here is for that thread only.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace stoker::sim {

// Thrown through the shipped code when its process dies: it unwinds as if it had stopped between
// two instructions. Not a std::exception, so that no handler of libraries' errors catches it.
struct Killed {};

// Stacks are kept for reuse: a world makes thousands of short fibers.
class StackPool {
 public:
  ~StackPool();
  void* Take();
  void Give(void* stack);
  static size_t size();

 private:
  struct Free;
  Free* free_ = nullptr;
};

class Fiber {
 public:
  Fiber(StackPool& stacks, std::function<void()> body);
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
  static void Enter(unsigned high, unsigned low);
  void Run();
  void SwitchIn();
  void SwitchOut(bool for_good);

  StackPool& stacks_;
  std::function<void()> body_;
  void* stack_ = nullptr;
  ucontext_t here_{};
  ucontext_t back_{};
  bool begun_ = false;
  bool ended_ = false;
  // What the sanitizers must be told of stacks that change under them.
  void* fake_stack_here_ = nullptr;
  void* fake_stack_back_ = nullptr;
  const void* back_bottom_ = nullptr;
  size_t back_size_ = 0;
};

}  // namespace stoker::sim
