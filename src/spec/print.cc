// SPDX-License-Identifier: Apache-2.0
#include "spec/print.h"

#include <string_view>

#include "base/text.h"
#include "spec/choices.h"
#include "spec/cloud_machine.h"
#include "spec/machine.h"
#include "spec/sections.h"
#include "spec/text/git/repository.h"
#include "spec/text/json_text.h"

namespace stoker {
namespace {

// A script that a literal block holds exactly, so that spec.yaml can be read by people. Everything
// that YAML could trim, fold or normalise goes into quotes instead.
bool FitsLiteralBlock(std::string_view text) {
  if (text.size() < 2 || text.back() != '\n' || text[text.size() - 2] == '\n') return false;
  if (text[0] == ' ' || text[0] == '\t' || text[0] == '\n') return false;
  for (const std::string& line : Split(text.substr(0, text.size() - 1), '\n')) {
    if (line.empty()) continue;
    if (line.back() == ' ' || line.back() == '\t' || line[0] == '\t') return false;
    if (JsonString(line).find("\\u") != std::string::npos) return false;
    if (line.find('\r') != std::string::npos) return false;
  }
  return true;
}

void PrintScript(const std::string& indent, std::string_view key, std::string_view text,
                 std::string* out) {
  *out += indent + std::string(key) + ":";
  if (!FitsLiteralBlock(text)) {
    *out += " " + JsonString(text) + "\n";
    return;
  }
  *out += " |\n";
  for (const std::string& line : Split(text.substr(0, text.size() - 1), '\n')) {
    *out += line.empty() ? "\n" : indent + "  " + line + "\n";
  }
}

std::string List(const std::vector<std::string>& items) {
  std::vector<std::string> quoted;
  for (const std::string& item : items) quoted.push_back(JsonString(item));
  return "[" + Join(quoted, ", ") + "]";
}

void PrintResources(const JobSpec& spec, std::string* out) {
  *out += "resources:\n  infra: " + spec.resources.infra + "\n";
  *out += std::string("  use_spot: ") + (spec.resources.use_spot ? "true" : "false") + "\n";
  if (!spec.resources.labels.empty()) *out += "  labels:\n";
  for (const auto& [key, value] : spec.resources.labels) {
    *out += "    " + JsonString(key) + ": " + JsonString(value) + "\n";
  }
  *out += PrintMachine(spec.resources);
  *out += PrintCloudMachine(spec.resources);
  *out += PrintChoices(spec);
  const RecoverySpec& recovery = spec.job_recovery;
  *out += "  job_recovery:\n";
  if (!recovery.strategy.empty()) *out += "    strategy: " + recovery.strategy + "\n";
  *out += "    max_restarts_on_errors: " + std::to_string(recovery.max_restarts_on_errors) + "\n";
  if (recovery.recover_on_exit_codes.empty()) return;
  std::vector<std::string> codes;
  for (const int code : recovery.recover_on_exit_codes) codes.push_back(std::to_string(code));
  *out += "    recover_on_exit_codes: [" + Join(codes, ", ") + "]\n";
}

void PrintInputs(const JobSpec& spec, std::string* out) {
  if (!spec.inputs.empty()) *out += "inputs:\n";
  for (const InputSpec& input : spec.inputs) {
    *out += "  " + JsonString(input.name) + ": {source: " + JsonString(input.source) +
            ", mode: file}\n";
  }
}

// A list where it can be one: binaries that know no references read it.
void PrintSecrets(const JobSpec& spec, std::string* out) {
  if (spec.secrets.empty()) return;
  const std::vector<std::string> own = OwnSecretNames(spec);
  if (own.size() == spec.secrets.size()) {
    *out += "secrets: " + List(own) + "\n";
    return;
  }
  *out += "secrets:\n";
  for (const SecretSpec& one : spec.secrets) {
    *out += "  " + one.name + ": " + (one.from.empty() ? "null" : JsonString(one.from)) + "\n";
  }
}

void PrintProgram(const JobSpec& spec, std::string* out) {
  if (!spec.envs.empty()) *out += "envs:\n";
  for (const auto& [name, value] : spec.envs) *out += "  " + name + ": " + JsonString(value) + "\n";
  PrintSecrets(spec, out);
  if (spec.whole_shell) *out += "shell_env: all\n";
  if (!spec.hyperparameters.empty()) *out += "hyperparameters:\n";
  for (const auto& [name, json] : spec.hyperparameters) {
    *out += "  " + JsonString(name) + ": " + json + "\n";
  }
  if (spec.setup_cache) {
    *out += "setup:\n";
    PrintScript("  ", "run", spec.setup, out);
    *out += "  cache: " + List(*spec.setup_cache) + "\n";
  } else if (!spec.setup.empty()) {
    PrintScript("", "setup", spec.setup, out);
  }
  if (!spec.run.empty()) PrintScript("", "run", spec.run, out);
  if (!spec.argv.empty()) *out += "command: " + List(spec.argv) + "\n";
}

void PrintHooks(const JobSpec& spec, std::string* out) {
  if (spec.hooks != HooksSpec()) *out += "hooks:\n";
  for (const HookName& name : kHookNames) {
    const HookSpec& hook = spec.hooks.*name.which;
    if (hook.run.empty()) continue;
    *out += std::string("  ") + name.name + ": {run: " + JsonString(hook.run) +
            ", limit: " + FormatDuration(hook.limit) + "}\n";
  }
}

void PrintLogs(const JobSpec& spec, std::string* out) {
  if (!spec.logs.cloud) return;
  const std::string days =
      spec.logs.days ? ", retention: " + std::to_string(*spec.logs.days) + "d" : "";
  *out += "logs: {cloud: true" + days + "}\n";
}

void PrintNotify(const JobSpec& spec, std::string* out) {
  if (!spec.notify.empty()) *out += "notify:\n";
  for (const NotifySpec& one : spec.notify) {
    *out += "  - " + NotifyText(one) + "\n";
  }
}

// An entry that is only a path stays one: binaries that know no maps here read it.
void PrintOutputs(const JobSpec& spec, std::string* out) {
  if (!spec.outputs_given) return;
  std::vector<std::string> items;
  for (const OutputSpec& output : spec.outputs) {
    const std::string path = JsonString(output.path);
    items.push_back(output.required ? "{path: " + path + ", required: true}" : path);
  }
  *out += "outputs: [" + Join(items, ", ") + "]\n";
}

void PrintMetrics(const JobSpec& spec, std::string* out) {
  if (!spec.metrics.empty()) *out += "metrics:\n";
  for (const MetricSpec& metric : spec.metrics) {
    *out +=
        "  - {name: " + JsonString(metric.name) + ", regex: " + JsonString(metric.regex) + "}\n";
  }
  if (!spec.stop_when.empty()) *out += "stop_when:\n";
  for (const StopRuleSpec& one : spec.stop_when) {
    const std::string rule = JsonString(one.rule);
    *out += "  - " + (one.warn ? "{rule: " + rule + ", action: warn}" : rule) + "\n";
  }
  if (!spec.tensorboard.empty()) *out += "tensorboard: " + JsonString(spec.tensorboard) + "\n";
  if (spec.wandb_one_run) *out += "wandb: {one_run: true}\n";
}

}  // namespace

std::string PrintJobSpec(const JobSpec& spec) {
  std::string out = "name: " + JsonString(spec.name) + "\n";
  if (const auto repository = RepositoryOf(spec.workdir)) {
    out += "workdir: {url: " + JsonString(repository->url) +
           (repository->ref.empty() ? "" : ", ref: " + JsonString(repository->ref)) + "}\n";
  } else if (!spec.workdir.empty()) {
    out += "workdir: " + JsonString(spec.workdir) + "\n";
  }
  if (!spec.include.empty()) out += "include: " + List(spec.include) + "\n";
  out += "num_nodes: " + std::to_string(spec.num_nodes) + "\n";
  PrintResources(spec, &out);
  for (const PlaceSection& one : AllPlaceSections()) out += one.print(spec.sections);
  out += PrintContainer(spec);
  PrintInputs(spec, &out);
  PrintProgram(spec, &out);
  out += "checkpoints:\n";
  if (spec.checkpoints.path_given) out += "  path: " + JsonString(spec.checkpoints.path) + "\n";
  out += "  keep: " + std::to_string(spec.checkpoints.keep) + "\n";
  out += "  quiet: " + FormatDuration(spec.checkpoints.quiet) + "\n";
  if (!spec.checkpoints.signal.empty()) out += "  signal: " + spec.checkpoints.signal + "\n";
  if (!spec.checkpoints.complete.empty()) {
    out += "  complete: " + JsonString(spec.checkpoints.complete) + "\n";
  }
  PrintOutputs(spec, &out);
  PrintMetrics(spec, &out);
  if (spec.limits != LimitsSpec()) out += "limits:\n";
  if (spec.limits.max_duration) {
    out += "  max_duration: " + FormatDuration(*spec.limits.max_duration) + "\n";
  }
  if (spec.limits.stall) out += "  stall: " + FormatDuration(*spec.limits.stall) + "\n";
  if (spec.limits.idle_gpu) {
    out += "  idle_gpu: {below: " + std::to_string(spec.limits.idle_gpu->below) +
           "%, for: " + FormatDuration(spec.limits.idle_gpu->span) + "}\n";
  }
  if (spec.limits.kept_size) {
    out += "  kept_size: " + std::to_string(*spec.limits.kept_size) + "\n";
  }
  if (spec.limits.kept_files) {
    out += "  kept_files: " + std::to_string(*spec.limits.kept_files) + "\n";
  }
  PrintHooks(spec, &out);
  PrintLogs(spec, &out);
  PrintNotify(spec, &out);
  out += std::string("recovery: ") +
         (spec.recovery == RecoveryMode::kNode ? "node" : "controller") + "\n";
  if (spec.on_stop == OnStop::kRestart) out += "on_stop: restart\n";
  out += "stop_grace: " + FormatDuration(spec.stop_grace) + "\n";
  if (spec.keep_failed) out += "keep_failed: " + FormatDuration(*spec.keep_failed) + "\n";
  if (!spec.ending.empty()) out += "config:\n  stoker:\n    ending: " + spec.ending + "\n";
  return out;
}

std::string ProgramText(const JobSpec& spec) {
  if (!spec.argv.empty()) {
    std::string text;
    for (const std::string& word : spec.argv) text += (text.empty() ? "" : " ") + Printable(word);
    return text;
  }
  const std::string first = Split(spec.run, '\n')[0];
  return Printable(first) + (spec.run.find('\n') + 1 < spec.run.size() ? " …" : "");
}

}  // namespace stoker
