// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "policy/local_queue.h"

namespace stoker {
namespace {

constexpr int64_t kMost = int64_t{1} << 53;
constexpr size_t kMostDevices = 256;

std::optional<int64_t> Number(std::string_view text) { return WholeNumber(text, -kMost, kMost); }

// False: it is not what EncodeWants writes for that word.
bool Set(const std::string& word, const std::string& text, LocalWants* wants) {
  if (word == "name") {
    wants->gpu_name = text;
    return IsSafeName(text);
  }
  if (word == "devices") {
    for (const std::string& part : Split(text, ',')) {
      const auto number = Number(part);
      if (!number || *number < 0 || *number > 4096) return false;
      wants->devices.push_back(static_cast<int>(*number));
    }
    return wants->devices.size() <= kMostDevices;
  }
  const auto number = Number(text);
  const auto within = [&](int64_t low, int64_t high) {
    return number && *number >= low && *number <= high;
  };
  if (word == "cpus") return within(0, kMost) && ((wants->cpus = *number), true);
  if (word == "memory") return within(0, kMost) && ((wants->memory = *number), true);
  if (word == "gpus") {
    return within(kAllGpus, 4096) && ((wants->gpus = static_cast<int>(*number)), true);
  }
  if (word == "nodes") {
    return within(1, 100'000) && ((wants->nodes = static_cast<int>(*number)), true);
  }
  if (word == "priority") {
    return within(-1'000'000, 1'000'000) && ((wants->priority = static_cast<int>(*number)), true);
  }
  if (word == "since") return within(0, kMost) && ((wants->since.ms = *number), true);
  if (word == "span") return within(0, kMost) && ((wants->span.ms = *number), true);
  return true;
}

}  // namespace

std::string EncodeWants(const LocalWants& wants) {
  const LocalWants none;
  std::string out;
  const auto add = [&](const char* word, int64_t value, int64_t usual) {
    if (value == usual) return;
    out += (out.empty() ? "" : " ") + std::string(word) + "=" + std::to_string(value);
  };
  add("cpus", wants.cpus, none.cpus);
  add("memory", wants.memory, none.memory);
  add("gpus", wants.gpus, none.gpus);
  add("nodes", wants.nodes, none.nodes);
  add("priority", wants.priority, none.priority);
  add("since", wants.since.ms, none.since.ms);
  add("span", wants.span.ms, none.span.ms);
  if (!wants.gpu_name.empty()) out += (out.empty() ? "name=" : " name=") + wants.gpu_name;
  for (size_t i = 0; i < wants.devices.size(); ++i) {
    out += (i > 0 ? "," : out.empty() ? "devices=" : " devices=");
    out += std::to_string(wants.devices[i]);
  }
  return out;
}

LocalWants WantsOf(const JobSpec& spec, WallTime submitted) {
  const ResourcesSpec& asked = spec.resources;
  LocalWants wants;
  wants.nodes = std::max(spec.num_nodes, 1);
  const auto of_all = [&](int64_t each) {
    return each > kMost / wants.nodes ? kMost : each * wants.nodes;
  };
  // Who does not say it gets one for all: several nodes on one machine are there to try things out.
  if (asked.cpus) wants.cpus = of_all(*asked.cpus);
  if (asked.memory) wants.memory = of_all(*asked.memory);
  if (asked.gpus) wants.gpus = *asked.gpus;
  wants.gpu_name = asked.gpu_name;
  wants.devices = asked.gpu_numbers;
  wants.priority = asked.priority;
  wants.since = submitted;
  if (spec.limits.max_duration) wants.span = *spec.limits.max_duration + spec.stop_grace;
  return wants;
}

Result<LocalWants> ParseWants(std::string_view text) {
  LocalWants wants;
  for (const std::string& part : Split(std::string(text), ' ')) {
    const size_t sign = part.find('=');
    const bool fine = part.empty() || (sign != std::string::npos &&
                                       Set(part.substr(0, sign), part.substr(sign + 1), &wants));
    if (!fine) {
      return Status(Code::kInvalid, "what the job asks of this machine is not understood: " +
                                        Printable(part).substr(0, 100));
    }
  }
  return wants;
}

}  // namespace stoker
