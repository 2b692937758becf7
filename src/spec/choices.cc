// SPDX-License-Identifier: Apache-2.0
#include "spec/choices.h"

#include <algorithm>
#include <set>

#include "base/letter_case.h"
#include "base/text.h"
#include "spec/cloud_machine.h"
#include "spec/machine.h"
#include "spec/sections.h"
#include "spec/text/infra.h"

namespace stoker {
namespace {

const RefusedKeys& RefusedChoiceKeys() {
  static const RefusedKeys keys = {
      {"region", "Write it behind the infra: aws/REGION"},
      {"zone", "Write it behind the infra: aws/ZONE"},
      {"labels", "They are the job's: write them beside the list"},
      {"priority", "It is the job's: write it beside the list"},
      {"job_recovery", "It is the job's: write it beside the list"},
      {"any_of", "Write all choices in one list"},
      {"ordered", "Write all choices in one list"},
  };
  return keys;
}

// What the list's map says, in the form that is kept, or `usual`.
std::string InfraOf(const YamlNode& one, const std::string& usual) {
  for (const YamlEntry& entry : one.entries) {
    if ((entry.key.text == "infra" || entry.key.text == "cloud") && entry.value.IsScalar()) {
      return LowerCase(entry.value.text);
    }
  }
  return usual;
}

void LeaveOutCloud(ResourcesSpec* resources) {
  resources->instance_type.clear();
  resources->image_id.clear();
  resources->disk_gib.reset();
}

// SkyPilot's, whatever makes the choice's machines: it is the job's container.
bool HasContainerImage(const YamlNode& choice) {
  return std::any_of(choice.entries.begin(), choice.entries.end(), [](const YamlEntry& entry) {
    return entry.key.text == "image_id" && IsContainerImage(entry.value);
  });
}

// `images`: those of containers that the choices before it name, "" of one that names none.
void ReadChoice(const YamlNode& node, const std::string& section, SpecReader* reader, JobSpec* spec,
                std::vector<std::string>* images) {
  if (!reader->ExpectMap(node, section)) return;
  JobSpec one = *spec;
  one.container.image.clear();
  const bool cloud = MakesMachines(InfraOf(node, spec->resources.infra));
  if (!cloud) LeaveOutCloud(&one.resources);
  const auto infra = [&](const YamlNode& v) { ReadInfra(v, section + ".infra", reader, &one); };
  std::vector<SpecField> fields = {
      {"infra", infra}, {"cloud", infra}, {"use_spot", [&](const YamlNode& v) {
                                             const auto b =
                                                 reader->Boolean(v, section + ".use_spot");
                                             if (b) one.resources.use_spot = *b;
                                           }}};
  if (HasContainerImage(node)) {
    fields.push_back({"image_id", [&](const YamlNode& v) { ReadDockerImage(v, reader, &one); }});
  }
  if (cloud) {
    for (SpecField& field : CloudMachineFields(reader, &one)) fields.push_back(std::move(field));
  }
  for (SpecField& field : MachineFields(false, reader, &one)) {
    if (field.name != "priority") fields.push_back(std::move(field));
  }
  const size_t before = reader->errors().size();
  reader->ReadMap(node, section, fields, RefusedChoiceKeys());
  if (reader->errors().size() > before) return;
  images->push_back(one.container.image);
  auto& all = spec->choices;
  if (std::find(all.begin(), all.end(), one.resources) != all.end()) {
    return reader->Error(node, "'" + section + "' has the same choice twice", "Keep one of them");
  }
  all.push_back(std::move(one.resources));
}

// One container holds for all choices, as a job that moves on goes on in what it began in.
void TakeImage(const YamlNode& list, const std::string& section,
               const std::vector<std::string>& images, SpecReader* reader, JobSpec* spec) {
  std::set<std::string> all(images.begin(), images.end());
  if (all.empty() || all == std::set<std::string>{""}) return;
  if (!spec->container.image.empty()) {
    all.erase("");  // those that name none have the one beside the list
    all.insert(spec->container.image);
  }
  constexpr char kNext[] = "Write 'container' at the top of the file: it holds for all choices";
  if (all.contains("")) {
    reader->Error(list,
                  "some choices of '" + section + "' name the image of a container, and some none",
                  kNext);
  } else if (all.size() > 1) {
    reader->Error(list,
                  "'" + section + "' names several images of containers: " +
                      Join({all.begin(), all.end()}, ", "),
                  kNext);
  } else {
    spec->container.image = *all.begin();
  }
}

bool LiesIn(const std::string& inner, const std::string& outer) {
  return inner == outer || StartsWith(inner, outer + "/");
}

// A list of one is that one.
void Settle(JobSpec* spec) {
  if (spec->choices.size() == 1) {
    spec->resources = spec->choices.front();
    spec->choices.clear();
  }
  if (spec->choices.empty()) spec->ordered = false;
  if (!spec->choices.empty()) spec->resources.infra = spec->choices.front().infra;
}

// Of a map in a list: its first line begins with a dash.
std::string Item(const std::string& lines) {
  std::string out;
  for (const std::string& line : Split(lines, '\n')) {
    if (line.empty()) continue;
    out += (out.empty() ? "    - " : "      ") + line.substr(2) + "\n";
  }
  return out;
}

// SkyPilot's other form: several kinds of accelerators.
bool AreKinds(const YamlNode& accelerators) {
  if (accelerators.IsMap()) return accelerators.entries.size() > 1;
  return accelerators.IsList() && accelerators.items.size() > 1;
}

// The same as a list of choices.
YamlNode ChoicesOfKinds(const YamlNode& accelerators) {
  YamlNode list = accelerators;
  list.kind = YamlNode::Kind::kList;
  list.entries.clear();
  const auto add = [&](const YamlNode& kind) {
    YamlNode one = kind;
    one.kind = YamlNode::Kind::kMap;
    one.items.clear();
    YamlEntry entry;
    entry.key = kind;
    entry.key.text = "accelerators";
    entry.value = kind;
    one.entries = {entry};
    list.items.push_back(one);
  };
  list.items.clear();
  for (const YamlNode& item : accelerators.items) add(item);
  for (const YamlEntry& entry : accelerators.entries) {
    YamlNode kind = entry.key;
    if (entry.value.IsScalar()) kind.text += ":" + entry.value.text;
    add(kind);
  }
  return list;
}

}  // namespace

std::vector<JobSpec> ChoicesOf(const JobSpec& spec) {
  if (spec.choices.empty()) return {spec};
  std::vector<JobSpec> out;
  for (const ResourcesSpec& choice : spec.choices) {
    JobSpec one = spec;
    one.resources = choice;
    one.choices.clear();
    one.ordered = false;
    out.push_back(std::move(one));
  }
  return out;
}

void NarrowChoices(const std::string& infra, JobSpec* spec) {
  std::vector<ResourcesSpec> there;
  for (ResourcesSpec one : spec->choices) {
    if (!LiesIn(one.infra, infra) && !LiesIn(infra, one.infra)) continue;
    if (one.infra.size() < infra.size()) one.infra = infra;
    if (std::find(there.begin(), there.end(), one) == there.end()) there.push_back(std::move(one));
  }
  const bool chosen = !spec->choices.empty();
  spec->choices = std::move(there);
  if (spec->choices.empty()) {
    spec->resources.infra = infra;
    if (chosen && !MakesMachines(infra)) LeaveOutCloud(&spec->resources);
  }
  Settle(spec);
}

std::vector<SpecField> ChoiceFields(ChoiceList* found, SpecReader* reader, JobSpec* spec) {
  const auto take = [=](const std::string& key, const YamlNode& list) {
    if (!found->key.empty()) {
      reader->Error(list, "'resources' has more than one list of choices",
                    "Write all of them under 'any_of', or under 'ordered'");
    }
    found->key = key;
    found->list = list;
  };
  const auto kinds = [=](const YamlNode& v) {
    if (AreKinds(v)) return take(v.IsMap() ? "any_of" : "ordered", ChoicesOfKinds(v));
    ReadGpus(v, "resources.accelerators", reader, spec);
  };
  return {{"any_of", [=](const YamlNode& v) { take("any_of", v); }},
          {"ordered", [=](const YamlNode& v) { take("ordered", v); }},
          {"accelerators", kinds}};
}

void ReadChoices(const ChoiceList& found, SpecReader* reader, JobSpec* spec) {
  if (found.key.empty()) return;
  const std::string section = "resources." + found.key;
  const YamlNode& list = found.list;
  if (!reader->ExpectList(list, section, "a list: [{infra: local}, {infra: aws/us-east-1}]")) {
    return;
  }
  if (list.items.empty()) {
    reader->Error(list, "'" + section + "' has no choices", "Write one, or remove it");
  }
  if (!reader->ExpectAtMost(list, section, list.items.size(), kMostChoices)) return;
  std::vector<std::string> images;
  for (const YamlNode& item : list.items) ReadChoice(item, section, reader, spec, &images);
  TakeImage(list, section, images, reader, spec);
  spec->ordered = found.key == "ordered";
  Settle(spec);
}

bool HasCloudChoice(const YamlNode& resources) {
  for (const YamlEntry& entry : resources.entries) {
    if (entry.key.text != "any_of" && entry.key.text != "ordered") continue;
    const auto& items = entry.value.items;
    if (std::any_of(items.begin(), items.end(),
                    [](const YamlNode& item) { return MakesMachines(InfraOf(item, "")); })) {
      return true;
    }
  }
  return false;
}

void OverrideChoices(const SpecOverrides& flags, JobSpec* spec) {
  const ResourcesSpec& said = spec->resources;
  for (ResourcesSpec& one : spec->choices) {
    if (flags.use_spot) one.use_spot = said.use_spot;
    if (flags.cpus) one.cpus = said.cpus;
    if (flags.memory) one.memory = said.memory;
    if (flags.priority) one.priority = said.priority;
    if (flags.gpus) {
      one.gpus = said.gpus;
      one.gpu_name = said.gpu_name;
      one.gpu_numbers = said.gpu_numbers;
    }
    if (!MakesMachines(one.infra)) continue;
    if (flags.instance_type) one.instance_type = said.instance_type;
    if (flags.image) one.image_id = said.image_id;
    if (flags.disk_size) one.disk_gib = said.disk_gib;
  }
  // Flags may have made two of them the same.
  std::vector<ResourcesSpec> different;
  for (ResourcesSpec& one : spec->choices) {
    if (std::find(different.begin(), different.end(), one) == different.end()) {
      different.push_back(std::move(one));
    }
  }
  spec->choices = std::move(different);
  Settle(spec);
}

std::string PrintChoices(const JobSpec& spec) {
  if (spec.choices.empty()) return "";
  std::string out = spec.ordered ? "  ordered:\n" : "  any_of:\n";
  for (ResourcesSpec one : spec.choices) {
    one.priority = 0;  // the job's
    out += Item("  infra: " + one.infra + "\n  use_spot: " + (one.use_spot ? "true" : "false") +
                "\n" + PrintMachine(one) + PrintCloudMachine(one));
  }
  return out;
}

}  // namespace stoker
