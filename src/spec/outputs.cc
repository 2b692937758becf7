// SPDX-License-Identifier: Apache-2.0
// What is kept of a run. The section `outputs`: paths and patterns of files; `metrics` and
// `tensorboard`, `wandb`: where numbers are found; `stop_when`: rules about them.
#include <algorithm>

#include "base/text.h"
#include "metrics/patterns.h"
#include "metrics/point.h"
#include "metrics/rules/rule.h"
#include "spec/sections.h"

namespace stoker {
namespace {

// Two entries that are paths may not overlap; a pattern says nothing before it is
// matched.
const OutputSpec* Overlapping(const JobSpec& spec, const OutputSpec& output) {
  for (const OutputSpec& other : spec.outputs) {
    const bool same = other.path == output.path;
    const bool paths = !other.IsPattern() && !output.IsPattern();
    const bool nested =
        StartsWith(other.path, output.path + "/") || StartsWith(output.path, other.path + "/");
    if (same || (paths && nested)) return &other;
  }
  return nullptr;
}

bool HasKey(const YamlNode& map, std::string_view key) {
  return std::any_of(map.entries.begin(), map.entries.end(),
                     [&](const YamlEntry& entry) { return entry.key.text == key; });
}

// {path: model.pt, required: true}
void AddOutputMap(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  if (!HasKey(node, "path")) {
    reader->Error(node, "'outputs' must be text, not a map without a path",
                  "Write model.pt, or {path: model.pt, required: true}");
    return;
  }
  bool required = false;
  const YamlNode* path = nullptr;
  reader->ReadMap(node, "outputs",
                  {{"path", [&](const YamlNode& v) { path = &v; }},
                   {"required",
                    [&](const YamlNode& v) {
                      required = reader->Boolean(v, "outputs.required").value_or(false);
                    }}},
                  {});
  if (path == nullptr) return;
  const size_t before = spec->outputs.size();
  AddOutput(*path, "outputs.path", reader, spec);
  if (spec->outputs.size() > before) spec->outputs.back().required = required;
}

}  // namespace

void AddOutput(const YamlNode& node, std::string_view what, SpecReader* reader, JobSpec* spec) {
  const std::optional<std::string> path = ReadPath(node, what, false, reader);
  if (!path) return;
  const OutputSpec output{*path};
  if (const OutputSpec* other = Overlapping(*spec, output)) {
    reader->Error(node,
                  other->path == *path
                      ? "output " + Quoted(*path) + " comes twice"
                      : "outputs " + Quoted(other->path) + " and " + Quoted(*path) + " overlap",
                  "Keep one of them");
    return;
  }
  spec->outputs.push_back(output);
  spec->outputs_given = true;
}

void ReadOutputs(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  if (node.IsMap()) {
    reader->Error(node, "'outputs' is a map: SkyPilot's size estimate is not used here",
                  "Write the folders to keep: [output]");
    return;
  }
  if (node.IsScalar() && !node.text.empty()) return AddOutput(node, "outputs", reader, spec);
  if (!reader->ExpectList(node, "outputs", "[output]")) return;
  if (!reader->ExpectAtMost(node, "outputs", node.items.size(), kMaxOutputs)) return;
  spec->outputs_given = true;
  for (const YamlNode& item : node.items) {
    if (item.IsMap()) {
      AddOutputMap(item, reader, spec);
    } else {
      AddOutput(item, "outputs", reader, spec);
    }
  }
}

void AddInclude(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  const std::optional<std::string> line = reader->Line(node, "include");
  if (!line) return;
  const std::string pattern = StartsWith(*line, "./") ? line->substr(2) : *line;
  const std::string inside = "/" + pattern + "/";
  if (pattern.empty() || pattern[0] == '!' || pattern[0] == '#' || pattern[0] == '~' ||
      inside.find("/../") != std::string::npos) {
    reader->Error(node, "'include' cannot be " + Quoted(*line),
                  "Name what lies in the work directory: data, or '*.bin'; other data belongs "
                  "under 'inputs'");
    return;
  }
  if (!reader->ExpectAtMost(node, "include", spec->include.size() + 1, kMaxIncludes)) return;
  if (std::find(spec->include.begin(), spec->include.end(), pattern) == spec->include.end()) {
    spec->include.push_back(pattern);
  }
}

void ReadInclude(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  if (node.IsScalar() && !node.text.empty()) return AddInclude(node, reader, spec);
  if (!reader->ExpectList(node, "include", "[data]")) return;
  if (!reader->ExpectAtMost(node, "include", node.items.size(), kMaxIncludes)) return;
  for (const YamlNode& item : node.items) AddInclude(item, reader, spec);
}

void ReadShellEnv(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  if (reader->Choice(node, "shell_env", {"all"})) spec->whole_shell = true;
}

namespace {

constexpr size_t kMaxMetrics = 200;
constexpr size_t kMaxRegex = 2000;

void AddMetric(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  if (!reader->ExpectMap(node, "metrics")) return;
  MetricSpec metric;
  const YamlNode* regex = nullptr;
  const auto read_name = [&](const YamlNode& v) {
    metric.name = reader->Line(v, "metrics.name").value_or("");
  };
  const auto read_regex = [&](const YamlNode& v) {
    metric.regex = reader->Line(v, "metrics.regex").value_or("");
    regex = &v;
  };
  // The second pair of names is SageMaker's.
  reader->ReadMap(
      node, "metrics",
      {{"name", read_name}, {"regex", read_regex}, {"Name", read_name}, {"Regex", read_regex}}, {});
  if (metric.name.empty() || metric.regex.empty()) {
    return reader->Error(node, "a metric needs a name and a regex",
                         "Write {name: loss, regex: 'loss: ([0-9.]+)'}");
  }
  if (metric.name.size() > metrics::kMaxName || metric.regex.size() > kMaxRegex) {
    return reader->Error(node, "the metric's name or regex is too long");
  }
  const auto pattern = metrics::Pattern::Make(metric.name, metric.regex);
  if (!pattern.ok()) {
    return reader->Error(*regex, pattern.status().message(), pattern.status().next());
  }
  spec->metrics.push_back(std::move(metric));
}

}  // namespace

void ReadMetrics(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  if (!reader->ExpectList(node, "metrics", "[{name: loss, regex: 'loss: ([0-9.]+)'}]")) return;
  if (!reader->ExpectAtMost(node, "metrics", node.items.size(), kMaxMetrics)) return;
  for (const YamlNode& item : node.items) AddMetric(item, reader, spec);
}

void ReadTensorboard(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  if (const auto path = ReadPath(node, "tensorboard", true, reader)) spec->tensorboard = *path;
}

void ReadWandb(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  const auto one_run = [&](const YamlNode& value) {
    if (const auto on = reader->Boolean(value, "wandb.one_run")) spec->wandb_one_run = *on;
  };
  if (!reader->ExpectMap(node, "wandb")) return;
  reader->ReadMap(node, "wandb", {{"one_run", one_run}}, {});
}

namespace {

// {rule: loss is not finite, action: warn}
void AddStopRuleMap(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  const YamlNode* rule = nullptr;
  bool warn = false;
  reader->ReadMap(node, "stop_when",
                  {{"rule", [&](const YamlNode& v) { rule = &v; }},
                   {"action",
                    [&](const YamlNode& v) {
                      warn = reader->Choice(v, "stop_when.action", {"stop", "warn"}) == "warn";
                    }}},
                  {});
  if (rule == nullptr) {
    return reader->Error(node, "a rule that stops needs 'rule'",
                         "Write {rule: loss is not finite, action: warn}");
  }
  AddStopRule(*rule, warn, reader, spec);
}

}  // namespace

void AddStopRule(const YamlNode& node, bool warn, SpecReader* reader, JobSpec* spec) {
  const auto text = reader->Line(node, "stop_when");
  if (!text) return;
  const metrics::ParsedRule parsed = metrics::ParseRule(*text);
  if (!parsed.rule) {
    // A plain scalar stands in the file as it is; what is quoted, or a flag, may not.
    YamlNode place = node;
    const bool exact = !node.quoted && node.line > 0;
    if (exact) place.column += static_cast<int>(parsed.column) - 1;
    const std::string where =
        exact ? "" : " (column " + std::to_string(parsed.column) + " of the rule)";
    return reader->Error(place, "'stop_when': " + parsed.message + where, parsed.hint);
  }
  const std::string rule = metrics::RuleText(*parsed.rule);
  const bool twice = std::any_of(spec->stop_when.begin(), spec->stop_when.end(),
                                 [&](const StopRuleSpec& one) { return one.rule == rule; });
  if (twice) {
    return reader->Error(node, "the rule " + Quoted(rule) + " comes twice", "Keep one of them");
  }
  if (!reader->ExpectAtMost(node, "stop_when", spec->stop_when.size() + 1, kMaxStopRules)) return;
  spec->stop_when.push_back({rule, warn});
}

void ReadStopWhen(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  if (!reader->ExpectList(node, "stop_when", "[loss is not finite]")) return;
  if (!reader->ExpectAtMost(node, "stop_when", node.items.size(), kMaxStopRules)) return;
  for (const YamlNode& item : node.items) {
    if (item.IsMap()) {
      AddStopRuleMap(item, reader, spec);
    } else {
      AddStopRule(item, false, reader, spec);
    }
  }
}

}  // namespace stoker
