// SPDX-License-Identifier: Apache-2.0
#include "policy/boots.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/deliberate_bug.h"

namespace stoker {
namespace {

using Region = std::tuple<std::string, std::string, std::string>;

Region RegionOf(const Place& place) { return {place.provider, place.account, place.region}; }

struct Failures {
  int most = 0;     // in a row, of any slot
  std::string why;  // of the last
};

std::map<Region, Failures> FailuresOf(const Job& job) {
  std::map<Region, Failures> out;
  // What works once is no matter of how the place is set up.
  if (job.booted && !BugIsOn("booted-is-forgotten")) return out;
  std::map<std::pair<Region, int>, int> in_a_row;  // by slot
  for (const Launch& launch : job.launches) {
    // Others never came, or are still to show.
    if (launch.close_reason != CloseReason::kLost && !launch.boot_lasts) continue;
    const Request* const request = FindRequest(job, launch.request);
    const Region region = RegionOf(request != nullptr ? request->ask.place : Place{});
    int& failed = in_a_row[{region, BugIsOn("nodes-fail-together") ? 0 : launch.slot}];
    if (!launch.boot_lasts && BugIsOn("not-in-a-row")) continue;
    failed = launch.boot_lasts ? failed + 1 : 0;
    Failures& all = out[region];
    if (failed > all.most) all = {failed, launch.close_why};
  }
  return out;
}

bool IsEnough(const Failures& failures) {
  if (BugIsOn("failed-boots-go-on")) return false;
  return failures.most >= (BugIsOn("first-boot-ends") ? 1 : kMostFailedBoots);
}

}  // namespace

bool CannotBeginIn(const Job& job, const Place& place) {
  const auto failures = FailuresOf(job);
  const auto found = failures.find(RegionOf(place));
  return found != failures.end() && IsEnough(found->second);
}

std::string WhyBootsFail(const Job& job, const std::vector<Offer>& offers) {
  const auto worst = [](const auto& a, const auto& b) { return a.second.most < b.second.most; };
  const auto failures = FailuresOf(job);
  const auto most = std::max_element(failures.begin(), failures.end(), worst);
  if (most == failures.end() || !IsEnough(most->second)) return "";
  const auto may_begin = [&](const Offer& o) { return !CannotBeginIn(job, o.ask.place); };
  if (std::any_of(offers.begin(), offers.end(), may_begin)) return "";
  return std::to_string(most->second.most) +
         " machines in a row could not begin, and no other would: " + most->second.why;
}

}  // namespace stoker
