// SPDX-License-Identifier: Apache-2.0
#include "provider/ssh/box_share.h"

#include "base/json.h"
#include "base/text.h"

namespace stoker {
namespace {

constexpr int64_t kMost = int64_t{1} << 60;
constexpr int64_t kMostGpus = 4096;
constexpr size_t kMostEngines = 16;
constexpr size_t kMostEngineName = 40;

void Put(const char* key, const std::optional<int64_t>& value, BoxJson* out) {
  if (value) (*out)[key] = *value;
}

// False where it is there and no number that can be.
bool Take(const BoxJson& in, const char* key, int64_t most, std::optional<int64_t>* value) {
  const auto found = in.find(key);
  if (found == in.end()) return true;
  if (!found->is_number_integer()) return false;
  const auto number = found->get<int64_t>();
  if (number < 0 || number > most) return false;
  *value = number;
  return true;
}

bool TakeGpus(const BoxJson& in, std::vector<GpuShare>* gpus) {
  const auto list = in.find("gpus");
  if (list == in.end() || !list->is_array() || list->size() > kMostGpus) return false;
  for (const BoxJson& one : *list) {
    std::optional<int64_t> total;
    std::optional<int64_t> free;
    if (!one.is_object() || !Take(one, "total", kMostGpus, &total) || !total ||
        !Take(one, "free", kMostGpus, &free)) {
      return false;
    }
    GpuShare gpu{Printable(BoxText(one, "name")), static_cast<int>(*total), std::nullopt};
    if (free) gpu.free = static_cast<int>(*free);
    gpus->push_back(std::move(gpu));
  }
  return true;
}

// An older stoker says nothing of them.
bool TakeEngines(const BoxJson& in, std::optional<std::vector<std::string>>* engines) {
  const auto list = in.find(kBoxEngines);
  if (list == in.end()) return true;
  if (!list->is_array() || list->size() > kMostEngines) return false;
  engines->emplace();
  for (const BoxJson& one : *list) {
    if (!one.is_string()) return false;
    (*engines)->push_back(Printable(CutText(one.get<std::string>(), kMostEngineName)));
  }
  return true;
}

}  // namespace

void PutShare(const PlaceInfo& share, BoxJson* out) {
  Put("cpus", share.cpus, out);
  Put("free_cpus", share.free_cpus, out);
  Put("memory", share.memory, out);
  Put("free_memory", share.free_memory, out);
  Put("running", share.running, out);
  Put("waiting", share.waiting, out);
  if (share.engines) (*out)[kBoxEngines] = *share.engines;
  (*out)["gpus"] = BoxJson::array();
  for (const GpuShare& gpu : share.gpus) {
    BoxJson one = {{"name", gpu.name}, {"total", gpu.total}};
    if (gpu.free) one["free"] = *gpu.free;
    (*out)["gpus"].push_back(std::move(one));
  }
}

Result<PlaceInfo> TakeShare(const BoxJson& in) {
  PlaceInfo out;
  const bool whole =
      in.is_object() && Take(in, "cpus", kMost, &out.cpus) &&
      Take(in, "free_cpus", kMost, &out.free_cpus) && Take(in, "memory", kMost, &out.memory) &&
      Take(in, "free_memory", kMost, &out.free_memory) &&
      Take(in, "running", kMost, &out.running) && Take(in, "waiting", kMost, &out.waiting) &&
      TakeGpus(in, &out.gpus) && TakeEngines(in, &out.engines);
  if (!whole) return Status(Code::kCorrupt, "the box does not say what it has to share");
  return out;
}

}  // namespace stoker
