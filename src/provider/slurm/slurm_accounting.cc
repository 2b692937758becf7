// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/slurm_accounting.h"

#include <algorithm>

#include "base/text.h"
#include "provider/slurm/slurm_job.h"
#include "provider/slurm/slurm_queue.h"
#include "provider/slurm/slurm_tools.h"

namespace stoker {
namespace {

constexpr Duration kSacctLimit = Duration::Seconds(10);
constexpr int64_t kMostDays = 100'000;
constexpr int64_t kMostOfOne = 1'000'000'000;
constexpr size_t kMostJobs = 1000;  // of one question
constexpr char kSacctFields[] = "JobIDRaw,State,Elapsed,AllocTRES,JobName";
constexpr size_t kSacctFieldCount = 5;

// "[DD-[HH:]]MM:SS", with fractions of a second in some versions.
std::optional<Duration> ParseElapsed(std::string_view text) {
  int64_t days = 0;
  if (const size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto number = WholeNumber(std::string(text.substr(0, dash)), 0, kMostDays);
    if (!number) return std::nullopt;
    days = *number;
    text = text.substr(dash + 1);
  }
  text = text.substr(0, text.find('.'));
  const std::vector<std::string> parts = Split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  int64_t seconds = 0;
  for (const std::string& part : parts) {
    const auto number = WholeNumber(part, 0, kMostDays * 24);
    if (!number) return std::nullopt;
    seconds = seconds * 60 + *number;
  }
  return Duration::Seconds(days * 86'400 + seconds);
}

// "cpu=4", "gres/gpu:a100=2"; big ones may have a unit ("mem=64G"), of which counts have only K.
std::optional<int64_t> CountOf(std::string value) {
  int64_t unit = 1;
  if (EndsWith(value, "K")) {
    unit = 1024;
    value.pop_back();
  }
  const auto number = WholeNumber(value, 0, kMostOfOne);
  return number ? std::optional(*number * unit) : std::nullopt;
}

// GPUs are counted as such, by type, or both ways.
void TakeTres(const std::string& tres, CountedRun* used) {
  std::optional<int64_t> typed;
  for (const std::string& one : Split(tres, ',')) {
    const size_t equals = one.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = one.substr(0, equals);
    const auto count = CountOf(one.substr(equals + 1));
    if (!count) continue;
    if (name == "node") used->nodes = count;
    if (name == "cpu") used->cpus = count;
    if (name == "gres/gpu") used->gpus = count;
    if (StartsWith(name, "gres/gpu:")) typed = typed.value_or(0) + *count;
  }
  if (!used->gpus) used->gpus = typed;
}

}  // namespace

std::vector<std::string> SacctWords(const std::vector<int64_t>& jobs) {
  std::string list;
  for (const int64_t job : jobs) list += (list.empty() ? "" : ",") + std::to_string(job);
  // Without --duplicates a job that was requeued shows its last run alone.
  return {"--parsable2",
          "--noheader",
          "--allocations",
          "--duplicates",
          "--format=" + std::string(kSacctFields),
          "--jobs=" + list};
}

Result<std::vector<CountedRun>> ParseSacct(std::string_view text) {
  std::vector<CountedRun> out;
  for (const std::string& line : Split(text, '\n')) {
    if (line.empty()) continue;
    const std::vector<std::string> fields = Split(line, '|');
    const Status bad(Code::kCorrupt, "not a line of sacct: " + Printable(line));
    if (fields.size() < kSacctFieldCount) return bad;
    // "12.batch", "12.0": a step. Of "12_3" and "12+1" the raw number is a plain one.
    if (fields[0].find('.') != std::string::npos) continue;
    const auto job = WholeNumber(fields[0], 1, kMostSlurmJob);
    const auto elapsed = ParseElapsed(fields[2]);
    if (!job || !elapsed) return bad;
    CountedRun used;
    used.job = *job;
    used.state = Printable(fields[1]);
    used.elapsed = *elapsed;
    TakeTres(fields[3], &used);
    used.name = fields[4];
    out.push_back(std::move(used));
  }
  return out;
}

CountedHours SumHours(const std::vector<CountedRun>& used, bool gpus_asked) {
  CountedHours hours;
  double gpus = 0;
  bool counted = false;
  for (const CountedRun& one : used) {
    if (one.elapsed.ms > 0 || one.cpus) ++hours.runs;  // else it was cancelled in the queue
    const double span = static_cast<double>(one.elapsed.ms) / 3.6e6;
    hours.nodes += span * static_cast<double>(one.nodes.value_or(0));
    hours.cpus += span * static_cast<double>(one.cpus.value_or(0));
    gpus += span * static_cast<double>(one.gpus.value_or(0));
    counted = counted || one.gpus.has_value();
  }
  const bool any = std::any_of(used.begin(), used.end(),
                               [](const CountedRun& one) { return one.cpus.has_value(); });
  if (counted || !gpus_asked || !any) hours.gpus = gpus;
  return hours;
}

Result<std::optional<std::vector<CountedRun>>> AskSacct(const SlurmTools& tools,
                                                        const std::vector<int64_t>& jobs,
                                                        const std::string& job) {
  std::vector<CountedRun> all;
  for (size_t at = 0; at < jobs.size(); at += kMostJobs) {
    const auto begin = jobs.begin() + static_cast<ptrdiff_t>(at);
    const auto end = jobs.begin() + static_cast<ptrdiff_t>(std::min(jobs.size(), at + kMostJobs));
    std::vector<std::string> words = SacctWords({begin, end});
    words.insert(words.begin(), "sacct");
    std::string said;
    const auto text = tools.Run(words, kSacctLimit, "", &said);
    const bool off = said.find("accounting storage is disabled") != std::string::npos;
    if (off || text.status().Is(Code::kDenied)) return std::optional<std::vector<CountedRun>>();
    if (!text.ok()) return text.status();
    STOKER_ASSIGN(std::vector<CountedRun> some, ParseSacct(*text));
    std::erase_if(some, [&](const CountedRun& one) {
      return !job.empty() && JobOfSlurmName(one.name) != job;
    });
    all.insert(all.end(), std::make_move_iterator(some.begin()),
               std::make_move_iterator(some.end()));
  }
  return std::optional(std::move(all));
}

}  // namespace stoker
