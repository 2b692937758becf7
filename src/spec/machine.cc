// SPDX-License-Identifier: Apache-2.0
#include "spec/machine.h"

#include <cstdio>

#include "base/text.h"

namespace stoker {
namespace {

constexpr int64_t kMostCpus = 100'000;
constexpr int64_t kMostGpus = 1024;
constexpr int64_t kMostMemory = int64_t{1} << 50;
constexpr int64_t kMostPriority = 1000;
constexpr char kGpuExample[] = "Write a number, NAME:NUMBER as in H100:2, or [0, 1]";

// "4+" is "4": what is asked for is there, or the job waits.
std::string WithoutPlus(std::string text) {
  if (EndsWith(text, "+")) text.pop_back();
  return text;
}

// In thousandths; up to three digits behind the point.
std::optional<int64_t> Thousandths(const std::string& text) {
  const size_t point = text.find('.');
  std::string part = point == std::string::npos ? "" : text.substr(point + 1);
  if (point != std::string::npos && (part.empty() || part.size() > 3)) return std::nullopt;
  part.resize(3, '0');
  const auto whole = WholeNumber(text.substr(0, point), 0, kMostCpus);
  const auto rest = WholeNumber(part, 0, 999);
  if (!whole || !rest) return std::nullopt;
  return *whole * 1000 + *rest;
}

struct Gpus {
  int count = 1;
  std::string name;
  std::vector<int> numbers;
};

bool SetNamed(const std::string& name, const std::string& count, Gpus* gpus) {
  const auto number = WholeNumber(count, 1, kMostGpus);
  const bool digits = name.find_first_not_of("0123456789") == std::string::npos;
  if (!IsSafeName(name) || digits || !number) return false;
  gpus->name = name;
  gpus->count = static_cast<int>(*number);
  return true;
}

bool SetNumbers(const YamlNode& list, Gpus* gpus) {
  for (const YamlNode& item : list.items) {
    const auto number = item.IsScalar() ? WholeNumber(item.text, 0, kMostGpus) : std::nullopt;
    if (!number) return false;
    for (const int known : gpus->numbers) {
      if (known == *number) return false;
    }
    gpus->numbers.push_back(static_cast<int>(*number));
  }
  gpus->count = static_cast<int>(gpus->numbers.size());
  return gpus->count > 0;
}

bool SetGpus(const YamlNode& node, bool plain, Gpus* gpus) {
  if (node.IsMap()) {
    return node.entries.size() == 1 && node.entries[0].value.IsScalar() &&
           SetNamed(node.entries[0].key.text, node.entries[0].value.text, gpus);
  }
  if (!node.IsScalar()) return plain && SetNumbers(node, gpus);
  if (const auto number = WholeNumber(node.text, 0, kMostGpus); plain && number) {
    gpus->count = static_cast<int>(*number);
    return true;
  }
  const size_t colon = node.text.find(':');
  const bool counted = colon != std::string::npos;
  return SetNamed(node.text.substr(0, colon), counted ? node.text.substr(colon + 1) : "1", gpus);
}

}  // namespace

void ReadCpus(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  const auto text = reader->Line(node, "resources.cpus");
  if (!text) return;
  const auto cpus = Thousandths(WithoutPlus(*text));
  if (cpus && *cpus > 0) {
    spec->resources.cpus = *cpus;
  } else {
    reader->Error(node, "'resources.cpus' is not a number of CPUs: " + Quoted(*text),
                  "Write 4, or 0.5");
  }
}

void ReadMemory(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  const auto line = reader->Line(node, "resources.memory");
  if (!line) return;
  std::string text = WithoutPlus(*line);
  if (text.find_first_not_of("0123456789") == std::string::npos) text += "GiB";
  const auto size = ParseSize(text);
  if (size.ok() && *size > 0 && *size <= kMostMemory) {
    spec->resources.memory = *size;
  } else {
    reader->Error(node, "'resources.memory' is not a size: " + Quoted(*line),
                  "Write 16GB; a number alone counts GiB");
  }
}

void ReadGpus(const YamlNode& node, std::string_view what, SpecReader* reader, JobSpec* spec) {
  Gpus gpus;
  if (!SetGpus(node, EndsWith(what, "gpus"), &gpus)) {
    const bool several = node.IsMap() ? node.entries.size() > 1 : !node.IsScalar();
    reader->Error(node,
                  "'" + std::string(what) + "' " +
                      (several && !EndsWith(what, "gpus")
                           ? "names several kinds: write each as a choice of its own"
                           : "does not say how many GPUs, or of which kind"),
                  kGpuExample);
    return;
  }
  spec->resources.gpus = gpus.count;
  spec->resources.gpu_name = gpus.name;
  spec->resources.gpu_numbers = gpus.numbers;
}

void ReadPriority(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  const auto priority = reader->Integer(node, "resources.priority", -kMostPriority, kMostPriority);
  if (priority) spec->resources.priority = static_cast<int>(*priority);
}

std::vector<SpecField> MachineFields(bool here, SpecReader* reader, JobSpec* spec) {
  const auto gpus = [spec](const char* what) {
    return [spec, what](const YamlNode& v, SpecReader* r) { ReadGpus(v, what, r, spec); };
  };
  using Read = std::function<void(const YamlNode&, SpecReader*)>;
  const std::vector<std::pair<std::string_view, Read>> keys = {
      {"cpus", [spec](const YamlNode& v, SpecReader* r) { ReadCpus(v, r, spec); }},
      {"memory", [spec](const YamlNode& v, SpecReader* r) { ReadMemory(v, r, spec); }},
      {"accelerators", gpus("resources.accelerators")},
      {"gpus", gpus("resources.gpus")},
      {"priority", [spec](const YamlNode& v, SpecReader* r) { ReadPriority(v, r, spec); }}};
  std::vector<SpecField> fields;
  for (const auto& key : keys) {
    const std::string_view name = key.first;
    const Read& read = key.second;
    if (!here) {
      fields.push_back({name, [=](const YamlNode& v) { read(v, reader); }});
      continue;
    }
    const SpecField ignore = reader->IgnoredFields("resources", {name})[0];
    fields.push_back({name,
                      [=](const YamlNode& v) {
                        SpecReader trial("");
                        if (!v.IsNull()) read(v, &trial);
                        if (v.IsNull() || !trial.errors().empty()) ignore.read(v);
                      },
                      true});
  }
  return fields;
}

std::string PrintMachine(const ResourcesSpec& resources) {
  std::string out;
  if (resources.cpus) {
    char text[40];
    std::snprintf(text, sizeof text, "  cpus: %lld.%03lld\n",
                  static_cast<long long>(*resources.cpus / 1000),
                  static_cast<long long>(*resources.cpus % 1000));
    out += text;
  }
  if (resources.memory) out += "  memory: " + std::to_string(*resources.memory) + "B\n";
  if (resources.gpus) {
    out += "  gpus: ";
    for (size_t i = 0; i < resources.gpu_numbers.size(); ++i) {
      out += (i == 0 ? "[" : ", ") + std::to_string(resources.gpu_numbers[i]);
    }
    if (!resources.gpu_numbers.empty()) {
      out += "]\n";
    } else if (resources.gpu_name.empty()) {
      out += std::to_string(*resources.gpus) + "\n";
    } else {
      out += "{\"" + resources.gpu_name + "\": " + std::to_string(*resources.gpus) + "}\n";
    }
  }
  if (resources.priority != 0) out += "  priority: " + std::to_string(resources.priority) + "\n";
  return out;
}

}  // namespace stoker
