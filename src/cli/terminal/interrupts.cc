// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/interrupts.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace stoker::cli {
namespace {

std::atomic<int> interrupts{0};
std::atomic<bool> by_term{false};
std::atomic<int> allowed{1};  // so many are only noted
std::atomic<const char*> last_words{""};

void Write(const char* text) { (void)!::write(STDERR_FILENO, text, std::strlen(text)); }

// Only what a signal handler may call.
void OnInterrupt(int signo) {
  by_term = signo == SIGTERM;
  if (interrupts.fetch_add(1) < allowed.load()) return;
  const char* words = last_words.load();
  if (*words != '\0') {
    Write("\nstoker: ");  // behind the terminal's "^C"
    Write(words);
    Write("\n");
  }
  std::_Exit(130);
}

void Catch(int notes, const char* last) {
  last_words = last;
  allowed = notes;
  std::signal(SIGTERM, OnInterrupt);
  // Shells let what they start in the background ignore it.
  const auto before = std::signal(SIGINT, OnInterrupt);
  if (notes == 0 && before == SIG_IGN) std::signal(SIGINT, SIG_IGN);
}

}  // namespace

void CatchInterrupts(const char* last) { Catch(1, last); }

bool Interrupted() { return interrupts.load() > 0; }

bool InterruptedByTerm() { return by_term.load(); }

void ForgetInterrupts() { interrupts = 0; }

void EndOnInterrupt(const char* last) { Catch(0, last); }

}  // namespace stoker::cli
