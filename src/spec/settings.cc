// SPDX-License-Identifier: Apache-2.0
#include "spec/settings.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/text.h"
#include "container/image_ref.h"
#include "spec/places/sections.h"
#include "spec/sections.h"
#include "spec/text/host_words.h"
#include "spec/text/infra.h"
#include "spec/text/json_text.h"
#include "spec/text/shell_env.h"

namespace stoker {
namespace {

// "s3://bucket", "gs://bucket/prefix". What names a bucket may have, store/ knows.
void ReadBucket(const YamlNode& node, const std::string& text, SpecReader* reader, Settings* s) {
  const size_t scheme_end = text.find("://") + 3;
  const std::string scheme = text.substr(0, scheme_end);
  if (scheme != "s3://" && scheme != "gs://") {
    reader->Error(node, "'store' cannot be " + Quoted(text),
                  "Write s3://bucket/prefix, gs://bucket/prefix, or the absolute path of a folder");
    return;
  }
  std::string rest = text.substr(scheme_end);
  while (EndsWith(rest, "/")) rest.pop_back();
  if (!IsSafeRelativePath(rest) || rest.find_first_of(" ?#@:") < rest.find('/')) {
    reader->Error(node, "'store' names no bucket: " + Quoted(text),
                  "Write " + scheme + "bucket/prefix");
    return;
  }
  s->store = scheme + rest;
}

void ReadStore(const YamlNode& node, const std::string& home, SpecReader* reader, Settings* s) {
  std::optional<std::string> line = reader->Line(node, "store");
  if (!line) return;
  std::string path = *line;
  if (path.find("://") != std::string::npos) return ReadBucket(node, path, reader, s);
  if (!home.empty() && (path == "~" || StartsWith(path, "~/"))) path = home + path.substr(1);
  if (path[0] != '/') {
    reader->Error(node, "'store' must be an absolute path, not " + Quoted(path),
                  "Begin with '/' or '~/'");
    return;
  }
  std::string clean;
  for (const std::string& part : Split(path, '/')) {
    if (part == "..") {
      reader->Error(node, "'store' holds '..': " + Quoted(path), "Write the path without it");
      return;
    }
    if (!part.empty() && part != ".") clean += "/" + part;
  }
  if (clean.empty()) {
    reader->Error(node, "'store' is the whole file system", "Name a folder");
    return;
  }
  s->store = clean;
}

constexpr size_t kMaxMe = 64;
constexpr char kPools[] = "pools.";

// One setting: how it is read, shown and removed.
struct Setting {
  SettingKey key;
  std::function<void(const YamlNode&, const std::string& home, SpecReader*, Settings*)> read;
  std::function<std::string(const Settings&)> show;  // "" = not set
  std::function<void(Settings*)> unset;
};

std::string ShowRecovery(const Settings& s) {
  if (!s.recovery) return "";
  return *s.recovery == RecoveryMode::kNode ? "node" : "controller";
}

using Home = const std::string&;

Setting StoreSetting() {
  return {{"store", "the folder that holds every job's record, logs and checkpoints",
           "~/.local/share/stoker"},
          ReadStore,
          [](const Settings& s) { return s.store; },
          [](Settings* s) { s->store.clear(); }};
}

Setting InfraSetting() {
  return {{"resources.infra", "where jobs run when neither file nor flag says it", kThisMachine},
          [](const YamlNode& v, Home, SpecReader* r, Settings* s) {
            JobSpec spec;
            const size_t before = r->errors().size();
            ReadInfra(v, "resources.infra", r, &spec);
            if (r->errors().size() == before) s->infra = spec.resources.infra;
          },
          [](const Settings& s) { return s.infra.value_or(""); },
          [](Settings* s) { s->infra.reset(); }};
}

Setting KeepSetting() {
  return {{"checkpoints.keep", "how many checkpoints to keep; 0 = all", "3"},
          [](const YamlNode& v, Home, SpecReader* r, Settings* s) {
            if (const auto keep = ReadKeep(v, "checkpoints.keep", r)) s->keep = keep;
          },
          [](const Settings& s) { return s.keep ? std::to_string(*s.keep) : std::string(); },
          [](Settings* s) { s->keep.reset(); }};
}

Setting ShellSetting() {
  return {{"shell_env", "variables of your shell that go with jobs on this machine",
           "docs/environment.md lists them"},
          [](const YamlNode& v, Home, SpecReader* r, Settings* s) {
            const auto line = r->Line(v, "shell_env");
            if (!line) return;
            const auto choice = ReadShellChoice(*line);
            if (!choice.ok()) {
              r->Error(v, choice.status().message(), choice.status().next());
            } else {
              s->shell_env = *line;
            }
          },
          [](const Settings& s) { return s.shell_env; },
          [](Settings* s) { s->shell_env.clear(); }};
}

Setting RegistrySetting() {
  return {{"registry",
           "where images of a 'dockerfile' are pushed to, HOST/REPOSITORY, in the place "
           "of the store",
           "none"},
          [](const YamlNode& v, Home, SpecReader* r, Settings* s) {
            const auto line = r->Line(v, "registry");
            if (!line) return;
            if (IsRepositoryName(*line)) {
              s->registry = *line;
            } else {
              r->Error(v, "'registry' names no repository of images: " + Quoted(*line),
                       "Write HOST/NAME, without tag and digest: registry.example.org/team/stoker");
            }
          },
          [](const Settings& s) { return s.registry; },
          [](Settings* s) { s->registry.clear(); }};
}

Setting MeSetting() {
  return {
      {"me", "who you are in records: the same id on each of your computers", "made at first use"},
      [](const YamlNode& v, Home, SpecReader* r, Settings* s) {
        const auto line = r->Line(v, "me");
        if (!line) return;
        if (IsSafeName(*line) && line->size() <= kMaxMe) {
          s->me = *line;
        } else {
          r->Error(v, "'me' is no id of a person: " + Quoted(*line),
                   "Write what 'stoker config get me' prints on your other computer");
        }
      },
      [](const Settings& s) { return s.me; },
      [](Settings* s) { s->me.clear(); }};
}

// As the job file has it; in one value for `stoker config set`, a list in YAML.
Setting NotifySetting() {
  return {
      {"notify", "who is told of events of jobs that do not say it: docs/job-file.md", "nobody"},
      [](const YamlNode& v, Home, SpecReader* r, Settings* s) {
        YamlNode list = v;
        if (v.IsScalar()) list = ParseYamlTree(v.text, "notify", &r->errors());
        JobSpec spec;
        const size_t before = r->errors().size();
        ReadNotify(list, Judge::kSubmitted, r, &spec);
        if (r->errors().size() == before) s->notify = spec.notify;
      },
      [](const Settings& s) {
        std::vector<std::string> all;
        for (const NotifySpec& one : s.notify) all.push_back(NotifyText(one));
        return all.empty() ? std::string() : "[" + Join(all, ", ") + "]";
      },
      [](Settings* s) { s->notify.clear(); }};
}

// A pool is named by its owner.
Setting PoolSetting(const std::string& name) {
  return {{kPools + name, "machines that ssh reaches, for infra: ssh/" + name, "none"},
          [=](const YamlNode& v, Home, SpecReader* r, Settings* s) {
            s->pools[name] = ReadHosts(v, kPools + name, r);
          },
          [=](const Settings& s) {
            const auto found = s.pools.find(name);
            return found == s.pools.end() ? "" : Join(found->second, ", ");
          },
          [=](Settings* s) { s->pools.erase(name); }};
}

std::optional<Setting> FindPool(std::string_view name) {
  const std::string pool(name.substr(std::min(name.size(), std::string_view(kPools).size())));
  if (!StartsWith(name, kPools) || !IsSafeName(pool)) return std::nullopt;
  return PoolSetting(pool);
}

// Of a single provider.
Setting OfPlace(const PlaceSetting& one) {
  const std::string name = one.name;
  return {{name, one.meaning, one.built_in},
          [=](const YamlNode& v, Home, SpecReader* r, Settings* s) {
            const auto line = r->Line(v, name);
            if (!line) return;
            if (one.fits(*line)) {
              s->places[name] = *line;
            } else {
              r->Error(v, "'" + name + "' cannot be " + Quoted(*line), one.write);
            }
          },
          [=](const Settings& s) { return s.Of(name); },
          [=](Settings* s) { s->places.erase(name); }};
}

using Bound = std::optional<int64_t>;
using ReadBound = Bound (*)(const YamlNode&, std::string_view, SpecReader*);

// Of what jobs keep of files that nobody declared.
Setting KeptSetting(const SettingKey& key, Bound Settings::*bound, ReadBound read) {
  const std::string name = key.name;
  return {key,
          [=](const YamlNode& v, Home, SpecReader* r, Settings* s) {
            if (const Bound value = read(v, name, r)) s->*bound = value;
          },
          [=](const Settings& s) { return s.*bound ? std::to_string(*(s.*bound)) : std::string(); },
          [=](Settings* s) { (s->*bound).reset(); }};
}

const std::vector<Setting>& AllSettings() {
  static const std::vector<Setting> all = [] {
    std::vector<Setting> settings = {
        StoreSetting(),
        InfraSetting(),
        {{"recovery", "who may start a replacement machine: node or controller", "node"},
         [](const YamlNode& v, Home, SpecReader* r, Settings* s) {
           if (const auto mode = ReadRecovery(v, "recovery", r)) s->recovery = mode;
         },
         ShowRecovery,
         [](Settings* s) { s->recovery.reset(); }},
        KeepSetting(),
        {{"stop_grace", "time between SIGTERM and SIGKILL", "30s"},
         [](const YamlNode& v, Home, SpecReader* r, Settings* s) {
           if (const auto grace = ReadGrace(v, "stop_grace", r)) s->stop_grace = grace;
         },
         [](const Settings& s) {
           return s.stop_grace ? FormatDuration(*s.stop_grace) : std::string();
         },
         [](Settings* s) { s->stop_grace.reset(); }},
        ShellSetting(),
        RegistrySetting(),
        NotifySetting(),
        MeSetting(),
        KeptSetting({"limits.kept_size",
                     "without 'outputs': how much is kept of what a program made", "2GiB"},
                    &Settings::kept_size, ReadKeptSize),
        KeptSetting({"limits.kept_files", "the same as a number of files; 0 = none", "10000"},
                    &Settings::kept_files, ReadKeptFiles),
        {{"color", "colour in output: auto, always or never", "auto"},
         [](const YamlNode& v, Home, SpecReader* r, Settings* s) {
           if (const auto word = r->Choice(v, "color", {"auto", "always", "never"}))
             s->color = *word;
         },
         [](const Settings& s) { return s.color; },
         [](Settings* s) { s->color.clear(); }},
    };
    for (const PlaceSection& section : AllPlaceSections()) {
      for (const PlaceSetting& one : section.settings) settings.push_back(OfPlace(one));
    }
    return settings;
  }();
  return all;
}

std::optional<Setting> Find(std::string_view name) {
  for (const Setting& setting : AllSettings()) {
    if (setting.key.name == name) return setting;
  }
  return FindPool(name);
}

std::string NearestHint(const std::string& name) {
  std::vector<std::string> names;
  for (const Setting& setting : AllSettings()) names.push_back(setting.key.name);
  names.push_back(std::string(kPools) + "NAME");
  const std::string near = Nearest(name, names);
  return near.empty() ? "Known: " + Join(names, ", ") : "Did you mean '" + near + "'?";
}

Status UnknownSetting(std::string_view name) {
  return Status(Code::kUsage, "unknown setting " + Quoted(name), NearestHint(std::string(name)));
}

bool IsSection(const std::string& name) {
  const auto& all = AllSettings();
  return std::any_of(all.begin(), all.end(), [&](const Setting& setting) {
    return StartsWith(setting.key.name, name + ".");
  });
}

void ReadSettingsMap(const YamlNode& node, const std::string& prefix, const std::string& home,
                     SpecReader* reader, Settings* settings) {
  for (const YamlEntry& entry : node.entries) {
    const std::string name = prefix + entry.key.text;
    if (const auto setting = Find(name)) {
      if (entry.value.IsNull()) {
        reader->Error(entry.key, "'" + name + "' has no value", "Give it one, or remove the key");
      } else {
        setting->read(entry.value, home, reader, settings);
      }
    } else if (IsSection(name) || name + "." == kPools) {
      if (reader->ExpectMap(entry.value, name)) {
        ReadSettingsMap(entry.value, name + ".", home, reader, settings);
      }
    } else if (name == "profiles" || prefix == "resources.") {
      reader->Error(entry.key, "'" + name + "' is understood but not built yet as a setting",
                    "Remove it");
    } else {
      reader->Error(entry.key, "unknown setting " + Quoted(name), NearestHint(name));
    }
  }
}

}  // namespace

const std::vector<SettingKey>& SettingKeys() {
  static const std::vector<SettingKey> keys = [] {
    std::vector<SettingKey> out;
    for (const Setting& setting : AllSettings()) out.push_back(setting.key);
    return out;
  }();
  return keys;
}

std::vector<SettingKey> SettingKeys(const Settings& settings) {
  std::vector<SettingKey> keys = SettingKeys();
  for (const auto& [name, hosts] : settings.pools) keys.push_back(PoolSetting(name).key);
  return keys;
}

Result<Settings> ParseSettings(std::string_view text, const std::string& file_name,
                               const std::string& home) {
  SpecReader reader(file_name);
  Settings settings;
  const YamlNode root = ParseYamlTree(text, file_name, &reader.errors());
  if (reader.errors().empty() && root.IsMap()) {
    ReadSettingsMap(root, "", home, &reader, &settings);
  } else if (reader.errors().empty() && !root.IsNull()) {
    reader.Error(root, "settings are a map of keys, not " + Describe(root),
                 "Begin with a key: 'store: /path'");
  }
  if (!reader.errors().empty()) return ErrorsToStatus(reader.errors());
  return settings;
}

std::string PrintSettings(const Settings& settings) {
  std::string out;
  std::string section;
  std::vector<Setting> all = AllSettings();
  for (const auto& [name, hosts] : settings.pools) all.push_back(PoolSetting(name));
  for (const Setting& setting : all) {
    const std::string value = setting.show(settings);
    if (value.empty()) continue;
    std::string name = setting.key.name;
    const size_t dot = name.find('.');
    const std::string its = dot == std::string::npos ? "" : name.substr(0, dot);
    if (!its.empty() && its != section) out += its + ":\n";
    section = its;
    if (!its.empty()) name = "  " + name.substr(dot + 1);
    const bool quoted = setting.key.name == "store" || setting.key.name == "shell_env" ||
                        StartsWith(setting.key.name, kPools);
    out += name + ": " + (quoted ? JsonString(value) : value) + "\n";
  }
  return out;
}

Result<std::string> GetSetting(const Settings& settings, std::string_view name) {
  const auto setting = Find(name);
  if (!setting) return UnknownSetting(name);
  return setting->show(settings);
}

Status SetSetting(Settings* settings, std::string_view name, const std::string& value,
                  const std::string& home) {
  const auto setting = Find(name);
  if (!setting) return UnknownSetting(name);
  YamlNode node;
  node.kind = YamlNode::Kind::kScalar;
  node.text = value;
  SpecReader reader(std::string{name});
  Settings changed = *settings;
  setting->read(node, home, &reader, &changed);
  if (!reader.errors().empty()) return ErrorsToStatus(reader.errors());
  *settings = std::move(changed);
  return Status::Ok();
}

Status UnsetSetting(Settings* settings, std::string_view name) {
  const auto setting = Find(name);
  if (!setting) return UnknownSetting(name);
  setting->unset(settings);
  return Status::Ok();
}

}  // namespace stoker
