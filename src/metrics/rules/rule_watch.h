// SPDX-License-Identifier: Apache-2.0
// All rules of a job on all of its series, while they grow. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "metrics/curve.h"
#include "metrics/rules/condition.h"
#include "metrics/rules/rule.h"

namespace stoker::metrics {

// A series that begins when another one that is called a loss has so many points does not show how
// training began: "in the first …" is not judged of it. Values of held-out data come after an
// epoch, by which all may have been learned.
inline constexpr int64_t kUnderWay = 10;

struct Verdict {
  size_t rule = 0;   // its index
  std::string text;  // "loss is not finite: nan at step 120"; printable
};

// Stepped; not thread-safe. The curve is one over all attempts, as metrics/curve.h has it: what
// earlier ones have before the step at which this attempt begins counts, the rest was done again.
class RuleWatch {
 public:
  explicit RuleWatch(std::vector<Rule> rules);

  bool empty() const { return rules_.empty(); }
  // Whether a rule is about this series.
  bool Wants(const std::string& series) const;
  // What earlier attempts have of it; before its first Take.
  void SetEarlier(const std::string& series, std::vector<CurveEntry> earlier);
  // Whether a rule is about the median of other runs, and of which series they are.
  bool WantsOthers() const;
  bool WantsOthers(const std::string& series) const;
  // What is known of other runs from now on.
  void SetOthers(OtherRuns others) { others_ = std::move(others); }
  // Whether it matters when series begin, those that no rule is about, too: then SetEarlier is for
  // them as well.
  bool WantsBeginnings() const;
  // The next point of this attempt, of any series. `ordered`: its source names no steps, so they
  // count its points from 0.
  // `begin`: where this attempt began, at this step of the series' source or before it; unset: with
  // this point.
  void Take(const std::string& series, bool ordered, const Entry& point,
            std::optional<int64_t> begin = std::nullopt);
  // What this series had so far counts no more: another source has its name.
  void Forget(const std::string& series);
  // What has been proved since the last call: of each rule once, as long as this object lives.
  std::vector<Verdict> TakeVerdicts();
  // What was not judged, and why, since the last call; printable.
  std::vector<std::string> TakeNotes();
  // The rules that no series has been about yet.
  std::vector<size_t> Idle() const;

 private:
  struct Watched {
    size_t rule = 0;
    Condition condition;
  };
  // A place in the order in which points came: by their times, where the source has them.
  struct Moment {
    int64_t ms = 0;
    int64_t turn = 0;
    bool Before(const Moment& other) const;
  };
  struct Series {
    // When it began, and when it had kUnderWay points, if it is called a loss.
    bool is_loss = false;
    int64_t points = 0;
    Moment first;
    std::optional<Moment> under_way;
    std::vector<CurveEntry> earlier;
    bool begun = false;
    int64_t numbered = 0;  // points of earlier attempts, where they are ordered
    std::vector<Watched> watched;
    int64_t trained = 0;
    WallTime last_time;
  };
  Series& Find(const std::string& name);
  void Feed(const std::string& name, Series& series, const Entry& entry, bool judge);
  static void NoteBeginning(Series* series, const Entry& entry, int64_t turn);
  // The name of another series that was under way when this one began; "" = none was.
  std::string BeganBehind(const Series& series) const;

  const std::vector<Rule> rules_;
  std::vector<bool> said_;
  std::vector<bool> met_;
  std::map<std::string, Series> series_;
  std::vector<Verdict> verdicts_;
  std::vector<std::string> notes_;
  int64_t turn_ = 0;
  OtherRuns others_;
};

}  // namespace stoker::metrics
