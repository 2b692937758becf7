// SPDX-License-Identifier: Apache-2.0
// The least that a bucket's owner, or a cloud's, must allow for stoker to work, in the service's
// own words.
#pragma once

#include <string>

namespace stoker {

struct Rights {
  std::string submitter;  // for people and what they run: an IAM policy, or the role's permissions
  std::string node;       // for machines that run jobs
  std::string how;        // commands and remarks for people
};

}  // namespace stoker
