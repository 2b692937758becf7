// SPDX-License-Identifier: Apache-2.0
// A line of the index with anything in it, drawn from `prng`.
#pragma once

#include <string>
#include <vector>

#include "base/prng.h"
#include "ledger/index.h"

namespace stoker {

inline Summary AnySummary(Prng& prng, int number) {
  static const std::vector<std::string> kTexts = {"", "digits", "a \"quoted\\ one", "漢字", "x,y]"};
  Summary s;
  s.id = prng.Base32(8);
  s.rev = number;
  s.name = kTexts[prng.Below(kTexts.size())];
  s.user = kTexts[prng.Below(kTexts.size())];
  s.state = static_cast<JobState>(prng.Below(7));
  s.num_nodes = static_cast<int>(prng.Between(1, 99));
  s.attempts = static_cast<int>(prng.Below(9));
  s.provider = "local";
  s.command = kTexts[prng.Below(kTexts.size())];
  s.created = WallTime{prng.Between(0, 4'000'000'000'000)};
  if (prng.Chance(1, 2)) s.started = WallTime{prng.Between(0, 4'000'000'000'000)};
  if (prng.Chance(1, 2)) s.ended = WallTime{prng.Between(0, 4'000'000'000'000)};
  s.run_ms = prng.Between(0, 1'000'000'000);
  s.reason = static_cast<EndReason>(prng.Below(12));
  s.exit_code = static_cast<int>(prng.Between(-1, 255));
  s.signal = static_cast<int>(prng.Below(65));
  s.out_of_memory = prng.Chance(1, 2);
  s.newest_checkpoint = prng.Base32(12);
  s.retry_of = prng.Chance(1, 2) ? "" : prng.Base32(8);
  s.unkept = static_cast<int64_t>(prng.Below(9));
  s.why = kTexts[prng.Below(kTexts.size())];
  s.me = kTexts[prng.Below(kTexts.size())];
  s.user_host = kTexts[prng.Below(kTexts.size())];
  s.place = kTexts[prng.Below(kTexts.size())];
  s.type = kTexts[prng.Below(kTexts.size())];
  s.instance = kTexts[prng.Below(kTexts.size())];
  return s;
}

}  // namespace stoker
