// SPDX-License-Identifier: Apache-2.0
#include "view/usage_digest.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "ledger/paths.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr int64_t kPeakMs = 1000;  // CPU time counts in hundredths of a second
constexpr double kMebibyte = 1024.0 * 1024.0;

struct Sample {
  int64_t at_ms = 0;
  double cpu_seconds = 0;
  int64_t cpu_at_ms = 0;  // when these were read; earlier builds did not say
  double resident = 0;
  int gpus = 0;
  double gpu_busy = 0;
  double gpu_memory = 0;
  bool idle() const { return resident <= 0; }  // before the program begins, after its end
};

// 0 for what is missing, no number, negative or beyond every machine.
double Number(const json& from, const char* key) {
  const auto found = from.find(key);
  if (found == from.end() || !found->is_number()) return 0;
  const auto value = found->get<double>();
  return std::isfinite(value) && value > 0 && value < 9e15 ? value : 0;
}

void AddGpus(const json& from, Sample* sample) {
  const auto all = from.find("gpu");
  if (all == from.end() || !all->is_array()) return;
  double busy = 0;
  for (const json& gpu : *all) {
    if (!gpu.is_object()) continue;
    ++sample->gpus;
    busy += Number(gpu, "busy_percent");
    sample->gpu_memory += Number(gpu, "memory_used_mib") * kMebibyte;
  }
  if (sample->gpus > 0) sample->gpu_busy = busy / sample->gpus;
}

// nullopt when it is no course of samples.
std::optional<std::vector<Sample>> Parse(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object() || Number(document, "format") != 1) return std::nullopt;
  const auto samples = document.find("samples");
  if (samples == document.end() || !samples->is_array()) return std::nullopt;
  std::vector<Sample> out;
  for (const json& one : *samples) {
    if (!one.is_object()) return std::nullopt;
    Sample sample;
    sample.at_ms = static_cast<int64_t>(Number(one, "at_ms"));
    sample.cpu_seconds = Number(one, "cpu_seconds");
    sample.cpu_at_ms =
        one.contains("cpu_at_ms") ? static_cast<int64_t>(Number(one, "cpu_at_ms")) : sample.at_ms;
    sample.resident = Number(one, "resident_bytes");
    AddGpus(one, &sample);
    if (!out.empty() && sample.at_ms < out.back().at_ms) return std::nullopt;
    out.push_back(sample);
  }
  return out;
}

// From the last idle sample before the program to the first one after it: that one has the CPU
// time of the end.
std::vector<Sample> WhileItRan(const std::vector<Sample>& all) {
  const auto busy = [](const Sample& sample) { return !sample.idle(); };
  auto first = std::find_if(all.begin(), all.end(), busy);
  if (first == all.end()) return {};
  auto last = std::find_if(all.rbegin(), all.rend(), busy).base();  // one past it
  if (last != all.end()) ++last;
  if (first != all.begin()) --first;
  return {first, last};
}

void DigestCpu(const std::vector<Sample>& samples, MeanAndPeak* out) {
  const Sample& first = samples.front();
  const auto cores = [](const Sample& from, const Sample& to) {
    const auto ms = static_cast<double>(to.cpu_at_ms - from.cpu_at_ms);
    return ms > 0 ? std::max(0.0, to.cpu_seconds - from.cpu_seconds) * 1000 / ms : 0;
  };
  out->mean = cores(first, samples.back());
  out->peak = out->mean;
  const Sample* begin = &first;
  for (const Sample& sample : samples) {
    if (sample.cpu_at_ms - begin->cpu_at_ms < kPeakMs) continue;
    out->peak = std::max(out->peak, cores(*begin, sample));
    begin = &sample;
  }
}

// The mean over time: what a sample says holds until the next one, and an idle one says nothing;
// of GPUs neither does one that was taken before nvidia-smi had answered.
MeanAndPeak DigestLevel(const std::vector<Sample>& samples, double Sample::*level,
                        bool of_gpus = false) {
  MeanAndPeak out;
  double sum = 0, weights = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].idle() || (of_gpus && samples[i].gpus == 0)) continue;
    const int64_t until = samples[std::min(i + 1, samples.size() - 1)].at_ms;
    const auto weight = static_cast<double>(std::max<int64_t>(1, until - samples[i].at_ms));
    sum += samples[i].*level * weight;
    weights += weight;
    out.peak = std::max(out.peak, samples[i].*level);
  }
  if (weights > 0) out.mean = sum / weights;
  return out;
}

std::string Format(const char* format, double mean, double peak) {
  char text[96];
  std::snprintf(text, sizeof text, format, mean, peak);
  return text;
}

std::string Sizes(const MeanAndPeak& bytes) {
  return "mean " + HumanSize(std::llround(bytes.mean)) + ", peak " +
         HumanSize(std::llround(bytes.peak));
}

json ToJson(const MeanAndPeak& value) { return {{"mean", value.mean}, {"peak", value.peak}}; }

}  // namespace

Result<std::optional<UsageDigest>> DigestUsage(std::string_view text, int attempt, int rank) {
  const auto all = Parse(text);
  if (!all) {
    return Status(Code::kCorrupt, "the usage of attempt " + std::to_string(attempt) + ", node " +
                                      std::to_string(rank) + ", is damaged");
  }
  const std::vector<Sample> samples = WhileItRan(*all);
  if (samples.empty()) return std::optional<UsageDigest>();
  UsageDigest out;
  out.attempt = attempt;
  out.rank = rank;
  out.span = Duration::Ms(samples.back().at_ms - samples.front().at_ms);
  DigestCpu(samples, &out.cpu_cores);
  out.resident_bytes = DigestLevel(samples, &Sample::resident);
  for (const Sample& sample : samples) out.gpus = std::max(out.gpus, sample.gpus);
  out.gpu_busy_percent = DigestLevel(samples, &Sample::gpu_busy, true);
  out.gpu_memory_bytes = DigestLevel(samples, &Sample::gpu_memory, true);
  return std::optional<UsageDigest>(out);
}

std::vector<UsageDigest> ReadUsage(ObjectStore& store, const Job& job, Status* trouble) {
  std::vector<UsageDigest> out;
  std::set<std::string> there;
  const Status listed = ListAll(store, paths::Job(job.id) + "usage/", [&](const ObjectInfo& info) {
    there.insert(info.key);
    return Status::Ok();
  });
  if (!listed.ok()) *trouble = listed;
  for (const Attempt& attempt : job.attempts) {
    for (int rank = 0; rank < static_cast<int>(attempt.launches.size()); ++rank) {
      const std::string key = paths::Usage(job.id, attempt.number, rank);
      if (there.count(key) == 0) continue;
      const auto object = store.Get(key);
      if (object.code() == Code::kNotFound) continue;  // cleared away since
      auto digest = object.ok() ? DigestUsage(object->data, attempt.number, rank)
                                : Result<std::optional<UsageDigest>>(object.status());
      if (!digest.ok())
        *trouble = digest.status();
      else if (*digest)
        out.push_back(**digest);
    }
  }
  return out;
}

std::string UsageText(const UsageDigest& digest) {
  std::string text =
      "CPU " + Format("mean %.2f, peak %.2f cores", digest.cpu_cores.mean, digest.cpu_cores.peak) +
      "; memory " + Sizes(digest.resident_bytes);
  if (digest.gpus > 0) {
    text += "; " +
            (digest.gpus > 1 ? std::to_string(digest.gpus) + " GPUs " : std::string("GPU ")) +
            Format("mean %.0f %%, peak %.0f %%", digest.gpu_busy_percent.mean,
                   digest.gpu_busy_percent.peak) +
            ", GPU memory " + Sizes(digest.gpu_memory_bytes);
  }
  return text;
}

json UsageJson(const std::vector<UsageDigest>& all) {
  json out = json::array();
  for (const UsageDigest& one : all) {
    json entry = {{"attempt", one.attempt},
                  {"node", one.rank},
                  {"span_ms", one.span.ms},
                  {"cpu_cores", ToJson(one.cpu_cores)},
                  {"resident_bytes", ToJson(one.resident_bytes)}};
    if (one.gpus > 0) {
      entry["gpus"] = one.gpus;
      entry["gpu_busy_percent"] = ToJson(one.gpu_busy_percent);
      entry["gpu_memory_bytes"] = ToJson(one.gpu_memory_bytes);
    }
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace stoker
