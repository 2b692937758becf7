// SPDX-License-Identifier: Apache-2.0
// What a program's past writes say about where one checkpoint ends and the next begins. Pure.
//
// The writes of a trainer repeat: model, optimizer, pause, model, optimizer, pause. The file that
// leads (the first of each round) is the one with the longest pause before it where that is clear,
// else the first one ever written that came again. From one lead to the next is a cycle, and a
// cycle is one checkpoint. A cycle that looks exactly like the ones before it is complete.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "checkpoint/rule/episode.h"

namespace stoker {

struct Cycle {
  std::vector<Episode> episodes;
  MonoTime begin;
  MonoTime end;                      // when its last write ended
  Duration before;                   // pause between the cycle before it and this one
  Duration lag;                      // longest pause inside it
  std::map<std::string, int> roles;  // how often each was written in it
};

struct Rhythm {
  std::string lead;                // "" = nothing has come again yet
  std::vector<Cycle> cycles;       // oldest first; the last one may be unfinished
  std::set<std::string> together;  // roles in each of the newest finished cycles (up to three)
  bool steady = false;             // the newest finished cycles (two or three) are alike
  bool restless = false;           // pauses between cycles are too short for `quiet`
  Duration hold;                   // a pause must last this long to be one between cycles; 0 = any
  Duration lag;                    // the longest pause inside a finished cycle
};

// `history` in order of Episode::end. `prior_lead` is what an earlier call found: kept when the
// beginning of the history has been forgotten since.
Rhythm LearnRhythm(const std::deque<Episode>& history, Duration quiet,
                   const std::string& prior_lead);

// Pauses before the lead's writes that fall into two clear groups: the length that parts them, in
// the order in which they happened. Zero when they do not, or when the long ones are mere outliers.
Duration PartingPause(const std::vector<Duration>& pauses);

}  // namespace stoker
