// SPDX-License-Identifier: Apache-2.0
#include "spec/sections.h"

#include <algorithm>
#include <array>

#include "base/letter_case.h"
#include "base/text.h"
#include "spec/choices.h"
#include "spec/cloud_machine.h"
#include "spec/machine.h"
#include "spec/places/sections.h"
#include "spec/text/infra.h"
#include "spec/text/known_keys.h"

namespace stoker {
namespace {

constexpr int kMaxCount = 1'000'000;
constexpr size_t kMaxLabels = 40;  // EC2 allows 50 tags; stoker's own need room

void ReadLabels(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  if (!reader->ExpectMap(node, "resources.labels")) return;
  if (!reader->ExpectAtMost(node, "resources.labels", node.entries.size(), kMaxLabels)) return;
  for (const YamlEntry& entry : node.entries) {
    const std::string& key = entry.key.text;
    if (!IsSafeName(key)) {
      reader->Error(entry.key, "label " + Quoted(key) + " is not usable as a tag",
                    "Use 1 to 64 of letters, digits, '.', '_' and '-', a letter or digit first");
    } else if (StartsWith(key, "stoker-")) {
      reader->Error(entry.key, "label " + Quoted(key) + ": 'stoker-' marks stoker's own tags");
    } else if (entry.value.IsScalar() && entry.value.text.empty()) {
      spec->resources.labels[key] = "";
    } else if (const auto value = reader->Line(entry.value, "resources.labels." + key)) {
      if (value->size() > 255) {
        reader->Error(entry.value, "the label's value has more than 255 bytes");
      }
      spec->resources.labels[key] = *value;
    }
  }
}

void ReadStrategy(const YamlNode& node, std::string_view what, SpecReader* reader, JobSpec* spec) {
  if (const auto strategy = reader->Choice(node, what, {"FAILOVER", "EAGER_NEXT_REGION"})) {
    spec->job_recovery.strategy = *strategy;
  }
}

void ReadExitCodes(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  constexpr std::string_view kWhat = "job_recovery.recover_on_exit_codes";
  if (node.IsMap() || node.IsNull()) {
    reader->ExpectList(node, kWhat, "a number or a list: [1, 137]");
    return;
  }
  const auto add = [&](const YamlNode& item) {
    if (const auto code = reader->Integer(item, kWhat, 0, 255)) {
      spec->job_recovery.recover_on_exit_codes.push_back(static_cast<int>(*code));
    }
  };
  if (node.IsScalar()) return add(node);
  for (const YamlNode& item : node.items) add(item);
}

// "./a/b/" is "a/b": what the user's shell completes and what the ledger stores.
std::string Trimmed(std::string path) {
  while (StartsWith(path, "./")) path.erase(0, path.find_first_not_of('/', 1));
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

bool SafeAbsolutePath(const std::string& path) {
  return path.size() > 1 && path[0] == '/' && IsSafeRelativePath(path.substr(1));
}

void ReadSignal(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  // Signals that a program can use as a message. SIGTERM is sent in any case: named here, at once.
  static const std::vector<std::string> kSignals = {"SIGUSR1", "SIGUSR2",  "SIGHUP",
                                                    "SIGINT",  "SIGQUIT",  "SIGALRM",
                                                    "SIGURG",  "SIGWINCH", "SIGTERM"};
  YamlNode full = node;
  full.text = UpperCase(full.text);
  if (full.IsScalar() && !StartsWith(full.text, "SIG")) full.text = "SIG" + full.text;
  const bool known = std::find(kSignals.begin(), kSignals.end(), full.text) != kSignals.end();
  if (const auto signal = reader->Choice(known ? full : node, "checkpoints.signal", kSignals)) {
    spec->checkpoints.signal = *signal;
  }
}

// A name, and no path: it lies in each save's own folder.
void ReadComplete(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  const auto name = ReadPath(node, "checkpoints.complete", false, reader);
  if (!name) return;
  if (name->find('/') != std::string::npos) {
    reader->Error(
        node, "'checkpoints.complete' is '" + *name + "', which is more than a file's name",
        "Write the name of the file that is made last in each save's folder, as done.txt");
    return;
  }
  spec->checkpoints.complete = *name;
}

void ReadEvery(const YamlNode& node, SpecReader* reader) {
  if (node.IsScalar() && LowerCase(node.text) == "auto") return;
  if (node.IsScalar() && ParseDuration(node.text).ok()) {
    reader->Error(node, "'checkpoints.every' with an interval is understood but not built yet",
                  "Write auto: every checkpoint is kept as soon as it is whole");
    return;
  }
  reader->Choice(node, "checkpoints.every", {"auto"});
}

}  // namespace

std::optional<std::string> ReadPath(const YamlNode& node, std::string_view what, bool absolute,
                                    SpecReader* reader) {
  std::optional<std::string> line = reader->Line(node, what);
  if (!line) return std::nullopt;
  const std::string path = Trimmed(*line);
  const std::string named = "'" + std::string(what) + "' ";
  if (path.size() > 512) {
    reader->Error(node, named + "is longer than 512 bytes");
  } else if (path.find("://") != std::string::npos) {
    reader->Error(node, named + "cannot be a URL: " + Quoted(path),
                  "Name a folder of the work directory: stoker copies it to the store");
  } else if (path[0] == '~' || path.find('$') != std::string::npos) {
    reader->Error(node, named + "is taken as written, so '~' and '$' are refused: " + Quoted(path),
                  absolute ? "Write the whole path" : "Write a path in the work directory");
  } else if (path == "." || path.empty()) {
    reader->Error(node, named + "is the whole work directory", "Name a folder in it");
  } else if (path[0] == '/' && !absolute) {
    reader->Error(node, named + "must lie in the work directory, but is absolute: " + Quoted(path),
                  "Write a path relative to it");
  } else if (path[0] == '/' ? !SafeAbsolutePath(path) : !IsSafeRelativePath(path)) {
    reader->Error(node, named + "leaves its place: " + Quoted(path),
                  "Write it without '.', '..' and empty parts");
  } else {
    return path;
  }
  return std::nullopt;
}

void ReadInfra(const YamlNode& node, std::string_view what, SpecReader* reader, JobSpec* spec) {
  const std::optional<std::string> line = reader->Line(node, what);
  if (!line) return;
  const auto infra = CheckInfra(what, *line);
  if (infra.ok()) {
    spec->resources.infra = *infra;
  } else {
    reader->Error(node, infra.status().message(), infra.status().next());
  }
}

// What counts: the flag, else what the file says, else what was set before.
std::string InfraOf(const YamlNode& node, const std::string& flag, const JobSpec& spec) {
  if (!flag.empty()) return flag;
  for (const YamlEntry& entry : node.entries) {
    if ((entry.key.text == "infra" || entry.key.text == "cloud") && entry.value.IsScalar()) {
      return entry.value.text;
    }
  }
  return spec.resources.infra;
}

void ReadResources(const YamlNode& node, const std::string& flag, SpecReader* reader,
                   JobSpec* spec) {
  const bool here = LowerCase(flag) == kThisMachine;
  if (node.IsNull()) return;  // as SkyPilot takes it; its lines are often commented out
  if (!reader->ExpectMap(node, "resources")) return;
  bool has_infra = false;
  bool has_recovery = false;
  const auto infra = [&](const YamlNode& value, std::string_view what) {
    if (has_infra) reader->Error(value, "'resources' has both 'infra' and 'cloud'", "Keep 'infra'");
    has_infra = true;
    ReadInfra(value, what, reader, spec);
  };
  const auto recovery = [&](const YamlNode& value) {
    if (has_recovery) {
      reader->Error(value, "'resources' has both 'job_recovery' and 'spot_recovery'",
                    "Keep 'job_recovery'");
    }
    has_recovery = true;
    ReadJobRecovery(value, reader, spec);
  };
  const bool docker =
      std::any_of(node.entries.begin(), node.entries.end(), [](const YamlEntry& entry) {
        return entry.key.text == "image_id" && IsContainerImage(entry.value);
      });
  ChoiceList choices;
  std::vector<SpecField> fields = {
      {"use_spot",
       [&](const YamlNode& v) {
         if (const auto b = reader->Boolean(v, "resources.use_spot")) spec->resources.use_spot = *b;
       }},
      {"labels", [&](const YamlNode& v) { ReadLabels(v, reader, spec); }},
      {"job_recovery", recovery},
      {"spot_recovery", recovery}};
  if (docker) {
    fields.push_back({"image_id", [&](const YamlNode& v) { ReadDockerImage(v, reader, spec); }});
  }
  if (here) {
    for (SpecField& field : reader->IgnoredFields("resources", {"infra", "cloud"})) {
      fields.push_back({field.name, [ignore = field.read](const YamlNode& v) {
                          if (!v.IsScalar() || LowerCase(v.text) != kThisMachine) ignore(v);
                        }});
    }
    for (SpecField& field : reader->IgnoredFields("resources", MachineKeys())) {
      fields.push_back(std::move(field));
    }
  } else {
    fields.push_back({"infra", [&](const YamlNode& v) { infra(v, "resources.infra"); }});
    fields.push_back({"cloud", [&](const YamlNode& v) { infra(v, "resources.cloud"); }});
    for (SpecField& field : ChoiceFields(&choices, reader, spec)) {
      fields.push_back(std::move(field));
    }
  }
  if (MakesMachines(LowerCase(InfraOf(node, flag, *spec))) || (!here && HasCloudChoice(node))) {
    for (SpecField& field : CloudMachineFields(reader, spec)) fields.push_back(std::move(field));
  }
  for (SpecField& field : MachineFields(here, reader, spec)) fields.push_back(std::move(field));
  reader->ReadMap(node, "resources", fields, RefusedResourceKeys());
  const auto has = [&](const char* key) {
    return std::any_of(node.entries.begin(), node.entries.end(),
                       [&](const YamlEntry& entry) { return entry.key.text == key; });
  };
  if (!here && has("accelerators") && has("gpus")) {
    reader->Error(node, "'resources' has both 'accelerators' and 'gpus'", "Keep one of them");
  }
  // Choices that name no place are at the one that counts: the flag's, where there is one.
  if (!flag.empty() && !choices.key.empty()) {
    const auto there = CheckInfra("--infra", flag);  // if it is none, that is said elsewhere
    if (there.ok()) spec->resources.infra = *there;
  }
  ReadChoices(choices, reader, spec);
}

void ReadJobRecovery(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  if (node.IsScalar()) return ReadStrategy(node, "job_recovery", reader, spec);
  if (!reader->ExpectMap(node, "job_recovery")) return;
  reader->ReadMap(
      node, "job_recovery",
      {{"strategy",
        [&](const YamlNode& v) {
          if (!v.IsNull()) ReadStrategy(v, "job_recovery.strategy", reader, spec);
        },
        true},
       {"max_restarts_on_errors",
        [&](const YamlNode& v) {
          if (const auto n = ReadRestarts(v, "job_recovery.max_restarts_on_errors", reader)) {
            spec->job_recovery.max_restarts_on_errors = *n;
          }
        }},
       {"recover_on_exit_codes", [&](const YamlNode& v) { ReadExitCodes(v, reader, spec); }}},
      {});
}

void ReadCheckpointPath(const YamlNode& node, std::string_view what, SpecReader* reader,
                        JobSpec* spec) {
  const std::optional<std::string> path = ReadPath(node, what, true, reader);
  if (!path) return;
  for (const std::string_view tree : {"/proc", "/sys", "/dev"}) {
    const bool inside = *path == tree || StartsWith(*path, std::string(tree) + "/");
    if (!inside || StartsWith(*path, "/dev/shm/")) continue;
    reader->Error(node, "'" + std::string(what) + "' lies in " + std::string(tree),
                  "Name a folder that holds files");
    return;
  }
  spec->checkpoints.path = *path;
  spec->checkpoints.path_given = true;
}

void ReadCheckpoints(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  if (!reader->ExpectMap(node, "checkpoints")) return;
  reader->ReadMap(
      node, "checkpoints",
      {{"path",
        [&](const YamlNode& v) { ReadCheckpointPath(v, "checkpoints.path", reader, spec); }},
       {"keep",
        [&](const YamlNode& v) {
          if (const auto keep = ReadKeep(v, "checkpoints.keep", reader)) {
            spec->checkpoints.keep = *keep;
          }
        }},
       {"quiet",
        [&](const YamlNode& v) {
          const auto quiet =
              reader->Length(v, "checkpoints.quiet", Duration::Ms(100), Duration::Hours(1));
          if (quiet) spec->checkpoints.quiet = *quiet;
        }},
       {"signal", [&](const YamlNode& v) { ReadSignal(v, reader, spec); }},
       {"complete", [&](const YamlNode& v) { ReadComplete(v, reader, spec); }},
       {"every", [&](const YamlNode& v) { ReadEvery(v, reader); }}},
      RefusedCheckpointKeys());
}

namespace {

// "5%", or 5.
std::optional<int> ReadPercent(const YamlNode& node, std::string_view what, SpecReader* reader) {
  YamlNode number = node;
  if (number.IsScalar() && EndsWith(number.text, "%")) number.text.pop_back();
  const auto percent = WholeNumber(number.text, 1, 100);
  if (number.IsScalar() && percent) return static_cast<int>(*percent);
  reader->Error(node, "'" + std::string(what) + "' must be a percentage from 1% to 100%");
  return std::nullopt;
}

// {below: 5%, for: 30m}, or the time alone.
void ReadIdleGpu(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  IdleGpuSpec idle;
  std::optional<Duration> span;
  if (!node.IsMap()) {
    span = ReadLimit(node, "limits.idle_gpu", reader);
  } else {
    bool given = false;
    reader->ReadMap(node, "limits.idle_gpu",
                    {{"below",
                      [&](const YamlNode& v) {
                        if (const auto below = ReadPercent(v, "limits.idle_gpu.below", reader)) {
                          idle.below = *below;
                        }
                      }},
                     {"for",
                      [&](const YamlNode& v) {
                        given = true;
                        span = ReadLimit(v, "limits.idle_gpu.for", reader);
                      }}},
                    {});
    if (!given) {
      reader->Error(node, "'limits.idle_gpu' does not say for how long",
                    "Write {below: 5%, for: 30m}");
    }
  }
  if (!span) return;
  idle.span = *span;
  spec->limits.idle_gpu = idle;
}

}  // namespace

void ReadLimits(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  if (!reader->ExpectMap(node, "limits")) return;
  reader->ReadMap(
      node, "limits",
      {{"max_duration",
        [&](const YamlNode& v) {
          spec->limits.max_duration = ReadLimit(v, "limits.max_duration", reader);
        }},
       {"stall",
        [&](const YamlNode& v) { spec->limits.stall = ReadLimit(v, "limits.stall", reader); }},
       {"idle_gpu", [&](const YamlNode& v) { ReadIdleGpu(v, reader, spec); }},
       {"kept_size",
        [&](const YamlNode& v) {
          spec->limits.kept_size = ReadKeptSize(v, "limits.kept_size", reader);
        }},
       {"kept_files",
        [&](const YamlNode& v) {
          spec->limits.kept_files = ReadKeptFiles(v, "limits.kept_files", reader);
        }}},
      RefusedLimitKeys());
}

void ReadConfig(const YamlNode& node, bool here, SpecReader* reader, JobSpec* spec) {
  if (!reader->ExpectMap(node, "config")) return;
  const auto read_stoker = [&](const YamlNode& own) {
    if (!reader->ExpectMap(own, "config.stoker")) return;
    const auto read_ending = [&](const YamlNode& v) {
      if (const auto e = ReadEnding(v, "config.stoker.ending", reader)) spec->ending = *e;
    };
    reader->ReadMap(own, "config.stoker", {{"ending", read_ending}}, {});
  };
  std::vector<std::string_view> ignored;
  if (here) ignored = MachineConfigKeys();
  RefusedKeys refused = RefusedConfigKeys();
  for (const auto& [key, why] : PlaceConfigKeys()) {
    if (here) ignored.push_back(key);
    refused.emplace(key, why);
  }
  std::vector<SpecField> fields = reader->IgnoredFields("config", ignored);
  fields.push_back({"stoker", read_stoker});
  reader->ReadMap(node, "config", fields, refused);
}

std::optional<RecoveryMode> ReadRecovery(const YamlNode& node, std::string_view what,
                                         SpecReader* reader) {
  const auto mode = reader->Choice(node, what, {"node", "controller"});
  if (!mode) return std::nullopt;
  return *mode == "node" ? RecoveryMode::kNode : RecoveryMode::kController;
}

std::optional<int> ReadNumNodes(const YamlNode& node, std::string_view what, SpecReader* reader) {
  const auto n = reader->Integer(node, what, 1, kMaxNodes);
  return n ? std::optional<int>(static_cast<int>(*n)) : std::nullopt;
}

std::optional<int> ReadKeep(const YamlNode& node, std::string_view what, SpecReader* reader) {
  const auto n = reader->Integer(node, what, 0, kMaxCount);
  return n ? std::optional<int>(static_cast<int>(*n)) : std::nullopt;
}

std::optional<int> ReadRestarts(const YamlNode& node, std::string_view what, SpecReader* reader) {
  const auto n = reader->Integer(node, what, 0, kMaxCount);
  return n ? std::optional<int>(static_cast<int>(*n)) : std::nullopt;
}

std::optional<std::string> ReadEnding(const YamlNode& node, std::string_view what,
                                      SpecReader* reader) {
  return reader->Choice(node, what, {"pidns", "cgroup", "subreaper"});
}

std::optional<Duration> ReadLimit(const YamlNode& node, std::string_view what, SpecReader* reader) {
  return reader->Length(node, what, Duration::Ms(1), Duration::Hours(24LL * 36'500));
}

std::optional<int64_t> ReadKeptSize(const YamlNode& node, std::string_view what,
                                    SpecReader* reader) {
  const std::optional<std::string> text = reader->Line(node, what);
  if (!text) return std::nullopt;
  const Result<int64_t> size = ParseSize(*text);
  if (size.ok()) return *size;
  reader->Error(node, "'" + std::string(what) + "' is not a size: " + Quoted(*text),
                "Write a number and a unit: 500MB, 2GiB");
  return std::nullopt;
}

std::optional<int64_t> ReadKeptFiles(const YamlNode& node, std::string_view what,
                                     SpecReader* reader) {
  return reader->Integer(node, what, 0, kMaxCount);
}

std::optional<Duration> ReadKeepFailed(const YamlNode& node, SpecReader* reader) {
  return reader->Length(node, "keep_failed", Duration::Minutes(1), Duration::Hours(24));
}

std::optional<Duration> ReadGrace(const YamlNode& node, std::string_view what, SpecReader* reader) {
  return reader->Length(node, what, Duration::Ms(0), Duration::Hours(24));
}

}  // namespace stoker
