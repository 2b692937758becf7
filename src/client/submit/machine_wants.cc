// SPDX-License-Identifier: Apache-2.0
#include "client/submit/machine_wants.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "provider/local/local_capacity.h"

namespace stoker::client {
namespace {

constexpr char kVariable[] = "CUDA_VISIBLE_DEVICES";

// nullopt = it names GPUs in another way than by number.
std::optional<std::vector<int>> Numbers(const std::string& value) {
  std::vector<int> numbers;
  if (value.empty() || value == "-1") return numbers;
  for (const std::string& part : Split(value, ',')) {
    const auto number = WholeNumber(part, 0, 1024);
    const bool twice =
        number && std::find(numbers.begin(), numbers.end(), *number) != numbers.end();
    if (!number || twice) return std::nullopt;
    numbers.push_back(static_cast<int>(*number));
  }
  return numbers;
}

std::optional<std::string> ValueOf(const JobSpec& spec, bool shell) {
  for (const auto& [name, value] : spec.envs) {
    if (name == kVariable) return value;
  }
  const char* value = shell ? std::getenv(kVariable) : nullptr;
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

// `part` of what `all` asks for, and nothing else.
LocalWants Only(const LocalWants& all, const char* part) {
  LocalWants wants;
  wants.cpus = 0;
  wants.gpus = 0;
  wants.nodes = all.nodes;
  const std::string what = part;
  if (what == "cpus") wants.cpus = all.cpus;
  if (what == "memory") wants.memory = all.memory;
  if (what != "gpus") return wants;
  wants.gpus = all.gpus;
  wants.gpu_name = all.gpu_name;
  wants.devices = all.devices;
  return wants;
}

}  // namespace

void TakeVisibleGpus(Client& client, bool shell, JobSpec* spec) {
  const auto value = ValueOf(*spec, shell);
  if (spec->resources.gpus || !value) return;
  const auto numbers = Numbers(*value);
  const std::string said = std::string(kVariable) + "=" + Printable(*value);
  if (!numbers) {
    client.Say(said +
               " does not name GPUs by number, so the job asks for all; --gpus N asks for "
               "some of them");
    return;
  }
  ResourcesSpec asked = spec->resources;
  asked.gpus = static_cast<int>(numbers->size());
  asked.gpu_numbers = *numbers;
  std::swap(spec->resources, asked);
  const LocalCapacity capacity = CountCapacity();
  if (numbers->empty() || WhyNever(capacity, Only(WantsOf(*spec, {}), "gpus")).empty()) return;
  std::swap(spec->resources, asked);
  if (capacity.gpus.empty()) return;  // there is nothing to share, so it means nothing here
  client.Say(said + " names GPUs that this machine does not have, and is not asked for");
}

void LeaveOutWhatIsMissing(Client& client, const std::vector<std::string>& flags, JobSpec* spec) {
  const LocalCapacity capacity = CountCapacity();
  const LocalWants wants = WantsOf(*spec, {});
  ResourcesSpec& resources = spec->resources;
  const auto lacks = [&](const char* part) {
    const std::string never = WhyNever(capacity, Only(wants, part));
    const bool asked =
        std::find(flags.begin(), flags.end(), std::string("--") + part) != flags.end();
    if (never.empty() || asked) return false;
    client.Say("--infra local: not asked for: " + never);
    return true;
  };
  if (lacks("cpus")) resources.cpus.reset();
  if (lacks("memory")) resources.memory.reset();
  if (!lacks("gpus")) return;
  resources.gpus.reset();
  resources.gpu_name.clear();
  resources.gpu_numbers.clear();
}

Status CheckItFits(const JobSpec& spec) {
  STOKER_TRY(CheckCapacity());
  const LocalWants wants = WantsOf(spec, {});
  const std::string never = WhyNever(CountCapacity(), wants);
  if (never.empty()) return Status::Ok();
  const std::string nodes =
      spec.num_nodes > 1 ? " on its " + std::to_string(spec.num_nodes) + " nodes together" : "";
  return Status(Code::kInvalid, "the job asks" + nodes + " for " + never,
                "It could never start: ask for less with --cpus, --memory or --gpus");
}

}  // namespace stoker::client
