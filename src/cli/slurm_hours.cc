// SPDX-License-Identifier: Apache-2.0
#include "cli/slurm_hours.h"

#include <cstdio>
#include <set>

#include "base/text.h"
#include "provider/slurm/slurm_provider.h"
#include "provider/slurm/slurm_queue.h"
#include "provider/slurm/slurm_tools.h"

namespace stoker::cli {
namespace {

// "12.0": the numbers that Slurm has given to the job's requests.
std::vector<int64_t> SlurmJobsOf(const Job& job) {
  std::set<int> requests;
  for (const Request& request : job.requests) {
    if (request.ask.place.provider == kSlurmProvider) requests.insert(request.number);
  }
  std::set<int64_t> numbers;
  for (const Launch& launch : job.launches) {
    if (!requests.contains(launch.request)) continue;
    const std::string text = launch.instance_id.substr(0, launch.instance_id.find('.'));
    if (const auto number = WholeNumber(text, 1, kMostSlurmJob)) numbers.insert(*number);
  }
  return {numbers.begin(), numbers.end()};
}

std::string Hours(double hours, const char* of) {
  char text[64];
  std::snprintf(text, sizeof text, hours < 10 ? "%.2f %s-hours" : "%.1f %s-hours", hours, of);
  return text;
}

nlohmann::json OrNull(const std::optional<int64_t>& count) {
  return count ? nlohmann::json(*count) : nlohmann::json();
}

}  // namespace

std::optional<SlurmAccount> ReadSlurmAccount(Context& context, const Job& job, const JobSpec* spec,
                                             Status* trouble) {
  const std::vector<int64_t> numbers = SlurmJobsOf(job);
  if (numbers.empty()) return std::nullopt;
  const auto settings = context.settings();
  if (!settings.ok()) {
    *trouble = settings.status();
    return std::nullopt;
  }
  const SlurmTools tools((*settings)->slurm_login);
  auto used = AskSacct(tools, numbers, "stoker-" + job.id + ".");
  if (!used.ok()) {
    *trouble = used.status().WithContext("what Slurm has counted");
    return std::nullopt;
  }
  if (!used->has_value() || (*used)->empty()) return std::nullopt;
  SlurmAccount account;
  account.runs = std::move(**used);
  const bool gpus_asked = spec != nullptr && spec->resources.gpus.value_or(0) > 0;
  account.hours = SumSlurmHours(account.runs, gpus_asked);
  return account;
}

std::string SlurmAccountText(const SlurmAccount& account) {
  const SlurmHours& hours = account.hours;
  std::string text = Hours(hours.nodes, "node") + ", " + Hours(hours.cpus, "CPU") + ", ";
  text += hours.gpus ? Hours(*hours.gpus, "GPU") : "GPUs not counted on this cluster";
  return text + " in " + std::to_string(hours.runs) + (hours.runs == 1 ? " run" : " runs") +
         ", as Slurm counts";
}

nlohmann::json SlurmAccountJson(const SlurmAccount& account) {
  nlohmann::json runs = nlohmann::json::array();
  for (const SlurmUsed& one : account.runs) {
    runs.push_back({{"job", one.job},
                    {"state", one.state},
                    {"elapsed_ms", one.elapsed.ms},
                    {"nodes", OrNull(one.nodes)},
                    {"cpus", OrNull(one.cpus)},
                    {"gpus", OrNull(one.gpus)}});
  }
  const SlurmHours& hours = account.hours;
  return {{"node_hours", hours.nodes},
          {"cpu_hours", hours.cpus},
          {"gpu_hours", hours.gpus ? nlohmann::json(*hours.gpus) : nlohmann::json()},
          {"runs", std::move(runs)}};
}

}  // namespace stoker::cli
