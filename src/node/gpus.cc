// SPDX-License-Identifier: Apache-2.0
#include "node/gpus.h"

#include "base/text.h"
#include "sys/file.h"

namespace stoker::node {

int CountGpus() {
  int count = 0;
  while (count < 64 && sys::FileExists("/dev/nvidia" + std::to_string(count))) ++count;
  return count;
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

}  // namespace stoker::node
