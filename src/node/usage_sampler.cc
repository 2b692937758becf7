// SPDX-License-Identifier: Apache-2.0
#include "node/usage_sampler.h"

#include <algorithm>

#include "base/json.h"
#include "ledger/paths.h"
#include "node/gpus/gpus.h"

namespace stoker::node {

void UsageCourse::Add(UsageSample sample) {
  if (!samples_.empty() && sample.at_ms - samples_.back().at_ms < spacing_ms_) return;
  samples_.push_back(std::move(sample));
  if (samples_.size() <= most_) return;
  std::vector<UsageSample> half;
  for (size_t i = 0; i < samples_.size(); i += 2) half.push_back(std::move(samples_[i]));
  samples_ = std::move(half);
  spacing_ms_ =
      (samples_.back().at_ms - samples_.front().at_ms) / static_cast<int64_t>(samples_.size() - 1);
}

std::string UsageCourse::Json() const {
  nlohmann::json out = {{"format", 1}, {"samples", nlohmann::json::array()}};
  for (const UsageSample& sample : samples_) {
    nlohmann::json one = {{"at_ms", sample.at_ms},
                          {"cpu_seconds", sample.cpu_seconds},
                          {"cpu_at_ms", sample.cpu_at_ms},
                          {"resident_bytes", sample.resident_bytes},
                          {"disk_used_bytes", sample.disk_used_bytes},
                          {"received_bytes", sample.network.received},
                          {"sent_bytes", sample.network.sent}};
    if (sample.work_bytes) one["work_bytes"] = *sample.work_bytes;
    if (!sample.gpu.empty()) one["gpu"] = nlohmann::json::parse(sample.gpu, nullptr, false);
    out["samples"].push_back(std::move(one));
  }
  return out.dump() + "\n";
}

void UsageCourse::Clear() {
  samples_.clear();
  spacing_ms_ = 0;
}

UsageSampler::UsageSampler(ObjectStore& store, Clock& clock, std::optional<std::set<int>> own)
    : store_(store), clock_(clock), own_(std::move(own)), work_(clock) {
  if (!own_ || !own_->empty()) gpu_ = GpuSampler::Start(Duration::Seconds(5));
}

std::string UsageSampler::LatestGpus() { return gpu_ ? OnlyOwnGpus(gpu_->Latest(), own_) : ""; }

void UsageSampler::Sample(NodeReport& report, const std::string& dir, const UsageInput& run) {
  const MonoTime now = clock_.Mono();
  if (report.attempt != attempt_) {
    attempt_ = report.attempt;
    begun_ = now;
    stored_ = now;
    course_.Clear();
  }
  if (const auto disk = ReadDiskSpace(dir); disk.ok()) {
    report.disk_bytes = disk->total_bytes - disk->available_bytes;
  }
  if (gpu_) report.gpu = LatestGpus();
  UsageSample sample;
  sample.at_ms = (now - begun_).ms;
  sample.cpu_seconds = report.cpu_seconds;
  // Much may lie between the two: a disk that was waited for, a program that has ended.
  sample.cpu_at_ms = std::max<int64_t>(0, (run.read.value_or(now) - begun_).ms);
  sample.resident_bytes = report.resident_bytes;
  sample.disk_used_bytes = report.disk_bytes;
  if (!run.work.empty()) sample.work_bytes = work_.Bytes(run.work);
  sample.network = ReadNetworkBytes();
  sample.gpu = report.gpu;
  course_.Add(std::move(sample));
  const bool last = report.phase == NodePhase::kEnded;
  if (!last && now - stored_ < store_.traits().usage) return;
  stored_ = now;
  // Nice to have: when the store is away, the next one has it all.
  (void)store_.Put(paths::Usage(report.job, report.attempt, report.rank), course_.Json());
}

}  // namespace stoker::node
