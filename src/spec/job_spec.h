// SPDX-License-Identifier: Apache-2.0
// What the user wrote: immutable once submitted, named by its digest. Plain data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "container/container_spec.h"
#include "spec/places/sections.h"
#include "spec/text/infra.h"

namespace stoker {

struct CheckpointSpec {
  std::string path = "checkpoints";  // relative to the working directory, or absolute
  bool path_given = false;           // false: the default folder, watched when the program makes it
  int keep = 3;                      // newest N stay whole; 0 = all
  Duration quiet = Duration::Seconds(2);  // a unit unchanged for this long has settled
  std::string signal;    // e.g. "SIGUSR1": sent at a notice to programs that handle it
  std::string complete;  // name of the file that each save's folder ends with; "" = none is said
  bool operator==(const CheckpointSpec&) const = default;
};

// A channel: data that the program finds on every node before it starts.
struct InputSpec {
  std::string name;    // letters, digits, '-' and '_'; of each channel another ChannelVariable
  std::string source;  // "s3://…", "gs://…", or an absolute path on the submitting machine
  bool operator==(const InputSpec&) const = default;
};

// What is kept of the files that the program makes.
struct OutputSpec {
  std::string path;  // relative to the working directory, or a pattern; with folders all in them
  bool required = false;  // the job fails when it never came
  bool IsPattern() const { return path.find_first_of("*?[") != std::string::npos; }
  bool operator==(const OutputSpec&) const = default;
};

// A number in a line of the log, as SageMaker's MetricDefinitions have it.
struct MetricSpec {
  std::string name;
  std::string regex;  // RE2's; its first group is the number
  bool operator==(const MetricSpec&) const = default;
};

// What ends the run, or is only said, once its metrics show it.
struct StopRuleSpec {
  std::string rule;  // as RuleText in metrics/rules/rule.h has it
  bool warn = false;
  bool operator==(const StopRuleSpec&) const = default;
};

// What the program finds in a variable, and no ledger holds.
struct SecretSpec {
  std::string name;  // of the variable
  std::string from;  // where it lies already (spec/text/secret_reference.h); "" = the submitter's
  bool operator==(const SecretSpec&) const = default;
};

struct RecoverySpec {  // job_recovery, as SkyPilot means it
  // "", "FAILOVER" or "EAGER_NEXT_REGION": which region comes first; the same where there is one.
  std::string strategy;
  int max_restarts_on_errors = 0;
  std::vector<int> recover_on_exit_codes;  // these do not count against max_restarts_on_errors
  bool operator==(const RecoverySpec&) const = default;
};

// No GPU that a node has for this job was ever busier than `below` for so long.
struct IdleGpuSpec {
  static constexpr int kBelow = 5;
  int below = kBelow;  // percent, 1-100
  Duration span;       // > 0
  bool operator==(const IdleGpuSpec&) const = default;
};

// A script of the job's own, run on each of its nodes beside what stoker does.
struct HookSpec {
  static constexpr Duration kLimit = Duration::Seconds(30);
  std::string run;          // shell; "" = none
  Duration limit = kLimit;  // > 0; its processes are ended then
  bool operator==(const HookSpec&) const = default;
};

struct HooksSpec {
  HookSpec on_notice;   // the machine is to be taken, or the job moves
  HookSpec on_failure;  // the program has failed by itself
  HookSpec on_end;      // the program has ended and its machine stays: it succeeded, failed, was
                        // stopped
  bool operator==(const HooksSpec&) const = default;
};

struct HookName {
  const char* name;  // as the job file has it
  HookSpec HooksSpec::*which;
};
inline constexpr HookName kHookNames[] = {{"on_notice", &HooksSpec::on_notice},
                                          {"on_failure", &HooksSpec::on_failure},
                                          {"on_end", &HooksSpec::on_end}};

// Whom what is told of the job.
struct NotifySpec {
  static constexpr Duration kNoMachine = Duration::Minutes(15);
  std::string kind;                  // "webhook", "slack", "ntfy", "sns", "pubsub"
  std::string to;                    // a URL; "$NAME", of a secret that is one; a topic's name
  std::vector<std::string> on;       // of kNotifyEvents, in their order; never empty
  Duration no_machine = kNoMachine;  // so long without a machine is an event
  bool operator==(const NotifySpec&) const = default;
};
inline constexpr std::string_view kNotifyEvents[] = {"end", "failure", "interruption", "no_machine",
                                                     "rule"};

// "slack https://hooks.example.com/…", "webhook $HOOK": of a URL the host alone, since the rest of
// it lets in whoever has it.
std::string Whom(const NotifySpec& to);
// Whether a secret has to be known for as long as events are told.
inline bool TellsBySecret(const std::vector<NotifySpec>& notify) {
  for (const NotifySpec& one : notify) {
    if (one.to[0] == '$') return true;
  }
  return false;
}
inline bool IsAddress(const std::vector<NotifySpec>& notify, const std::string& secret) {
  for (const NotifySpec& one : notify) {
    if (one.to == "$" + secret) return true;
  }
  return false;
}

// Lines of the log in the log that the cloud of the machines keeps, beside the ledger's own.
struct LogsSpec {
  static constexpr int kDays = 30;
  bool cloud = false;
  std::optional<int> days;  // that such a log keeps them; unset: kDays, where that can be said
  bool operator==(const LogsSpec&) const = default;
};

struct LimitsSpec {
  std::optional<Duration> max_duration;  // of program time, over all attempts
  std::optional<Duration> stall;         // no log line and no checkpoint for this long
  std::optional<IdleGpuSpec> idle_gpu;
  // Where no outputs are given, the most that is kept of what the program made.
  std::optional<int64_t> kept_size;   // bytes; 0 = nothing
  std::optional<int64_t> kept_files;  // 0 = nothing
  bool operator==(const LimitsSpec&) const = default;
};

struct ResourcesSpec {
  std::string infra = kThisMachine;  // as spec/text/infra.h has it
  bool use_spot = false;
  std::map<std::string, std::string> labels;
  // Of each node. Unset: what the place has, or gives to who asks for nothing.
  std::optional<int64_t> cpus;    // in thousandths; > 0
  std::optional<int64_t> memory;  // bytes; > 0
  std::optional<int> gpus;        // 0 = none
  std::string gpu_name;           // "" = any
  std::vector<int> gpu_numbers;   // these of the machine; `gpus` is how many they are
  int priority = 0;               // higher is first
  // Of a machine that a cloud makes. "" or unset: the cheapest that fits, the usual image and disk.
  std::string instance_type;
  std::string image_id;  // an id, or "ssm:" and a parameter that holds one
  std::optional<int64_t> disk_gib;
  bool operator==(const ResourcesSpec&) const = default;
};

enum class RecoveryMode { kNode, kController };

// What becomes of a machine whose power its platform or a person turns off, and whose disk stays.
enum class OnStop { kReplace, kRestart };

struct JobSpec {
  std::string name;     // IsSafeName
  std::string workdir;  // absolute on the submitting machine; "" = none
  // Patterns of an ignore file: what of the work directory goes along though one ignores it.
  std::vector<std::string> include;
  int num_nodes = 1;
  ResourcesSpec resources;
  // any_of or ordered: none, or two and more, each whole; see spec/choices.h. `resources` is then
  // what was written beside them, at the place of the first.
  std::vector<ResourcesSpec> choices;
  bool ordered = false;  // as they are written, not the cheapest first
  std::vector<std::pair<std::string, std::string>> envs;  // in the order written
  std::vector<SecretSpec> secrets;
  bool whole_shell = false;  // all variables of the submitting shell go along, in no ledger either
  std::vector<std::pair<std::string, std::string>> hyperparameters;  // value: compact JSON text
  std::string setup;                                                 // shell; "" = none
  // What setup makes is kept and used again, as long as these of the work directory and its text
  // are the same; unset: it runs each time.
  std::optional<std::vector<std::string>> setup_cache;
  std::string run;                // shell; exactly one of run and argv is set
  std::vector<InputSpec> inputs;  // in the order written
  std::vector<std::string> argv;  // the one-line form: executed as is, no shell
  ContainerSpec container;        // what setup and program run in; no image: the machine itself
  CheckpointSpec checkpoints;
  std::vector<OutputSpec> outputs;
  bool outputs_given = false;       // false: what the program made or changed is kept at its end
  std::vector<MetricSpec> metrics;  // none: what metrics/log_lines.h knows by itself
  std::vector<StopRuleSpec> stop_when;
  std::string tensorboard;     // the only folder with event files; "" = any
  bool wandb_one_run = false;  // all attempts are one run of W&B's: contract/environment.h
  LimitsSpec limits;
  HooksSpec hooks;
  LogsSpec logs;
  std::vector<NotifySpec> notify;
  RecoverySpec job_recovery;
  PlaceSections sections;  // what single providers are asked for besides `resources`
  RecoveryMode recovery = RecoveryMode::kNode;
  OnStop on_stop = OnStop::kReplace;
  Duration stop_grace = Duration::Seconds(30);  // SIGTERM to SIGKILL
  // So long the machines of a job that failed stay, where a cloud lends them.
  std::optional<Duration> keep_failed;
  std::string ending;  // "", "pidns", "cgroup", "subreaper" (config.stoker.ending)
  bool operator==(const JobSpec&) const = default;
};

inline bool HasSecret(const JobSpec& spec, const std::string& name) {
  return std::any_of(spec.secrets.begin(), spec.secrets.end(),
                     [&](const SecretSpec& one) { return one.name == name; });
}
// Of those whose values are the submitter's.
inline std::vector<std::string> OwnSecretNames(const JobSpec& spec) {
  std::vector<std::string> names;
  for (const SecretSpec& one : spec.secrets) {
    if (one.from.empty()) names.push_back(one.name);
  }
  return names;
}

// What the name of a channel becomes in the name of a variable: "val-1" is "VAL_1". As SageMaker's
// SM_CHANNEL_<NAME> is made by its training toolkit (sagemaker_training.environment).
inline std::string ChannelVariable(std::string name) {
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (c == '-') c = '_';
  }
  return name;
}

}  // namespace stoker
