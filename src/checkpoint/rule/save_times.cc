// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/save_times.h"

#include <algorithm>

namespace stoker {
namespace {

constexpr size_t kRemembered = 64;

// How far `at` is from what lies between two, at least and at most.
Duration Least(MonoTime at, const Between& other) {
  return std::max({Duration(), at - other.to, other.from - at});
}
Duration Most(MonoTime at, const Between& other) {
  return std::max(at - other.from, other.to - at);
}

}  // namespace

void SaveTimes::Began(int64_t saves, MonoTime at) {
  began_.emplace(saves, at);
  if (began_.size() > kRemembered) began_.erase(began_.begin());
}

std::optional<MonoTime> SaveTimes::BeganAt(int64_t saves) const {
  const auto found = began_.find(saves);
  if (found == began_.end()) return std::nullopt;
  return found->second;
}

bool SaveTimes::Near(MonoTime at, const Between& theirs, int times) const {
  Duration gap = {INT64_MAX};
  for (const auto& [saves, other] : began_) {
    if (other != at) gap = std::min(gap, std::max(other - at, at - other));
  }
  return Most(at, theirs) < gap / times;
}

bool SaveTimes::ClearlyAnother(int64_t saves, const Between& theirs,
                               std::optional<MonoTime> next) const {
  const std::optional<MonoTime> own = BeganAt(saves);
  if (!own) return false;
  const Duration away = Least(*own, theirs);
  const auto nearer = [&](MonoTime other) {
    const Duration apart = std::max(other - *own, *own - other);
    return Most(other, theirs) < std::min(away, apart / kClearly);
  };
  if (next && *next > *own && nearer(*next)) return true;
  return std::any_of(began_.begin(), began_.end(), [&](const auto& entry) {
    return entry.first != saves && nearer(entry.second);
  });
}

std::optional<int64_t> SaveTimes::Clearly(const Between& theirs, int times) const {
  if (began_.size() < 2) return std::nullopt;
  for (const auto& [saves, at] : began_) {
    if (Near(at, theirs, times)) return saves;
  }
  return std::nullopt;
}

}  // namespace stoker
