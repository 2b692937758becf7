// SPDX-License-Identifier: Apache-2.0
// The first save of an attempt that began with a restored checkpoint: did the program go on from
// it? Pure. Where there is no evidence that it did not, nothing is said: an alarm that is false is
// worse than none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "port/checkpoint_files.h"

namespace stoker {

struct BeganFrom {
  std::string checkpoint;  // its name, for people; "" = from nothing
  std::string program;     // what ought to load it, for people
  bool own = true;         // of this job: its steps are this job's
};

class FirstSave {
 public:
  // `restored`: what lies there before the program starts.
  FirstSave(BeganFrom from, const std::vector<FileFact>& restored);

  // Files that the program has written, of one moment. True once it has saved what the large files
  // of the restored checkpoint were, each of them, so that it can be judged. What is written before
  // (a configuration) tells nothing: the program may load what was restored after it.
  bool Sees(const std::vector<FileFact>& written);
  // `read`: somebody has read a file of what was restored before this save; unset: not known. What
  // is to be said; "" = nothing. After Sees has returned true.
  std::string Verdict(std::optional<bool> read) const;

 private:
  struct Known {
    std::string path;
    int64_t size = 0;
    int64_t step = -1;
    std::string last;  // the path whose numbers are highest, whatever they count
  };
  const BeganFrom from_;
  std::map<std::string, Known> large_;  // by role, of each the one with the highest number
  std::set<std::string> missing_;       // roles that have not been written yet
  bool went_on_ = false;                // a number is higher than any was
  std::optional<int64_t> again_;        // the step that a save has which begins anew
  int64_t before_ = -1;                 // and that of what was restored
};

}  // namespace stoker
