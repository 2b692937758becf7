// SPDX-License-Identifier: Apache-2.0
#include "policy/local_gpus.h"

#include <algorithm>

#include "base/text.h"

namespace stoker {
namespace {

// In small letters, cut at all that is neither letter nor digit.
std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (IsAlnum(c))
      words.back() += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// As one of them, or as several that stand side by side.
bool Holds(const std::vector<std::string>& words, const std::string& wanted) {
  for (size_t from = 0; from < words.size(); ++from) {
    std::string joined;
    for (size_t i = from; i < words.size() && joined.size() < wanted.size(); ++i) {
      joined += words[i];
      if (joined == wanted) return true;
    }
  }
  return false;
}

size_t Needed(const LocalCapacity& capacity, const LocalWants& wants) {
  if (wants.gpus == kAllGpus) return capacity.gpus.size();
  return static_cast<size_t>(std::max(wants.gpus, 0)) *
         static_cast<size_t>(std::max(wants.nodes, 1));
}

}  // namespace

bool HasGpu(const std::vector<int>& gpus, int number) {
  return std::find(gpus.begin(), gpus.end(), number) != gpus.end();
}

bool IsGpuNamed(const std::string& wanted, const std::string& name) {
  const std::vector<std::string> words = Words(name);
  const std::vector<std::string> parts = Words(wanted);
  return !parts.empty() && std::all_of(parts.begin(), parts.end(),
                                       [&](const std::string& part) { return Holds(words, part); });
}

std::vector<int> UsableGpus(const LocalCapacity& capacity, const LocalWants& wants) {
  if (!wants.devices.empty()) return wants.devices;
  std::vector<int> usable;
  if (wants.gpus == 0) return usable;
  for (const LocalGpu& gpu : capacity.gpus) {
    if (wants.gpu_name.empty() || IsGpuNamed(wants.gpu_name, gpu.name)) {
      usable.push_back(gpu.number);
    }
  }
  return usable;
}

std::optional<std::vector<int>> PickGpus(const LocalCapacity& capacity, const LocalWants& wants,
                                         const std::vector<int>& free) {
  std::vector<int> picked;
  for (const int number : UsableGpus(capacity, wants)) {
    if (HasGpu(free, number) && !HasGpu(picked, number)) picked.push_back(number);
  }
  const size_t needed = wants.devices.empty() ? Needed(capacity, wants) : wants.devices.size();
  if (picked.size() < needed) return std::nullopt;
  picked.resize(needed);
  return picked;
}

std::string GpusText(const LocalCapacity& capacity, const LocalWants& wants) {
  if (!wants.devices.empty()) {
    std::vector<std::string> numbers;
    for (const int number : wants.devices) numbers.push_back(std::to_string(number));
    return (numbers.size() == 1 ? "GPU " : "GPUs ") + Join(numbers, ", ");
  }
  if (wants.gpus == kAllGpus && wants.gpu_name.empty()) return "all GPUs";
  const size_t needed = Needed(capacity, wants);
  const std::string count = std::to_string(needed) + " ";
  if (!wants.gpu_name.empty()) return count + wants.gpu_name;
  return count + (needed == 1 ? "GPU" : "GPUs");
}

std::string GpusHere(const LocalCapacity& capacity) {
  if (capacity.gpus.empty()) return "no GPU";
  std::vector<std::string> names;
  for (const LocalGpu& gpu : capacity.gpus) {
    if (!gpu.name.empty() && (names.empty() || names.back() != gpu.name)) names.push_back(gpu.name);
  }
  const size_t count = capacity.gpus.size();
  return std::to_string(count) + (count == 1 ? " GPU" : " GPUs") +
         (names.empty() ? "" : " (" + Join(names, ", ") + ")");
}

}  // namespace stoker
