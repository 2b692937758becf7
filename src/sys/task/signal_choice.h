// SPDX-License-Identifier: Apache-2.0
// Which processes of a program get a signal, so that the process that saves can save. Pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"

namespace stoker {

// A living process of a program, as /proc shows it.
struct SeenProcess {
  pid_t pid = 0;
  pid_t parent = 0;
  uint64_t start_ticks = 0;  // with the pid it names a process for one boot
  std::string exe;           // the file's name without its folder; "" = not to be read
  std::string command_line;  // its arguments, each with a NUL behind it
  bool catches = false;      // it handles the signal; of a shell: it has a trap for just this one
};

// Shells, and who sends a signal on to its whole process group (timeout): what is below would die.
bool IsPassedOver(const SeenProcess& process);

// Down from the processes whose parent is none of `program`, the topmost of each branch that
// catches the signal. Shells are passed over, whatever they seem to catch: bash with a trap for its
// exit shows a handler for each signal, and dies of it without telling anybody. So are launchers
// that would keep a trainer from its save: mpirun, which kills a second after its SIGTERM;
// deepspeed, which tells a rank once the one before has ended; torchrun and its like where their
// workers have children, as they signal all of these. A copy of
// its parent (same file, same arguments: a forked worker) does not count as a catcher: the handler
// is its parent's. What lies below one of `told` is left alone. In the order of pids.
std::vector<pid_t> ChooseReceivers(const std::vector<SeenProcess>& program,
                                   const std::set<pid_t>& told);

// Who starts trainers and handles SIGTERM for their sake, or in their place: torchrun, accelerate,
// deepspeed, mpirun, srun, make, uv and their like.
bool IsLauncher(const SeenProcess& process);

// Whether a process that trains catches the signal: by the rule of ChooseReceivers, with launchers
// passed over, too.
bool AnyTrainerCatches(const std::vector<SeenProcess>& program);

// Shells of `program` that have a trap for the signal: they get it where nobody else catches it.
std::vector<pid_t> ShellsThatTrap(const std::vector<SeenProcess>& program);

// SIGTERM to a whole program, from the first to its end or to the end of its time. ChooseReceivers
// says who gets it; once such a process has ended, the rule is applied again to what was below it.
// Where nobody catches it, everybody gets it. What is left a second after all who were told have
// ended gets it, too, shells among them, so that the next line of a script does not run on. Nobody
// gets it twice. Not thread-safe: one owner steps it.
class StopRound {
 public:
  // `alive`: all of the program that has not ended. Returns who is to be sent SIGTERM now.
  std::vector<pid_t> Step(const std::vector<SeenProcess>& alive, MonoTime now);
  // Since the first step nobody has caught the signal.
  bool nobody_catches() const { return nobody_; }

 private:
  std::map<pid_t, uint64_t> told_;  // who was sent it; start_ticks
  bool begun_ = false;
  bool nobody_ = false;
  bool everybody_ = false;
  std::optional<MonoTime> ended_;  // since when none who was told lives
};

}  // namespace stoker
