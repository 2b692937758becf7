// SPDX-License-Identifier: Apache-2.0
#include "sys/task/gpu_usage.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "base/json.h"
#include "base/text.h"
#include "sys/real_clock.h"
#include "sys/task/process_runner.h"

namespace stoker {
namespace {

constexpr char kQuery[] =
    "--query-gpu=index,name,utilization.gpu,memory.used,memory.total,temperature.gpu,power.draw";
constexpr const char* kKeys[] = {
    "index",         "name",   "busy_percent", "memory_used_mib", "memory_total_mib",
    "temperature_c", "power_w"};
constexpr size_t kFields = std::size(kKeys);
constexpr size_t kMaxSample = 64 << 10;  // hundreds of GPUs; more is not nvidia-smi talking

std::string Trim(const std::string& text) {
  const size_t start = text.find_first_not_of(" \t\r");
  if (start == std::string::npos) return "";
  return text.substr(start, text.find_last_not_of(" \t\r") - start + 1);
}

nlohmann::json Number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || !(value >= -1e15 && value <= 1e15)) return nullptr;
  if (value == static_cast<double>(static_cast<int64_t>(value))) {
    return static_cast<int64_t>(value);
  }
  return value;
}

// Lines of one sample come together, index 0 first.
class Collector : public LogSink {
 public:
  explicit Collector(Duration shelf_life) : shelf_life_(shelf_life) {}

  void Write(LogStream stream, std::string_view bytes) override {
    if (stream != LogStream::kOut) return;
    std::lock_guard<std::mutex> lock(mutex_);
    partial_ += bytes;
    size_t end;
    while ((end = partial_.find('\n')) != std::string::npos) {
      const std::string line = partial_.substr(0, end + 1);
      partial_.erase(0, end + 1);
      if (StartsWith(line, "0,") || current_.size() > kMaxSample) current_.clear();
      current_ += line;
    }
    if (partial_.size() > kMaxSample) partial_.clear();
    updated_ = clock_.Mono();
  }

  std::string Latest() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (current_.empty() || clock_.Mono() - updated_ > shelf_life_) return "";
    return GpuSampleJson(current_);
  }

 private:
  RealClock clock_;
  const Duration shelf_life_;
  std::mutex mutex_;
  std::string partial_, current_;
  MonoTime updated_;
};

class NvidiaSmi : public GpuSampler {
 public:
  explicit NvidiaSmi(Duration interval)
      : collector_(std::max(interval * 3, Duration::Seconds(30))),
        // Its own helper processes end with it; a namespace would hide the driver's view of pids.
        runner_(MakeProcessRunner({"subreaper", "/proc/self/exe"})) {}

  bool Start(const TaskCommand& command) {
    auto task = runner_->Start(command, collector_);
    if (task.ok()) task_ = std::move(*task);
    return task_ != nullptr;
  }

  std::string Latest() override { return collector_.Latest(); }

 private:
  Collector collector_;
  std::unique_ptr<ProcessRunner> runner_;
  std::unique_ptr<Task> task_;  // last: ends before what it writes to
};

}  // namespace

std::string GpuSampleJson(std::string_view csv) {
  nlohmann::json out = nlohmann::json::array();
  for (const std::string& line : Split(csv, '\n')) {
    const std::vector<std::string> fields = Split(line, ',');
    if (fields.size() != kFields) continue;
    nlohmann::json gpu;
    for (size_t i = 0; i < kFields; ++i) {
      const std::string field = Printable(Trim(fields[i]));
      if (i == 1) {
        gpu[kKeys[i]] = field;
      } else {
        gpu[kKeys[i]] = Number(field);
      }
    }
    if (gpu["index"].is_number_integer()) out.push_back(std::move(gpu));
  }
  if (out.empty()) return "";
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::unique_ptr<GpuSampler> GpuSampler::Start(Duration interval, const std::string& program) {
  auto out = std::make_unique<NvidiaSmi>(interval);
  const int64_t seconds = std::max<int64_t>(1, interval.ms / 1000);
  const char* path = std::getenv("PATH");
  TaskCommand command;
  command.argv = {program, kQuery, "--format=csv,noheader,nounits", "-l", std::to_string(seconds)};
  command.env = {{"PATH", path != nullptr ? path : "/usr/bin:/bin"}, {"LC_ALL", "C"}};
  // Where an image keeps the driver's libraries in a folder of their own, it is found by this.
  if (const char* libraries = std::getenv("LD_LIBRARY_PATH"); libraries != nullptr) {
    command.env.emplace_back("LD_LIBRARY_PATH", libraries);
  }
  command.cwd = "/";
  if (!out->Start(command)) return nullptr;
  return out;
}

}  // namespace stoker
