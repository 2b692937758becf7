// SPDX-License-Identifier: Apache-2.0
#include "node/ran/machine_facts.h"

#include <sys/utsname.h>

#include "base/text.h"
#include "sys/command.h"
#include "sys/file.h"
#include "sys/task/usage.h"

namespace stoker::node {
namespace {

constexpr int64_t kAskSmiMs = 10'000;
constexpr int64_t kMostText = 1 << 20;

std::string TextOf(const char* path) { return sys::ReadFile(path, kMostText).value_or(""); }

std::string Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return std::string(text);
}

// Digits and dots at the beginning of `text`.
std::string VersionAt(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && (IsDigit(text[end]) || text[end] == '.')) ++end;
  return std::string(text.substr(0, end));
}

}  // namespace

std::string DriverVersion(std::string_view text) {
  const std::string line(text.substr(0, text.find('\n')));
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 …", or "… Open Kernel
  // Module for x86_64  550.54.15  Release Build …".
  for (const std::string& word : Split(line, ' ')) {
    if (word.find('.') != std::string::npos && VersionAt(word) == word) return word;
  }
  return "";
}

std::string CudaVersion(std::string_view text) {
  for (const std::string_view mark : {"CUDA Version: ", "CUDA UMD Version: "}) {
    const size_t at = text.find(mark);
    if (at != std::string_view::npos) return VersionAt(text.substr(at + mark.size()));
  }
  return "";
}

std::string OsName(std::string_view text) {
  for (const std::string& line : Split(text, '\n')) {
    constexpr std::string_view kKey = "PRETTY_NAME=";
    if (!StartsWith(line, kKey)) continue;
    std::string name = line.substr(kKey.size());
    if (name.size() > 1 && (name.front() == '"' || name.front() == '\'')) {
      name = name.substr(1, name.size() - 2);
    }
    return name;
  }
  return "";
}

std::string CpuModel(std::string_view text) {
  for (const std::string& line : Split(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key = Trimmed(line.substr(0, colon));
    if (key == "model name" || key == "Model") return Trimmed(line.substr(colon + 1));
  }
  return "";
}

void AddMachineFacts(RunFacts& facts) {
  utsname name{};
  if (uname(&name) == 0) {
    facts.kernel = name.release;
    facts.architecture = name.machine;
  }
  if (facts.image.empty()) facts.os = OsName(TextOf("/etc/os-release"));
  facts.cpu = CpuModel(TextOf("/proc/cpuinfo"));
  facts.cpus = ReadMachineUsage().cpus;
  facts.nvidia_driver = DriverVersion(TextOf("/proc/driver/nvidia/version"));
  if (facts.nvidia_driver.empty()) return;
  sys::Command ask;
  ask.argv = {"nvidia-smi"};
  ask.env = {"LC_ALL=C"};
  ask.max_output = 64 << 10;
  const auto said = sys::RunCommands({ask}, kAskSmiMs);
  if (said[0].ok()) facts.cuda = CudaVersion(said[0]->out);
}

}  // namespace stoker::node
