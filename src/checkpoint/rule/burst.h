// SPDX-License-Identifier: Apache-2.0
// Trees of very many small files, of which each save writes others. Pure.
//
// What was written at one go below one folder is one episode, "tree/*", that knows how many files
// it was; so a save of thousands has a place in the rhythm. The file that came last in the go
// before, and in the one before that (the tree's attributes, mostly), stays an episode of its own:
// a go that does not end with it is not over.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "checkpoint/rule/episode.h"

namespace stoker {

// True of an episode that Bursts made.
bool IsBurst(const Episode& episode);

// Not thread-safe.
class Bursts {
 public:
  // `gap`: a pause this long inside one unit ends a go.
  explicit Bursts(Duration gap) : gap_(gap) {}

  // To be told of each write of a file inside a unit, when it has become the last one of `history`.
  // Makes one of the last ones where they are many.
  void Added(std::deque<Episode>* history);

 private:
  struct Unit {
    MonoTime end;           // of the last write
    std::string last;       // path of the last write
    std::string before;     // path of the last write of the go before
    std::string closer;     // comes last in each go; "" = none does
    bool closed = true;     // it has come since the go began
    int missed = 0;         // goes in a row that it has not closed
    size_t run = 0;         // of the last episodes, those of this go that are not yet one
    bool together = false;  // the last episode, or the one before, is this go's burst
  };
  void Begin(Unit* unit);
  bool MayGather(const std::deque<Episode>& history, size_t count, const std::string& top) const;

  Duration gap_;
  std::map<std::string, Unit> units_;
};

}  // namespace stoker
