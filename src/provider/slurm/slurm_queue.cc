// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/slurm_queue.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/text.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostSeconds = 100'000'000'000;
// Each with a width, as squeue cuts what is longer than 20 otherwise; the comment comes last, as it
// alone may hold a '|'.
constexpr char kFormat[] =
    "JobID:24|,State:40|,Reason:100|,StartTime:24|,EndTime:24|,PreemptTime:24|,exit_code:16|,"
    "RestartCnt:12|,NodeList:1000|,Name:300|,Comment:4000";
constexpr size_t kFields = 11;

// A number, or {"set": true, "infinite": false, "number": 5} since 23.02 (data_parser/v0.0.39).
int64_t NumberOf(const Json& json, const char* key, int64_t most) {
  const auto it = json.find(key);
  if (it == json.end()) return 0;
  const Json* number = &*it;
  if (number->is_object()) {
    const bool set = number->value("set", Json(false)) == true;
    const auto inner = number->find("number");
    if (!set || inner == number->end()) return 0;
    number = &*inner;
  }
  if (!number->is_number_integer()) return 0;
  const int64_t value = number->get<int64_t>();
  return value < 0 || value > most ? 0 : value;
}

std::string TextOf(const Json& json, const char* key) {
  const auto it = json.find(key);
  if (it == json.end()) return "";
  if (it->is_string()) return it->get<std::string>();
  if (it->is_object()) return TextOf(*it, "string");  // a comment of {"administrator", "job", …}
  return "";
}

// One word, or a list of them since 23.02.
std::vector<std::string> WordsOf(const Json& json, const char* key) {
  const auto it = json.find(key);
  std::vector<std::string> out;
  if (it != json.end() && it->is_string()) out.push_back(it->get<std::string>());
  if (it == json.end() || !it->is_array()) return out;
  for (const Json& word : *it) {
    if (word.is_string()) out.push_back(word.get<std::string>());
  }
  return out;
}

// A number, or {"status": [...], "return_code": {…}, "signal": {…}} since 23.02.
int ExitCodeOf(const Json& job) {
  const auto it = job.find("exit_code");
  if (it == job.end() || !it->is_object() || it->contains("number")) {
    return static_cast<int>(NumberOf(job, "exit_code", 1 << 20));
  }
  int code = static_cast<int>(NumberOf(*it, "return_code", 1 << 20)) << 8;
  const auto signal = it->find("signal");
  if (signal != it->end() && signal->is_object()) {
    code |= static_cast<int>(NumberOf(*signal, signal->contains("id") ? "id" : "signal_id", 128));
  }
  return code;
}

// "4021", or "0:53".
int ExitCodeOf(const std::string& text) {
  const size_t colon = text.find(':');
  const auto code = WholeNumber(text.substr(0, colon), 0, 1 << 20);
  if (colon == std::string::npos) return static_cast<int>(code.value_or(0));
  const auto signal = WholeNumber(text.substr(colon + 1), 0, 127);
  return static_cast<int>((code.value_or(0) << 8) | signal.value_or(0));
}

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

WallTime TimeOf(int64_t seconds) { return {seconds * 1000}; }

std::string ReasonOf(std::string reason) {
  return reason == "None" || reason == "(null)" ? "" : reason;
}

constexpr std::array<std::string_view, 11> kEnds = {
    "COMPLETED", "FAILED",   "CANCELLED",     "TIMEOUT", "NODE_FAIL",    "PREEMPTED",
    "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY", "REVOKED", "LAUNCH_FAILED"};

struct InWords {
  std::string_view reason;
  std::string_view words;
};

constexpr InWords kReasons[] = {
    {"Priority", "others are before it"},
    {"Resources", "what it asks for is in use"},
    {"Dependency", "it waits for another job"},
    {"PartitionDown", "its partition is down"},
    {"PartitionInactive", "its partition takes no jobs"},
    {"PartitionNodeLimit",
     "it asks for more nodes than its partition gives: it starts only when that is changed"},
    {"PartitionTimeLimit",
     "it asks for more time than its partition gives: it starts only when that is changed"},
    {"PartitionConfig",
     "it asks for more than its partition gives: it starts only when that is changed"},
    {"BadConstraints", "no node has what it asks for: it starts only when that is changed"},
    {"AssociationJobLimit", "its account has as many jobs as it may"},
    {"AssociationResourceLimit", "its account has as much as it may"},
    {"AssociationTimeLimit", "its account has used up its time"},
    {"JobHeldUser", "it is held: 'scontrol release' lets it go"},
    {"JobHeldAdmin", "an administrator holds it"},
    {"BeginTime", "its time to begin has not come"},
    {"Licenses", "a licence that it asks for is in use"},
    {"NodeDown", "a node that it asks for is down"},
    {"ReqNodeNotAvail", "a node that it asks for is not to be had"},
    {"Reservation", "it waits for its reservation"},
    {"Cleaning", "its former run is being cleaned up"},
    {"InvalidAccount", "its account is not valid"},
    {"InvalidQOS", "its QOS is not valid"},
    {"Prolog", "its nodes are being made ready"},
};

}  // namespace

bool SlurmJobSeen::Has(std::string_view state) const {
  return std::find(states.begin(), states.end(), state) != states.end();
}

bool SlurmJobSeen::Ended() const {
  return !Has("COMPLETING") &&
         std::any_of(kEnds.begin(), kEnds.end(), [&](std::string_view end) { return Has(end); });
}

std::vector<std::string> SqueueWords() {
  return {"--me", "--all", "--noheader", "--states=all", "--Format=" + std::string(kFormat)};
}

Result<std::vector<SlurmJobSeen>> ParseSqueueJson(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  const auto jobs = json.is_object() ? json.find("jobs") : json.end();
  if (!json.is_object() || jobs == json.end() || !jobs->is_array()) {
    return Status(Code::kCorrupt, "squeue --json gives no list of jobs");
  }
  if (const auto errors = json.find("errors");
      errors != json.end() && errors->is_array() && !errors->empty()) {
    return Status(Code::kCorrupt, "squeue --json tells of errors");
  }
  std::vector<SlurmJobSeen> out;
  for (const Json& job : *jobs) {
    if (!job.is_object()) continue;
    SlurmJobSeen seen;
    seen.job = NumberOf(job, "job_id", kMostSlurmJob);
    seen.name = TextOf(job, "name");
    seen.states = WordsOf(job, "job_state");
    seen.reason = ReasonOf(TextOf(job, "state_reason"));
    seen.started = TimeOf(NumberOf(job, "start_time", kMostSeconds));
    seen.ends = TimeOf(NumberOf(job, "end_time", kMostSeconds));
    seen.nodes = TextOf(job, "nodes");
    seen.comment = TextOf(job, "comment");
    seen.preempted = NumberOf(job, "preempt_time", kMostSeconds) > 0;
    seen.restarts = static_cast<int>(NumberOf(job, "restart_cnt", 1'000'000));
    seen.exit_code = ExitCodeOf(job);
    if (seen.job > 0 && !seen.states.empty()) out.push_back(std::move(seen));
  }
  return out;
}

Result<std::vector<SlurmJobSeen>> ParseSqueueLines(const std::string& text) {
  std::vector<SlurmJobSeen> out;
  for (const std::string& line : Split(text, '\n')) {
    if (line.empty()) continue;
    std::vector<std::string> fields = Split(line, '|');
    for (std::string& field : fields) field = Trimmed(field);
    const Status odd(Code::kCorrupt,
                     "squeue prints what it was not asked for: " + CutText(Printable(line), 100));
    if (fields.size() < kFields) return odd;
    // A part of an array or of a heterogeneous job is none of ours.
    if (fields[0].find_first_of("_+") != std::string::npos) continue;
    const auto job = WholeNumber(fields[0], 1, kMostSlurmJob);
    if (!job) return odd;
    SlurmJobSeen seen;
    seen.job = *job;
    seen.states = Split(fields[1], ',');
    seen.reason = ReasonOf(fields[2]);
    seen.started = TimeOf(WholeNumber(fields[3], 0, kMostSeconds).value_or(0));
    seen.ends = TimeOf(WholeNumber(fields[4], 0, kMostSeconds).value_or(0));
    seen.preempted = WholeNumber(fields[5], 1, kMostSeconds).has_value();
    seen.exit_code = ExitCodeOf(fields[6]);
    seen.restarts = static_cast<int>(WholeNumber(fields[7], 0, 1'000'000).value_or(0));
    seen.nodes = fields[8];
    seen.name = fields[9];
    fields.erase(fields.begin(), fields.begin() + kFields - 1);
    seen.comment = ReasonOf(Join(fields, "|"));
    out.push_back(std::move(seen));
  }
  return out;
}

std::string SlurmReasonInWords(const std::string& reason) {
  const std::string clean = CutText(Printable(reason), 100);
  if (clean.empty()) return "it waits";
  for (const InWords& known : kReasons) {
    if (StartsWith(clean, known.reason)) {
      return std::string(known.words) + " (" + clean + ")";
    }
  }
  if (StartsWith(clean, "QOS") || StartsWith(clean, "Assoc") || StartsWith(clean, "Max")) {
    return "its account has as much as it may (" + clean + ")";
  }
  return "it waits: " + clean;
}

std::string SlurmEndInWords(const SlurmJobSeen& seen) {
  std::string why;
  if (seen.Has("PREEMPTED") || seen.preempted)
    why = "Slurm preempted it";
  else if (seen.Has("TIMEOUT") || seen.reason == "TimeLimit")
    why = "its time limit was over";
  else if (seen.Has("NODE_FAIL") || StartsWith(seen.reason, "NodeDown"))
    why = "a node of it failed";
  else if (seen.Has("CANCELLED"))
    why = "it was cancelled";
  else if (seen.Has("OUT_OF_MEMORY"))
    why = "it had no memory left";
  else if (seen.Has("BOOT_FAIL"))
    why = "its nodes did not boot";
  else if (seen.Has("DEADLINE"))
    why = "its deadline was over";
  else if (seen.Has("COMPLETED"))
    why = "its nodes left it";
  else
    why = "it ended as " + (seen.states.empty() ? std::string("unknown") : seen.states.front());
  return "Slurm's job " + std::to_string(seen.job) + ": " + why;
}

std::vector<std::string> SlurmNodes(std::string_view list, size_t most) {
  std::vector<std::string> out;
  std::string part;
  int depth = 0;
  const auto expand = [&](const std::string& name) {
    const size_t open = name.find('[');
    const size_t close = name.find(']', open == std::string::npos ? 0 : open);
    if (open == std::string::npos || close == std::string::npos) {
      if (!name.empty() && out.size() < most) out.push_back(name);
      return;
    }
    for (const std::string& range : Split(name.substr(open + 1, close - open - 1), ',')) {
      const size_t dash = range.find('-');
      const std::string low = range.substr(0, dash);
      const std::string high = dash == std::string::npos ? low : range.substr(dash + 1);
      const auto first = WholeNumber(low, 0, 1'000'000);
      const auto last = WholeNumber(high, 0, 1'000'000);
      if (!first || !last) return;
      for (int64_t i = *first; i <= *last && out.size() < most; ++i) {
        out.push_back(name.substr(0, open) + Padded(i, static_cast<int>(low.size())) +
                      name.substr(close + 1));
      }
    }
  };
  for (const char c : list) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) {
      expand(part);
      part.clear();
    } else {
      part += c;
    }
  }
  expand(part);
  return out;
}

}  // namespace stoker
