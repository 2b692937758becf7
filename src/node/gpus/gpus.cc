// SPDX-License-Identifier: Apache-2.0
#include "node/gpus/gpus.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

constexpr int kMostGpus = 64;  // of one machine

}  // namespace

std::vector<std::string> NumberedDevices(const std::string& prefix, int first) {
  std::vector<std::string> out;
  for (int number = first; number < first + kMostGpus; ++number) {
    const std::string path = prefix + std::to_string(number);
    if (sys::FileExists(path)) out.push_back(path);
  }
  return out;
}

int CountGpus() {
  int count = 0;
  while (count < kMostGpus && sys::FileExists("/dev/nvidia" + std::to_string(count))) ++count;
  return count;
}

int CountDrivenGpus() {
  const auto known = sys::ListDir("/proc/driver/nvidia/gpus");
  return std::max(CountGpus(), static_cast<int>(known.value_or({}).size()));
}

Status AwaitGpus(const GpuWait& wait, Clock& clock) {
  const auto told = [&](int there) {
    return std::to_string(there) + " of the " + std::to_string(wait.promised) +
           " GPUs that its type promises";
  };
  const MonoTime begun = clock.Mono();
  int there = wait.count();
  if (there >= wait.promised) return Status::Ok();
  wait.say("this machine has " + told(there) +
           " so far: its image may still be installing their driver; waiting, " +
           FormatDuration(kGpusWithin) + " at most");
  while (there < wait.promised) {
    if (wait.cancelled()) return Status(Code::kCancelled, "stopped while it waited for its GPUs");
    if (clock.Mono() - begun >= kGpusWithin) {
      return Status(Code::kNotFound,
                    "the machine has " + told(there) + ", " + FormatDuration(kGpusWithin) + " on",
                    "Use an image with NVIDIA's driver (resources.image_id)");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(wait.pause.ms));
    there = wait.count();
  }
  wait.say("the GPUs are there after " + HumanDuration(clock.Mono() - begun));
  return Status::Ok();
}

std::optional<GrantedGpus> ReadGrantedGpus(const std::string& text) {
  const bool rocm = StartsWith(text, "rocm:");
  if (!rocm && !StartsWith(text, "cuda:")) return std::nullopt;
  const std::string list = text.substr(5);
  if (list.find_first_not_of("0123456789,") != std::string::npos) return std::nullopt;
  GrantedGpus granted;
  if (list.empty()) {
    // An empty list hides all from CUDA and ROCr; HIP takes an empty one for none given.
    granted.variables = {
        {"CUDA_VISIBLE_DEVICES", ""}, {"ROCR_VISIBLE_DEVICES", ""}, {"HIP_VISIBLE_DEVICES", "-1"}};
    return granted;
  }
  std::string within;
  for (granted.count = 0; granted.count < static_cast<int>(Split(list, ',').size());) {
    within += (granted.count > 0 ? "," : "") + std::to_string(granted.count);
    ++granted.count;
  }
  if (rocm) {
    // HIP, which reads CUDA's variable too, counts within what ROCr leaves.
    granted.variables = {{"ROCR_VISIBLE_DEVICES", list},
                         {"HIP_VISIBLE_DEVICES", within},
                         {"CUDA_VISIBLE_DEVICES", within}};
  } else {
    granted.variables = {{"CUDA_VISIBLE_DEVICES", list}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
  }
  return granted;
}

std::optional<std::string> EngineGpus(const std::string& devices, const std::string& driver) {
  std::map<std::string, int64_t> minors;  // by the bus, of those that the driver does not leave out
  for (const sys::DirEntry& card : sys::ListDir(driver).value_or({})) {
    const auto told = sys::ReadFile(driver + "/" + card.name + "/information", 64 << 10);
    int64_t minor = -1;
    bool excluded = false;
    for (const std::string& line : Split(told.value_or(""), '\n')) {
      const size_t digit = line.find_first_of("0123456789");
      excluded |= StartsWith(line, "GPU Excluded:") && EndsWith(line, "Yes");
      if (!StartsWith(line, "Device Minor:") || digit == std::string::npos) continue;
      minor = WholeNumber(line.substr(digit), 0, 1 << 20).value_or(-1);
    }
    if (!excluded) minors[card.name] = minor;
  }
  std::map<int64_t, size_t> places;  // by the number of the device
  for (const auto& [bus, minor] : minors) places.emplace(minor, places.size());
  places.erase(-1);
  std::string out;
  for (const std::string& device : Split(devices, ',')) {
    const auto minor = WholeNumber(device, 0, 1 << 20);
    if (!minor) return std::nullopt;
    const auto place = places.find(*minor);
    if (!places.empty() && place == places.end()) return std::nullopt;
    out += (out.empty() ? "" : ",") + (places.empty() ? device : std::to_string(place->second));
  }
  return out;
}

GrantedGpus CountedFromZero(int count) {
  std::string list;
  for (int i = 0; i < count; ++i) list += (i > 0 ? "," : "") + std::to_string(i);
  return *ReadGrantedGpus("cuda:" + list);
}

std::optional<std::set<int>> GrantedNumbers(const std::string& text) {
  if (!ReadGrantedGpus(text)) return std::nullopt;
  std::set<int> own;
  for (const std::string& number : Split(text.substr(text.find(':') + 1), ',')) {
    if (const auto index = WholeNumber(number, 0, 1 << 20)) own.insert(static_cast<int>(*index));
  }
  return own;
}

std::string OnlyOwnGpus(const std::string& sample, const std::optional<std::set<int>>& own) {
  if (!own) return sample;
  const auto all = nlohmann::json::parse(sample, nullptr, false);
  nlohmann::json mine = nlohmann::json::array();
  for (const auto& gpu : all.is_array() ? all : mine) {
    const auto index = gpu.find("index");
    const bool known = index != gpu.end() && index->is_number_integer();
    if (known && own->contains(index->get<int>())) mine.push_back(gpu);
  }
  return mine.empty() ? "" : mine.dump();
}

}  // namespace stoker::node
