// SPDX-License-Identifier: Apache-2.0
#include "view/facts.h"

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "job/encoding.h"
#include "spec/text/infra.h"
#include "view/cut_off.h"
#include "view/lineage.h"
#include "view/missing_file.h"

namespace stoker {

using nlohmann::json;

namespace {

constexpr Duration kSoonSaved = Duration::Seconds(3);

json UnkeptJson(const Job& job) {
  const Attempt* newest = NewestNeeded(job);
  if (newest == nullptr || newest->unkept == 0) return nullptr;
  const bool gone = newest->unkept_in.empty();
  return {{"files", newest->unkept}, {"path", gone ? json(nullptr) : json(newest->unkept_in)}};
}

}  // namespace

std::string EndingText(const Ending& ending) {
  std::string text(Name(ending.reason));
  if (ending.reason == EndReason::kUserError || ending.reason == EndReason::kNoProgress) {
    if (ending.out_of_memory)
      text += ", out of memory";
    else if (ending.signal != 0)
      text += ", signal " + std::to_string(ending.signal);
    else if (ending.exit_code != 0)
      text += ", exit code " + std::to_string(ending.exit_code);
    if (ending.rank >= 0) text += " on node " + std::to_string(ending.rank);
  }
  return text;
}

// Reports come every few seconds; between them the time since the start is nearer to the truth.
int64_t RunMs(const Attempt& attempt, const std::vector<ReportSeen>& reports, WallTime now) {
  int64_t longest = attempt.run_ms;
  bool over = attempt.ended.has_value();
  for (const ReportSeen& seen : reports) {
    if (seen.report.attempt != attempt.number) continue;
    longest = std::max(longest, seen.report.run_ms);
    over |= seen.report.phase == NodePhase::kEnded;
  }
  if (!over && attempt.running) longest = std::max(longest, (now - *attempt.running).ms);
  return longest;
}

std::vector<std::string> TroublesAtTheEnd(const std::vector<ReportSeen>& reports) {
  std::vector<std::string> troubles;
  for (const ReportSeen& seen : reports) {
    if (seen.report.phase != NodePhase::kEnded || seen.report.trouble.empty()) continue;
    troubles.push_back("attempt " + std::to_string(seen.report.attempt) + ", node " +
                       std::to_string(seen.report.rank) + ": " + seen.report.trouble);
  }
  return troubles;
}

int AttemptsThatRan(const Job& job) {
  return static_cast<int>(std::count_if(job.attempts.begin(), job.attempts.end(),
                                        [](const Attempt& a) { return !a.not_needed; }));
}

std::string ReasonText(const Job& job) { return job.result ? EndingText(*job.result) : ""; }

Duration RunTime(const Job& job, const std::vector<ReportSeen>& reports, WallTime now) {
  int64_t total = 0;
  for (const Attempt& attempt : job.attempts) total += RunMs(attempt, reports, now);
  return Duration{total};
}

std::optional<Duration> SavingFor(const Attempt& attempt, const std::vector<ReportSeen>& reports,
                                  WallTime now) {
  if (attempt.state == AttemptState::kEnded || !attempt.running) return std::nullopt;
  size_t ended = 0;
  bool saving = false;
  Duration ran;
  for (const ReportSeen& seen : reports) {
    if (seen.report.attempt != attempt.number || !seen.report.end) continue;
    ++ended;
    saving |= seen.report.phase == NodePhase::kStopping;
    ran = std::max(ran, Duration{seen.report.run_ms});
  }
  const Duration since = now - (*attempt.running + ran);
  if (!saving || ended < attempt.launches.size() || since < kSoonSaved) return std::nullopt;
  return since;
}

std::string SavingText(Duration since) {
  return "saving what its program left, for " + HumanDuration(since);
}

std::string Doing(const Attempt& attempt, const std::vector<ReportSeen>& reports) {
  const NodeReport* first = nullptr;
  for (const ReportSeen& seen : reports) {
    const NodeReport& report = seen.report;
    if (report.attempt != attempt.number || report.doing.empty()) continue;
    if (first == nullptr || report.rank < first->rank) first = &report;
  }
  return first != nullptr ? first->doing : "";
}

std::string Doing(const Job& job, const std::vector<ReportSeen>& reports) {
  for (const Attempt& attempt : job.attempts) {
    if (attempt.state == AttemptState::kEnded) continue;
    if (std::string doing = Doing(attempt, reports); !doing.empty()) return doing;
  }
  return "";
}

std::string PhaseText(const NodeReport& report, bool over) {
  std::string phase(Name(report.phase));
  // With its end told, it saves what is left.
  const bool said = report.phase == NodePhase::kEnded || report.end.has_value();
  if (over && !said) return "gone (last heard of: " + phase + ")";
  return phase + (report.doing.empty() ? "" : " (" + report.doing + ")");
}

std::string NewestCheckpoint(const Job& job, const std::vector<ReportSeen>& reports) {
  std::string newest;
  for (const Attempt& attempt : job.attempts) {
    if (!attempt.newest_checkpoint.empty()) newest = attempt.newest_checkpoint;
    for (const ReportSeen& seen : reports) {
      if (seen.report.attempt == attempt.number && !seen.report.newest_checkpoint.empty()) {
        newest = seen.report.newest_checkpoint;
      }
    }
  }
  return newest;
}

int64_t Unkept(const Job& job) {
  const Attempt* newest = NewestNeeded(job);
  return newest != nullptr ? newest->unkept : 0;
}

std::string StateText(JobState state, int64_t unkept) {
  const std::string name(Name(state));
  return unkept == 0 ? name : name + ", " + HumanFiles(unkept) + " not kept";
}

std::string UnkeptText(int64_t files, const std::string& in) {
  if (in.empty()) return HumanFiles(files) + ", gone with their machine";
  return HumanFiles(files) + ": in " + Printable(in) +
         ", until 'stoker gc' removes what is 30 days old there";
}

int ExitCodeOf(JobState state, EndReason reason, int exit_code, int signal, int64_t unkept) {
  if (state == JobState::kSucceeded) return unkept > 0 ? 1 : 0;
  const int code = signal != 0 ? 128 + signal : exit_code;
  const bool from_program = reason == EndReason::kUserError || reason == EndReason::kNoProgress;
  return from_program && code != 0 ? code : 1;
}

std::vector<std::string> Queued(const Job& job, const std::vector<MachineSeen>& machines) {
  std::vector<std::string> lines;
  for (const MachineSeen& machine : machines) {
    const Launch* launch = FindLaunch(job, machine.launch);
    if (launch == nullptr || launch->closed || machine.state != MachineState::kQueued) continue;
    lines.push_back("launch " + std::to_string(launch->number) + " is queued at " +
                    Spelled(InfraWordOf(RequestOf(job, *launch).ask.place.provider)) +
                    (machine.why.empty() ? "" : ": " + Spelled(machine.why)));
  }
  return lines;
}

int ExitCodeOf(const Job& job) {
  const Ending none;
  const Ending& end = job.result ? *job.result : none;
  return ExitCodeOf(job.state, end.reason, end.exit_code, end.signal, Unkept(job));
}

std::string SteppedOver(const Job& job, const Attempt& attempt) {
  const auto& suspects = job.suspects;
  const bool suspect =
      !attempt.restore.empty() && attempt.ending &&
      std::find(suspects.begin(), suspects.end(), attempt.restore) != suspects.end() &&
      attempt.newest_checkpoint.empty();
  if (!suspect) return "";
  return "the cause may be " + SayCheckpoint(attempt.restore) +
         ", from which it began: it is suspect now, and an attempt from before it uses up no "
         "restart";
}

std::optional<int64_t> PriceOf(const Job& job, const Launch& launch) {
  const Ask& ask = RequestOf(job, launch).ask;
  for (const Offer& offer : AllOffers(job)) {
    if (offer.ask == ask) return offer.price;
  }
  return std::nullopt;
}

namespace {

// What a launch's request asks for stands in the launch as well: scripts read it there.
json JobJson(const Job& job) {
  json out = json::parse(EncodeJob(job), nullptr, false);
  if (!out.contains("requests") || !out.contains("launches")) return out;
  std::map<int, const json*> requests;
  for (const json& request : out["requests"]) requests[request.value("number", 0)] = &request;
  for (json& launch : out["launches"]) {
    const auto found = requests.find(launch.value("request", 0));
    if (found == requests.end()) continue;
    launch["price_micros"] = nullptr;  // not known, which is not 0
    const Launch* known = FindLaunch(job, launch.value("number", 0));
    const auto price = known != nullptr ? PriceOf(job, *known) : std::nullopt;
    if (price) launch["price_micros"] = *price;
    for (const char* name : {"provider", "account", "region", "zone", "type", "market", "token",
                             "opened", "not_after", "limit_ms", "tries", "next_try", "refusal"}) {
      const auto member = found->second->find(name);
      if (member != found->second->end()) launch[name] = *member;
    }
  }
  return out;
}

}  // namespace

json StoryJson(const StoryInput& input) {
  json reports = json::array();
  for (const ReportSeen& seen : input.reports) {
    reports.push_back(json::parse(EncodeReport(seen.report), nullptr, false));
    reports.back()["age_ms"] = seen.age.ms;
  }
  json saving = nullptr;
  for (const Attempt& attempt : input.job.attempts) {
    const auto since = SavingFor(attempt, input.reports, input.now);
    if (since) saving = since->ms;
  }
  const auto kept = KeptUntil(input.job, input.now);
  json cut_off = json::array();
  for (const NodeReport* report : CutOff(input.job, input.reports)) {
    cut_off.push_back({{"attempt", report->attempt}, {"node", report->rank}});
  }
  json job = JobJson(input.job);
  if (!input.said.name.empty()) job["name"] = input.said.name;
  json missing = nullptr;
  if (const auto found = FindMissingFile(input.job, input.reports)) {
    missing = {{"path", found->path}, {"left_behind_by", found->by}, {"include", found->include}};
  }
  return {{"job", job},
          {"tags", input.said.tags},
          {"note", input.said.note},
          {"missing_file", missing},
          {"reports", reports},
          {"recovery_tiers", input.tiers},
          {"exit_code", IsFinal(input.job.state) ? json(ExitCodeOf(input.job)) : json(nullptr)},
          {"attempts_ran", AttemptsThatRan(input.job)},
          {"run_ms", RunTime(input.job, input.reports, input.now).ms},
          {"newest_checkpoint", NewestCheckpoint(input.job, input.reports)},
          {"cut_off", cut_off},
          {"saving_ms", saving},
          {"kept_until", kept ? json(FormatRfc3339(*kept)) : json(nullptr)},
          {"unkept", UnkeptJson(input.job)},
          {"troubles", TroublesAtTheEnd(input.reports)}};
}

}  // namespace stoker
