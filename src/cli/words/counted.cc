// SPDX-License-Identifier: Apache-2.0
#include "cli/words/counted.h"

#include <cstdio>
#include <set>
#include <utility>

#include "base/text.h"

namespace stoker::cli {
namespace {

std::string Hours(double hours, const char* of) {
  char text[64];
  std::snprintf(text, sizeof text, hours < 10 ? "%.2f %s-hours" : "%.1f %s-hours", hours, of);
  return text;
}

nlohmann::json OrNull(const std::optional<int64_t>& count) {
  return count ? nlohmann::json(*count) : nlohmann::json();
}

}  // namespace

std::vector<CountedThere> ReadCounted(Context& context, const Job& job, const JobSpec* spec) {
  std::set<std::string> providers;
  for (const Request& request : job.requests) providers.insert(request.ask.place.provider);
  std::vector<CountedThere> out;
  for (const std::string& name : providers) {
    const auto broker = context.broker(name);
    if (!broker.ok()) continue;  // of another stoker
    const BrokerTraits& traits = (*broker)->traits();
    auto counted = (*broker)->Count(job, spec != nullptr && spec->resources.gpus.value_or(0) > 0);
    if (!counted.ok()) {
      out.push_back(
          {&traits,
           {},
           counted.status().WithContext("what " + std::string(traits.title) + " has counted")});
    } else if (*counted) {
      out.push_back({&traits, std::move(**counted), Status::Ok()});
    }
  }
  return out;
}

std::string CountedText(const CountedThere& there) {
  const CountedHours& hours = there.counted.hours;
  std::string text = Hours(hours.nodes, "node") + ", " + Hours(hours.cpus, "CPU") + ", ";
  text += hours.gpus ? Hours(*hours.gpus, "GPU") : "GPUs not counted on this cluster";
  return text + " in " + std::to_string(hours.runs) + (hours.runs == 1 ? " run" : " runs") +
         ", as " + there.provider->title + " counts";
}

nlohmann::json CountedJson(const CountedUse& counted) {
  nlohmann::json runs = nlohmann::json::array();
  for (const CountedRun& one : counted.runs) {
    runs.push_back({{"job", one.job},
                    {"state", one.state},
                    {"elapsed_ms", one.elapsed.ms},
                    {"nodes", OrNull(one.nodes)},
                    {"cpus", OrNull(one.cpus)},
                    {"gpus", OrNull(one.gpus)}});
  }
  const CountedHours& hours = counted.hours;
  return {{"node_hours", hours.nodes},
          {"cpu_hours", hours.cpus},
          {"gpu_hours", hours.gpus ? nlohmann::json(*hours.gpus) : nlohmann::json()},
          {"runs", std::move(runs)}};
}

}  // namespace stoker::cli
