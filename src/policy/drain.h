// SPDX-License-Identifier: Apache-2.0
// How the time of an interruption notice is spent. Pure arithmetic.
#pragma once

#include <algorithm>
#include <optional>

#include "base/time.h"

namespace stoker {

// Times before the notice's deadline at which a node stops its program.
struct DrainPlan {
  Duration term_before;  // SIGTERM this long before the deadline
  Duration kill_before;  // SIGKILL this long before the deadline; what is left is for the uploads
};

// How the program of a node saves, as far as that is known when a notice comes.
struct Saving {
  bool at_sigterm = false;     // a process that trains handles SIGTERM
  bool ended_unsaved = false;  // an attempt of its job ended at SIGTERM, and had saved nothing
  std::optional<Duration> longest = {};  // save of this attempt
  std::optional<Duration> upload = {};   // of the newest commit
  // SIGTERM comes when there is time for a save; else as late as it can.
  bool TrustsSigterm() const { return at_sigterm && !ended_unsaved; }
};

inline constexpr Duration kSaveUnseen = Duration::Seconds(15);
inline constexpr Duration kSaveLonger = Duration::Seconds(5);  // than the longest that was seen
inline constexpr Duration kUploadUnseen = Duration::Seconds(10);
inline constexpr Duration kUploadLeast = Duration::Seconds(2);  // also for the last lines

// `lead` = deadline minus when the notice was seen. A program that saves at SIGTERM has the time
// that its saves take, and their upload; together at most half of the notice. Any other trains on
// as long as it can: of long notices (AWS gives 120 s) to the last 25 s, else to the last quarter.
inline DrainPlan PlanDrain(Duration lead, const Saving& saving) {
  lead.ms = std::max<int64_t>(0, lead.ms);
  if (!saving.TrustsSigterm()) {
    const Duration margin{std::min<int64_t>(lead.ms / 4, 25'000)};
    return {margin, margin * 2 / 3};
  }
  const Duration save = saving.longest ? *saving.longest + kSaveLonger : kSaveUnseen;
  const Duration upload =
      std::min(lead / 6, std::max(kUploadLeast, saving.upload.value_or(kUploadUnseen)));
  return {std::min(lead / 2, save + upload), upload};
}

// How long a program may take from SIGTERM to its end where no deadline is nearer.
inline Duration GraceOf(Duration stop_grace, const Saving& saving) {
  if (!saving.TrustsSigterm() || !saving.longest) return stop_grace;
  return std::max(stop_grace, *saving.longest + kSaveLonger);
}

// Until when what is left is saved when the machine is taken at `deadline`; the rest of the time is
// for saying what could not be saved, which must leave the machine, too.
inline MonoTime BeforeLastWords(MonoTime deadline, MonoTime now) {
  const int64_t left = std::max<int64_t>(0, (deadline - now).ms);
  return deadline - Duration::Ms(std::min<int64_t>(1000, left / 2));
}

// A node that has not told its end so long after the deadline of its notice is given up: the others
// stop. What is begun anew waits until its machine is seen to be gone: the notice may have been
// withdrawn while the node could not reach the store.
inline constexpr Duration kDrainSlack = Duration::Seconds(60);

}  // namespace stoker
