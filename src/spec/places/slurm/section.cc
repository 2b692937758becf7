// SPDX-License-Identifier: Apache-2.0
#include "spec/places/slurm/section.h"

#include "base/text.h"
#include "spec/places/slurm/words.h"
#include "spec/text/host_words.h"
#include "spec/text/json_text.h"

namespace stoker {
namespace {

constexpr size_t kMostOptions = 50;
constexpr Duration kLongest = Duration::Hours(24 * 366);

void ReadWord(const YamlNode& node, std::string_view what, SpecReader* reader, std::string* out) {
  const auto word = reader->Line(node, what);
  if (!word) return;
  if (IsSlurmWord(*word)) {
    *out = *word;
  } else {
    reader->Error(node, "'" + std::string(what) + "' cannot be " + Quoted(*word),
                  "Write it as you would give it to sbatch, without spaces and quotes");
  }
}

void ReadTime(const YamlNode& node, std::string_view what, Duration least, SpecReader* reader,
              std::optional<Duration>* out) {
  const auto text = reader->Line(node, what);
  if (!text) return;
  const auto time = ParseSlurmTime(*text);
  const std::string named = "'" + std::string(what) + "' ";
  if (!time.ok()) {
    reader->Error(node, named + "is not a time: " + Quoted(*text), time.status().next());
  } else if (*time < least || *time > kLongest) {
    reader->Error(node, named + "is " + Quoted(*text) + ", which is out of range",
                  "Between " + FormatDuration(least) + " and a year is possible");
  } else {
    *out = *time;
  }
}

void ReadOptions(const YamlNode& node, SpecReader* reader, SlurmSpec* slurm) {
  if (!reader->ExpectList(node, "slurm.options", "[--mail-type=END]")) return;
  if (!reader->ExpectAtMost(node, "slurm.options", node.items.size(), kMostOptions)) return;
  for (const YamlNode& item : node.items) {
    const auto option = reader->Line(item, "slurm.options");
    if (!option) continue;
    const std::string why = WhyNoSlurmOption(*option);
    if (why.empty()) {
      slurm->options.push_back(*option);
    } else {
      reader->Error(item, "'slurm.options' cannot have " + Quoted(*option) + ": " + why);
    }
  }
}

}  // namespace

void ReadSlurm(const YamlNode& node, SpecReader* reader, SlurmSpec* s) {
  if (!reader->ExpectMap(node, "slurm")) return;
  const auto word = [=](std::string_view what, std::string* out) {
    return [=](const YamlNode& v) { ReadWord(v, what, reader, out); };
  };
  const auto time = [=](std::string_view what, Duration least, std::optional<Duration>* out) {
    return [=](const YamlNode& v) { ReadTime(v, what, least, reader, out); };
  };
  const auto exclusive = [=](const YamlNode& v) {
    if (const auto b = reader->Boolean(v, "slurm.exclusive")) s->exclusive = *b;
  };
  reader->ReadMap(node, "slurm",
                  {{"account", word("slurm.account", &s->account)},
                   {"qos", word("slurm.qos", &s->qos)},
                   {"constraint", word("slurm.constraint", &s->constraint)},
                   {"reservation", word("slurm.reservation", &s->reservation)},
                   {"exclusive", exclusive},
                   {"time", time("slurm.time", Duration::Minutes(1), &s->time)},
                   {"notice", time("slurm.notice", Duration::Seconds(10), &s->notice)},
                   {"options", [=](const YamlNode& v) { ReadOptions(v, reader, s); }}},
                  {{"partition", "Write it behind the infra: slurm/PARTITION"},
                   {"nodes", "Write 'num_nodes'"},
                   {"cpus", "Write 'resources.cpus'"},
                   {"mem", "Write 'resources.memory'"},
                   {"gres", "Write 'resources.gpus'"},
                   {"gpus", "Write 'resources.gpus'"}});
}

std::string PrintSlurm(const SlurmSpec& slurm) {
  std::string out;
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) out += "  " + std::string(key) + ": " + JsonString(value) + "\n";
  };
  text("account", slurm.account);
  text("qos", slurm.qos);
  text("constraint", slurm.constraint);
  text("reservation", slurm.reservation);
  if (slurm.exclusive) out += "  exclusive: true\n";
  if (slurm.time) out += "  time: " + FormatDuration(*slurm.time) + "\n";
  if (slurm.notice) out += "  notice: " + FormatDuration(*slurm.notice) + "\n";
  if (!slurm.options.empty()) {
    out += "  options:\n";
    for (const std::string& option : slurm.options) out += "    - " + JsonString(option) + "\n";
  }
  return out.empty() ? "" : "slurm:\n" + out;
}

const std::vector<PlaceSetting>& SlurmSettings() {
  static const std::vector<PlaceSetting> all = {
      {kSlurmLogin, "the host that has Slurm's commands, where this one lacks them", "this machine",
       IsHostWord, kWriteHost}};
  return all;
}

}  // namespace stoker
