// SPDX-License-Identifier: Apache-2.0
// One entry of `outputs:`: which files of the work directory it means.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/glob.h"
#include "spec/job_spec.h"

namespace stoker {

// Immutable. A path means itself and all below it; so does whatever a pattern matches. `*` and `?`
// stay within one name, `**` spans folders; a pattern that is the name of a file means that too.
class OutputPattern {
 public:
  explicit OutputPattern(const OutputSpec& output);
  const std::string& text() const { return text_; }
  bool required() const { return required_; }
  // The folder that all it can match lies in: "runs" of "runs/**/best.pt"; "" = the work directory.
  const std::string& folder() const { return folder_; }
  bool Matches(std::string_view path) const;
  // False: nothing below the folder `path` can match.
  bool MayHold(std::string_view path) const;

 private:
  bool MatchesWhole(std::string_view path) const;

  const std::string text_;
  const bool required_;
  std::string folder_;
  std::vector<Glob> parts_;  // up to the first "**"
  bool open_ended_ = false;  // there is one
  Glob whole_;
};

}  // namespace stoker
