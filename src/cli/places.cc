// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/terminal/table.h"
#include "cli/verb.h"
#include "port/place_info.h"
#include "spec/text/infra.h"

namespace stoker::cli {
namespace {

using nlohmann::json;

struct PlacesOptions {
  bool words = false;
};

// Without asking anybody: what --infra takes here.
std::vector<std::string> WordsOf(Broker& broker) {
  std::vector<std::string> words = broker.Words();
  std::erase_if(words, [](const std::string& word) { return !CheckInfra("", word).ok(); });
  return words;
}

// A provider that cannot be asked is a line, too.
std::vector<PlaceInfo> Ask(Broker& broker) {
  auto places = broker.Places();
  if (places.ok()) return std::move(*places);
  PlaceInfo info;
  info.infra = broker.traits().name;
  info.machines = 0;
  info.trouble = places.status().ToString();
  return {info};
}

std::string Decimal(double value) {
  char text[40];
  std::snprintf(text, sizeof text, value == static_cast<int64_t>(value) ? "%.0f" : "%.1f", value);
  return text;
}

std::string OfAll(const std::string& free, const std::string& all) {
  return free.empty() || all.empty() ? all : free + " of " + all;
}

std::string CpusCell(const PlaceInfo& place) {
  const auto text = [](const std::optional<int64_t>& cpus) {
    return cpus ? Decimal(static_cast<double>(*cpus) / 1000) : std::string();
  };
  return OfAll(text(place.free_cpus), text(place.cpus));
}

std::string MemoryCell(const PlaceInfo& place) {
  const auto text = [](const std::optional<int64_t>& bytes) {
    return bytes ? HumanSize(*bytes) : std::string();
  };
  return OfAll(text(place.free_memory), text(place.memory));
}

std::string GpusCell(const PlaceInfo& place) {
  std::vector<std::string> kinds;
  for (const GpuShare& gpu : place.gpus) {
    kinds.push_back(OfAll(gpu.free ? std::to_string(*gpu.free) : "", std::to_string(gpu.total)) +
                    (gpu.name.empty() ? "" : " " + Printable(gpu.name)));
  }
  return Join(kinds, ", ");
}

std::string EnginesCell(const PlaceInfo& place) {
  if (!place.engines) return "";
  return place.engines->empty() ? "none" : Printable(Join(*place.engines, ", "));
}

json ToJson(const PlaceInfo& place) {
  const auto whole = [](const std::optional<int64_t>& value) {
    return value ? json(*value) : json(nullptr);
  };
  const auto cpus = [](const std::optional<int64_t>& value) {
    return value ? json(static_cast<double>(*value) / 1000) : json(nullptr);
  };
  json gpus = json::array();
  for (const GpuShare& gpu : place.gpus) {
    gpus.push_back({{"name", gpu.name},
                    {"total", gpu.total},
                    {"free", gpu.free ? json(*gpu.free) : json(nullptr)}});
  }
  return {{"infra", place.infra},
          {"part", place.part},
          {"trouble", place.trouble},
          {"machines", place.machines},
          {"cpus", cpus(place.cpus)},
          {"free_cpus", cpus(place.free_cpus)},
          {"memory", whole(place.memory)},
          {"free_memory", whole(place.free_memory)},
          {"gpus", gpus},
          {"running", whole(place.running)},
          {"waiting", whole(place.waiting)},
          {"engines", place.engines ? json(*place.engines) : json(nullptr)},
          {"limit_ms", place.limit ? json(place.limit->ms) : json(nullptr)},
          {"price", place.price ? json(static_cast<double>(*place.price) / 1e6) : json(nullptr)}};
}

void PrintTable(Context& context, const std::vector<PlaceInfo>& places) {
  std::vector<std::vector<std::string>> rows = {{"PLACE", "PART", "FREE CPUS", "FREE MEMORY",
                                                 "FREE GPUS", "RUNNING", "WAITING", "LIMIT",
                                                 "CONTAINERS"}};
  const auto count = [](const std::optional<int64_t>& n) {
    return n ? std::to_string(*n) : std::string();
  };
  for (const PlaceInfo& place : places) {
    rows.push_back({Printable(place.infra), Printable(place.part), CpusCell(place),
                    MemoryCell(place), GpusCell(place), count(place.running), count(place.waiting),
                    place.limit ? FormatDuration(*place.limit) : "", EnginesCell(place)});
  }
  const std::vector<ColumnRule> rules = {{},     {8, 0}, {},     {0, 2}, {12, 0},
                                         {0, 3}, {},     {0, 4}, {0, 5}};
  context.Print(FitTable(std::move(rows), rules, context.out_width()).text);
  for (const PlaceInfo& place : places) {
    if (place.trouble.empty()) continue;
    context.Say(place.infra + (place.part.empty() ? "" : " " + place.part) + ": " + place.trouble);
  }
}

Status Run(Context& context, const PlacesOptions& options) {
  STOKER_ASSIGN(const std::vector<Broker*> brokers, context.brokers());
  std::vector<PlaceInfo> places;
  for (Broker* broker : brokers) {
    const std::vector<std::string> words = WordsOf(*broker);
    if (options.words) {
      for (const std::string& word : words) context.Print(word + "\n");
    } else if (!words.empty()) {
      for (PlaceInfo& place : Ask(*broker)) places.push_back(std::move(place));
    }
  }
  if (options.words) return Status::Ok();
  if (!context.json) {
    PrintTable(context, places);
    return Status::Ok();
  }
  json all = json::array();
  for (const PlaceInfo& place : places) all.push_back(ToJson(place));
  context.Print(all.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
  return Status::Ok();
}

}  // namespace

Verb PlacesVerb() {
  auto options = std::make_shared<PlacesOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "places";
  verb.summary = "Show where jobs can run, and what is free there now";
  verb.description =
      "Shows every place that --infra takes here: this machine, the partitions of a Slurm cluster, "
      "and the pools of machines that the settings name. What is free is what nobody has asked for "
      "through stoker or the place's own queue at this moment. CONTAINERS are the engines that are "
      "installed there, of a partition as 'stoker doctor --infra slurm/PARTITION' found them last; "
      "doctor also says which of them can be used.";
  verb.examples = {"stoker places", "stoker places --json", "stoker run --infra ssh/lab job.yaml"};
  verb.options = {{"--words", "Only the words for --infra; asks nobody", &options->words}};
  return verb;
}

}  // namespace stoker::cli
