// SPDX-License-Identifier: Apache-2.0
// The job file: YAML text to JobSpec, with every mistake named. Pure: what it must know of the
// machine comes in with the options. docs/job-file.md is its reference.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "spec/job_spec.h"
#include "spec/settings.h"
#include "spec/text/spec_error.h"

namespace stoker {

// Flags of `stoker run`, as written; they win over the file. Absent = not given.
struct SpecOverrides {
  std::optional<std::string> name;           // --name
  std::optional<std::string> workdir;        // --workdir; relative to base_dir
  std::optional<std::string> num_nodes;      // --num-nodes
  std::optional<std::string> infra;          // --infra
  std::optional<bool> use_spot;              // --spot, --no-spot
  std::optional<std::string> cpus;           // --cpus
  std::optional<std::string> memory;         // --memory
  std::optional<std::string> gpus;           // --gpus
  std::optional<std::string> priority;       // --priority
  std::optional<std::string> instance_type;  // --instance-type
  std::optional<std::string> image;          // --image
  std::optional<std::string> disk_size;      // --disk-size
  std::optional<std::string> container;      // --container
  std::vector<std::string> envs;             // --env NAME=VALUE, or NAME alone: see environment
  std::vector<std::string>
      secrets;  // --secret NAME, whose value the caller finds; or NAME=REFERENCE
  std::vector<std::string> hyperparameters;  // --hp NAME=VALUE; VALUE is read as YAML
  std::vector<std::string> inputs;           // --input NAME=SOURCE; a path is relative to base_dir
  std::vector<std::string> outputs;          // --output PATH; added to those of the file
  std::vector<std::string> includes;         // --include PATTERN; added to those of the file
  std::optional<std::string> shell_env;      // --shell-env
  std::vector<std::string> stop_when;        // --stop-when RULE; added to those of the file
  std::optional<std::string> checkpoints;    // --checkpoints PATH
  std::optional<std::string> keep;           // --keep
  std::optional<std::string> max_duration;   // --max-duration
  std::optional<std::string> stall;          // --stall
  std::optional<std::string> recovery;       // --recovery
  std::optional<std::string> stop_grace;     // --stop-grace
  std::optional<std::string> keep_failed;    // --keep-failed
  std::optional<std::string> max_restarts;   // --max-restarts
  std::optional<std::string> ending;         // --ending
  bool operator==(const SpecOverrides&) const = default;
};

struct ParseOptions {
  std::string file_name = "job.yaml";  // as shown in messages
  std::string default_name;  // the job's name when nobody gives one; made safe. "" = "job"
  std::string base_dir;      // absolute; what is relative is below it
  // Where the caller stands, absolute: to say so when SkyPilot would read a path from there. "" =
  // nothing is said.
  std::string standing;
  std::string home;   // absolute; for "~/…" in paths. "" = "~" is refused
  Settings defaults;  // for what neither the file nor a flag says
  SpecOverrides overrides;
  // Whether an absolute path is a directory. Empty = workdir is not checked.
  std::function<bool(const std::string&)> is_directory;
  // Whether there is anything at an absolute path. Empty = sources of inputs are not checked.
  std::function<bool(const std::string&)> exists;
  // The caller's environment, for "--env NAME" without a value. Empty = that form is refused.
  std::function<std::optional<std::string>(const std::string&)> environment;
};

// `errors` empty = `spec` is valid. Otherwise `spec` holds what could be understood.
struct ParsedSpec {
  JobSpec spec;
  std::vector<SpecError> errors;
  // What its owner should know: one sentence each.
  std::vector<std::string> notes;
};

// Never throws; any bytes may come in. Time and memory follow the size of the text.
ParsedSpec ParseJobSpecAll(std::string_view text, const ParseOptions& options);

// The same as one Status: kInvalid, or kUsage when only flags are wrong; one line an error.
Result<JobSpec> ParseJobSpec(std::string_view text, const ParseOptions& options);

// spec.yaml as PrintJobSpec wrote it: what concerned only the submitting machine (is workdir there,
// secrets, reserved names) is not asked again, so that a newer stoker still reads it.
Result<JobSpec> ParseStoredSpec(std::string_view text);

// The one-line form, `stoker run -- PROGRAM ARGUMENT…`: executed as is, without a shell, in
// base_dir (or --workdir). The name is --name, else what the program is called: `train` for
// `python -m pkg.train` and `torchrun --standalone train.py`. `notes`: as those of ParsedSpec.
// kUsage with all mistakes.
Result<JobSpec> SpecFromCommand(const std::vector<std::string>& argv, const ParseOptions& options,
                                std::vector<std::string>* notes = nullptr);

// What the program is called: the script of a known launcher, else the program itself; safe.
std::string NameFromCommand(const std::vector<std::string>& argv);

// The script that a command starts, or the program itself where it is named by a path; "" =
// neither, as with `python -m`.
std::string ProgramFileOf(const std::vector<std::string>& argv);

// The nearest text that IsSafeName accepts; "job" when nothing is left.
std::string SafeNameFrom(std::string_view text);

}  // namespace stoker
