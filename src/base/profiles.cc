// SPDX-License-Identifier: Apache-2.0
#include "base/profiles.h"

#include <algorithm>
#include <array>

namespace stoker {

bool IsProfile(std::string_view path) {
  // Sources: torch/profiler/profiler.py; tsl/profiler/utils/file_system_utils.h; the User Guides of
  // Nsight Systems (.qdrep before 2021.4) and Nsight Compute.
  static constexpr std::array<std::string_view, 8> kEnds = {
      ".pt.trace.json", ".pt.trace.json.gz",
      ".xplane.pb",     ".trace.json.gz",
      ".nsys-rep",      ".qdrep",
      ".ncu-rep",       ".memory_profile.json.gz"};
  static constexpr std::array<std::string_view, 2> kNames = {"trace.json", "trace.json.gz"};
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == path.npos ? path : path.substr(slash + 1);
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kEnds.begin(), kEnds.end(), [&](std::string_view end) {
           return name.size() > end.size() && name.substr(name.size() - end.size()) == end;
         });
}

}  // namespace stoker
