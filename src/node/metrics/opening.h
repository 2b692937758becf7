// SPDX-License-Identifier: Apache-2.0
// Where an attempt that restored something begins. Pure, stepped.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/point.h"

namespace stoker::node {

// The first points of one source, in steps or epochs. Some programs say a step 0 before they load
// what was restored, and go on at step 510: that is no point of the run, and does not begin at it.
// It is told by the steps that follow: from there to the first of a series is four times as far as
// from that to its second. Until then they are held.
class Opening {
 public:
  struct Held {
    std::string prefix;
    std::string name;
    metrics::Point point;
  };
  // True: it is held. False: nothing is (any more), and so is not this one.
  bool Take(const std::string& prefix, std::string_view name, const metrics::Point& point);
  // Whether those that were held are to be given now.
  bool over() const { return over_; }
  // What was held, without what was said before it had loaded anything.
  std::vector<Held> Give();
  // What that was: at which step; once.
  std::optional<int64_t> TakeStray();

 private:
  bool over_ = false;
  bool stray_ = false;
  bool told_ = false;
  int64_t first_ = 0;
  std::vector<Held> held_;
  std::map<std::string, int64_t, std::less<>> next_;  // of each series its first step behind that
};

}  // namespace stoker::node
