// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/rhythm.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "checkpoint/rule/burst.h"

namespace stoker {
namespace {

constexpr size_t kPausesRemembered = 16;
constexpr size_t kFinishedCompared = 3;
// Pauses this much longer than others are another kind of pause.
constexpr int64_t kClearlyLonger = 3;
constexpr double kParted = 4.0;
// With few samples, what looks parted may be chance.
constexpr double kClearlyParted = 8.0;
constexpr size_t kFewPauses = 6;
constexpr size_t kCertainSamples = 4;
// What is written with shorter pauses is written at once, in an order that nobody can be sure of:
// hints of the first files in a new folder come when it is listed, or with the next look at it.
constexpr Duration kAtOnce = Duration::Ms(50);
constexpr int64_t kClearlyApart = 4;  // a pause that parts one such go from another, in these
// A role written so often since the lead came last has become the rhythm itself.
constexpr int kTakenOver = 6;

Duration Median(std::vector<Duration> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct RolePauses {
  std::vector<Duration> pauses;
  int count = 0;
};

// The pause before each episode: time in which nothing was being written. Zero when it overlaps.
std::vector<Duration> PausesBefore(const std::deque<Episode>& history) {
  std::vector<Duration> out(history.size());
  MonoTime busy_until;
  for (size_t i = 0; i < history.size(); ++i) {
    if (i > 0) out[i] = std::max(Duration{}, history[i].begin - busy_until);
    busy_until = std::max(busy_until, history[i].end);
  }
  return out;
}

// Where the go that `at` belongs to begins: the first of those written at once with it and after a
// clear pause. `at` itself, where there is no such pause.
size_t BeginOfGo(const std::vector<Duration>& before, size_t at) {
  size_t first = at;
  while (first > 0 && before[first] < kAtOnce) --first;
  return first == 0 || before[first] >= kAtOnce * kClearlyApart ? first : at;
}

struct LeadFound {
  std::string role;
  bool disputed = false;  // the pauses point to another role, but not clearly enough
};

// The recurring role with the longest pauses before it, where they are clearly longer than those
// of every other one. `certain`: so many samples that chance cannot explain it.
std::string LeadByPauses(const std::map<std::string, RolePauses>& roles, bool* certain) {
  std::string longest;
  Duration best;
  for (const auto& [name, role] : roles) {
    if (role.pauses.size() < 2) continue;
    const Duration median = Median(role.pauses);
    if (longest.empty() || median > best) {
      longest = name;
      best = median;
    }
  }
  if (longest.empty()) return "";
  const std::vector<Duration>& own = roles.at(longest).pauses;
  const Duration shortest = *std::min_element(own.begin(), own.end());
  *certain = own.size() >= kCertainSamples;
  int others = 0;
  for (const auto& [name, role] : roles) {
    if (name == longest || role.pauses.size() < 2) continue;
    ++others;
    if (best <= (Median(role.pauses) + Duration::Ms(5)) * kClearlyLonger) return "";
    const Duration other = *std::max_element(role.pauses.begin(), role.pauses.end());
    *certain = *certain && role.pauses.size() >= kCertainSamples &&
               shortest > (other + Duration::Ms(5)) * kClearlyLonger;
  }
  return others > 0 ? longest : "";
}

LeadFound FindLead(const std::deque<Episode>& history, const std::vector<Duration>& before,
                   const std::string& prior_lead) {
  std::map<std::string, RolePauses> roles;
  for (size_t i = 0; i < history.size(); ++i) {
    RolePauses& role = roles[history[i].role];
    ++role.count;
    const size_t go = BeginOfGo(before, i);
    if (go == 0) continue;
    role.pauses.push_back(before[go]);
    if (role.pauses.size() > kPausesRemembered) role.pauses.erase(role.pauses.begin());
  }
  bool certain = false;
  const std::string by_pauses = LeadByPauses(roles, &certain);
  if (!by_pauses.empty() && certain) return {by_pauses, false};
  std::string lead;
  if (roles.count(prior_lead) != 0) lead = prior_lead;
  for (size_t i = 0; i < history.size() && lead.empty(); ++i) {
    if (roles[history[i].role].count >= 2) lead = history[i].role;
  }
  return {lead, !by_pauses.empty() && by_pauses != lead};
}

// Where cycles may begin: at the beginning of a go for the first lead in it, and at each other one.
std::vector<size_t> Leads(const std::deque<Episode>& history, const std::vector<Duration>& before,
                          const std::string& lead) {
  std::vector<size_t> out;
  std::optional<size_t> previous;
  for (size_t i = 0; i < history.size(); ++i) {
    if (history[i].role != lead) continue;
    const size_t go = BeginOfGo(before, i);
    out.push_back(previous && *previous >= go ? i : go);
    previous = i;
  }
  return out;
}

std::vector<Cycle> Split(const std::deque<Episode>& history, const std::vector<Duration>& before,
                         const std::vector<size_t>& leads, Duration hold) {
  std::vector<Cycle> cycles;
  auto next = leads.begin();
  for (size_t i = leads.front(); i < history.size(); ++i) {
    const Episode& episode = history[i];
    const bool lead = next != leads.end() && *next == i;
    if (lead) ++next;
    const bool starts = lead && (cycles.empty() || before[i] >= hold);
    if (starts) cycles.push_back({{}, episode.begin, episode.end, before[i], {}, {}});
    Cycle& cycle = cycles.back();
    if (!starts) cycle.lag = std::max(cycle.lag, before[i]);
    cycle.episodes.push_back(episode);
    cycle.end = std::max(cycle.end, episode.end);
    ++cycle.roles[episode.role];
  }
  return cycles;
}

bool TakenOver(const std::vector<Cycle>& cycles, const std::string& lead) {
  if (cycles.empty()) return false;
  for (const auto& [role, count] : cycles.back().roles) {
    if (role == lead || count < kTakenOver) continue;
    int usual = 0;
    if (cycles.size() >= 2) {
      const std::map<std::string, int>& before = cycles[cycles.size() - 2].roles;
      if (auto it = before.find(role); it != before.end()) usual = it->second;
    }
    if (count > 2 * usual) return true;
  }
  return false;
}

void Compare(Duration quiet, Rhythm* rhythm) {
  const size_t finished = rhythm->cycles.empty() ? 0 : rhythm->cycles.size() - 1;
  if (finished < 1) return;
  const size_t from = finished - std::min(finished, kFinishedCompared);
  const Cycle& newest = rhythm->cycles[finished - 1];
  for (const auto& [role, count] : newest.roles) rhythm->together.insert(role);
  rhythm->steady = finished >= 2;
  for (size_t c = from; c < finished; ++c) {
    const Cycle& cycle = rhythm->cycles[c];
    rhythm->steady = rhythm->steady && cycle.roles == newest.roles;
    std::erase_if(rhythm->together,
                  [&](const std::string& role) { return cycle.roles.count(role) == 0; });
    rhythm->lag = std::max(rhythm->lag, cycle.lag);
    // A tree's files are others each time: nobody need wait for one of them.
    for (const Episode& episode : cycle.episodes) {
      if (!IsBurst(episode)) continue;
      std::erase_if(rhythm->together,
                    [&](const std::string& role) { return TopOf(role) == TopOf(episode.role); });
    }
  }
  for (size_t c = from + 1; c < rhythm->cycles.size(); ++c) {
    if (rhythm->cycles[c].before < quiet * 3 / 2) rhythm->restless = true;
  }
}

}  // namespace

Duration PartingPause(const std::vector<Duration>& pauses) {
  if (pauses.size() < 3) return {};
  std::vector<Duration> sorted = pauses;
  std::sort(sorted.begin(), sorted.end());
  double best = 0;
  size_t cut = 0;
  for (size_t i = 1; i < sorted.size(); ++i) {
    const double ratio =
        static_cast<double>(sorted[i].ms + 5) / static_cast<double>(sorted[i - 1].ms + 5);
    if (ratio > best) {
      best = ratio;
      cut = i;
    }
  }
  if (best < (pauses.size() <= kFewPauses ? kClearlyParted : kParted)) return {};
  const Duration shortest_long = sorted[cut];
  const double product =
      static_cast<double>(sorted[cut - 1].ms + 5) * static_cast<double>(shortest_long.ms + 5);
  const Duration parting = Duration::Ms(static_cast<int64_t>(std::sqrt(product)));
  const size_t longs = sorted.size() - cut;
  if (pauses.size() <= kFewPauses || longs * 5 >= sorted.size()) return parting;
  // Few long ones: every k-th write by plan, or an accident (a slow disk, an evaluation)?
  std::vector<size_t> distances;
  size_t previous = 0;
  bool seen = false;
  for (size_t i = 0; i < pauses.size(); ++i) {
    if (pauses[i] < shortest_long) continue;
    if (seen) distances.push_back(i - previous);
    previous = i;
    seen = true;
  }
  const bool regular = distances.size() >= 2 &&
                       std::equal(distances.begin() + 1, distances.end(), distances.begin());
  return regular ? parting : Duration{};
}

Rhythm LearnRhythm(const std::deque<Episode>& history, Duration quiet,
                   const std::string& prior_lead) {
  Rhythm rhythm;
  const std::vector<Duration> before = PausesBefore(history);
  const LeadFound found = FindLead(history, before, prior_lead);
  rhythm.lead = found.role;
  if (rhythm.lead.empty()) return rhythm;
  const std::vector<size_t> leads = Leads(history, before, rhythm.lead);
  std::vector<Duration> pauses;
  for (size_t i = 1; i < leads.size(); ++i) pauses.push_back(before[leads[i]]);
  if (pauses.size() > kPausesRemembered)
    pauses.erase(pauses.begin(), pauses.end() - kPausesRemembered);
  rhythm.hold = PartingPause(pauses);
  rhythm.cycles = Split(history, before, leads, rhythm.hold);
  if (TakenOver(rhythm.cycles, rhythm.lead)) {
    const size_t taken = rhythm.cycles.back().episodes.size() - 1;
    const std::deque<Episode> rest(history.end() - static_cast<std::ptrdiff_t>(taken),
                                   history.end());
    return LearnRhythm(rest, quiet, "");
  }
  Compare(quiet, &rhythm);
  if (found.disputed) rhythm.steady = false;
  return rhythm;
}

}  // namespace stoker
