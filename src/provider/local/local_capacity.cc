// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_capacity.h"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "provider/local/local_boot.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr int kMostGpus = 64;
constexpr int kMostCpus = 100'000;
constexpr char kVariable[] = "STOKER_CAPACITY";
constexpr char kNvidia[] = "/proc/driver/nvidia/gpus";
constexpr char kTopology[] = "/sys/class/kfd/kfd/topology/nodes";

// "max 100000", "150000 100000": as cpu.max of cgroup v2 has it.
int64_t CpusOf(const std::string& limit, int64_t online) {
  const std::vector<std::string> parts = Split(limit, ' ');
  const int64_t quota = std::strtoll(parts[0].c_str(), nullptr, 10);
  const int64_t period = parts.size() > 1 ? std::strtoll(parts[1].c_str(), nullptr, 10) : 0;
  if (quota <= 0 || period <= 0) return online;
  return std::min(online, std::max<int64_t>(quota * 1000 / period, 1000));
}

// The value after `key` in lines of "Key:  value".
std::string FieldOf(const std::string& text, std::string_view key) {
  for (const std::string& line : Split(text, '\n')) {
    if (!StartsWith(line, key)) continue;
    const size_t begin = line.find_first_not_of(" \t:", key.size());
    return begin == std::string::npos ? "" : Printable(line.substr(begin));
  }
  return "";
}

// In the order of their bus addresses, which is how CUDA counts under CUDA_DEVICE_ORDER=PCI_BUS_ID.
std::vector<LocalGpu> NvidiaGpus() {
  std::vector<LocalGpu> gpus;
  for (int minor = 0; minor < kMostGpus; ++minor) {
    if (!sys::FileExists("/dev/nvidia" + std::to_string(minor))) continue;
    gpus.push_back({static_cast<int>(gpus.size()), ""});
  }
  std::vector<std::string> names;
  const auto known = sys::ListDir(kNvidia);
  for (const sys::DirEntry& entry : known.ok() ? *known : std::vector<sys::DirEntry>()) {
    const auto text = sys::ReadFile(std::string(kNvidia) + "/" + entry.name + "/information", 4096);
    const std::string minor = text.ok() ? FieldOf(*text, "Device Minor") : "";
    // A container sees them all, and may have some.
    if (minor.empty() || !sys::FileExists("/dev/nvidia" + minor)) continue;
    names.push_back(FieldOf(*text, "Model"));
  }
  for (size_t i = 0; i < gpus.size() && names.size() == gpus.size(); ++i) gpus[i].name = names[i];
  return gpus;
}

std::vector<LocalGpu> AmdGpus() {
  std::vector<LocalGpu> gpus;
  if (!HasRocm()) return gpus;
  for (int node = 0; node < 4 * kMostGpus; ++node) {
    const std::string folder = std::string(kTopology) + "/" + std::to_string(node);
    if (!sys::DirExists(folder)) break;
    const auto id = sys::ReadFile(folder + "/gpu_id", 64);
    if (!id.ok() || std::atoll(id->c_str()) == 0) continue;  // a CPU
    const auto name = sys::ReadFile(folder + "/name", 256);
    gpus.push_back({static_cast<int>(gpus.size()),
                    name.ok() ? Printable(name->substr(0, name->find('\n'))) : ""});
  }
  return gpus;
}

LocalCapacity Counted() {
  LocalCapacity capacity;
  capacity.cpus = std::max<int64_t>(sysconf(_SC_NPROCESSORS_ONLN), 1) * 1000;
  if (const auto limit = sys::ReadFile("/sys/fs/cgroup/cpu.max", 256); limit.ok()) {
    capacity.cpus = CpusOf(*limit, capacity.cpus);
  }
  struct sysinfo info {};
  if (sysinfo(&info) == 0) capacity.memory = static_cast<int64_t>(info.totalram) * info.mem_unit;
  if (const auto limit = sys::ReadFile("/sys/fs/cgroup/memory.max", 256); limit.ok()) {
    const int64_t most = std::strtoll(limit->c_str(), nullptr, 10);
    if (most > 0) capacity.memory = std::min(capacity.memory, most);
  }
  capacity.gpus = NvidiaGpus();
  if (capacity.gpus.empty()) capacity.gpus = AmdGpus();
  return capacity;
}

Status BadWord(const std::string& word) {
  return Status(Code::kUsage, "STOKER_CAPACITY: '" + Printable(word) + "' is not understood",
                "It is like \"cpus=6 memory=8GB gpus=2 name=L4\"");
}

// What `text` says instead of what was counted; the name of the GPUs is the rest of it.
Status Take(const std::string& text, LocalCapacity* capacity) {
  const size_t named = (" " + text).find(" name=");
  const std::string name = named == std::string::npos ? "" : text.substr(named + 5);
  for (const std::string& word : Split(text.substr(0, named), ' ')) {
    if (word.empty()) continue;
    const std::string key = word.substr(0, word.find('=') + 1);
    const std::string value = word.substr(key.size());
    const bool cpus = key == "cpus=";
    const auto count = WholeNumber(value, cpus ? 1 : 0, cpus ? kMostCpus : kMostGpus);
    const auto size = ParseSize(value);
    if (key == "memory=" && size.ok()) {
      capacity->memory = *size;
    } else if (cpus && count) {
      capacity->cpus = *count * 1000;
    } else if (key == "gpus=" && count) {
      capacity->gpus.clear();
      for (int i = 0; i < *count; ++i) capacity->gpus.push_back({i, Printable(name)});
    } else {
      return BadWord(word);
    }
  }
  return Status::Ok();
}

}  // namespace

bool HasRocm() { return sys::FileExists("/dev/kfd"); }

Status CheckCapacity() {
  LocalCapacity said;
  const char* text = std::getenv(kVariable);
  return text != nullptr ? Take(text, &said) : Status::Ok();
}

LocalCapacity CountCapacity() {
  const LocalCapacity counted = Counted();
  LocalCapacity said = counted;
  const char* text = std::getenv(kVariable);
  return text != nullptr && Take(text, &said).ok() ? said : counted;
}

std::string GrantVariable(const std::vector<int>& gpus, const LocalCapacity& capacity,
                          const LocalWants& wants) {
  if (capacity.gpus.empty() && wants.gpus != 0) return "";
  std::string out = std::string(kGrantedGpus) + (HasRocm() ? "=rocm:" : "=cuda:");
  for (size_t i = 0; i < gpus.size(); ++i) out += (i > 0 ? "," : "") + std::to_string(gpus[i]);
  return out;
}

}  // namespace stoker
