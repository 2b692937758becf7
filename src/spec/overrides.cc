// SPDX-License-Identifier: Apache-2.0
// Flags over the file, and what is judged when both are known.
#include <algorithm>

#include "base/text.h"
#include "container/image_ref.h"
#include "spec/choices.h"
#include "spec/cloud_machine.h"
#include "spec/machine.h"
#include "spec/parse_state.h"
#include "spec/print.h"
#include "spec/program.h"
#include "spec/sections.h"
#include "spec/text/infra.h"
#include "spec/text/secrets.h"
#include "spec/text/yaml_text.h"

namespace stoker {
namespace {

YamlNode Flag(const std::string& text) {
  YamlNode node;
  node.kind = YamlNode::Kind::kScalar;
  node.text = text;
  return node;
}

// Reads one flag with the reader of its key; mistakes name the flag instead of a place in a file.
template <typename Read>
void ReadFlag(const std::string& flag, ParseState* state, Read read) {
  SpecReader reader(flag);
  read(&reader);
  for (SpecError& error : reader.errors()) {
    error.file = flag;
    error.line = error.column = 0;
    state->reader.errors().push_back(std::move(error));
  }
}

template <typename Read>
void ReadFlag(const std::string& flag, const std::optional<std::string>& text, ParseState* state,
              Read read) {
  if (!text) return;
  ReadFlag(flag, state, [&](SpecReader* reader) { read(Flag(*text), reader); });
}

void ReadEnvFlag(const std::string& text, ParseState* state, SpecReader* reader) {
  const size_t sign = text.find('=');
  const YamlNode key = Flag(text.substr(0, sign));
  if (sign != std::string::npos) {
    const std::string value = text.substr(sign + 1);
    if (value.find('\0') != std::string::npos) {
      reader->Error(key, "the value of " + Quoted(key.text) + " holds a NUL");
      return;
    }
    SetEnv(key, value, key, state->judge, reader, &state->spec);
  } else if (!state->options.environment) {
    reader->Error(key, Quoted(text) + " gives no value", "Write NAME=VALUE");
    return;
  } else if (const auto value = state->options.environment(text)) {
    SetEnv(key, *value, key, state->judge, reader, &state->spec);
  } else {
    reader->Error(key, Quoted(text) + " is not set here", "Write NAME=VALUE, or export it first");
    return;
  }
  state->unset.erase(key.text);
}

void ReadHyperparameterFlag(const std::string& text, ParseState* state, SpecReader* reader) {
  const size_t sign = text.find('=');
  const YamlNode key = Flag(text.substr(0, sign));
  if (sign == std::string::npos) {
    reader->Error(key, Quoted(text) + " gives no value", "Write NAME=VALUE");
    return;
  }
  const std::string value = text.substr(sign + 1);
  YamlNode node = ParseYamlTree(value, "", &reader->errors());
  if (!reader->errors().empty()) return;
  if (value.empty()) {
    node = Flag("");
    node.quoted = true;
  }
  SetHyperparameter(key, node, state->judge, reader, &state->spec);
}

void ReadInputFlag(const std::string& text, ParseState* state, SpecReader* reader) {
  const size_t sign = text.find('=');
  if (sign == std::string::npos) {
    reader->Error(Flag(text), Quoted(text) + " gives no source", "Write NAME=SOURCE");
    return;
  }
  SetInput(Flag(text.substr(0, sign)), Flag(text.substr(sign + 1)), reader, state);
}

void ApplyListFlags(ParseState* state) {
  const SpecOverrides& flags = state->options.overrides;
  for (const std::string& text : flags.envs) {
    ReadFlag("--env", state, [&](SpecReader* reader) { ReadEnvFlag(text, state, reader); });
  }
  for (const std::string& text : flags.secrets) {
    ReadFlag("--secret", state, [&](SpecReader* reader) {
      const size_t sign = std::min(text.find('='), text.size());
      SetSecret(Flag(text.substr(0, sign)), text.substr(std::min(sign + 1, text.size())),
                state->judge, reader, &state->spec);
    });
  }
  for (const std::string& text : flags.hyperparameters) {
    ReadFlag("--hp", state,
             [&](SpecReader* reader) { ReadHyperparameterFlag(text, state, reader); });
  }
  for (const std::string& text : flags.inputs) {
    ReadFlag("--input", state, [&](SpecReader* reader) { ReadInputFlag(text, state, reader); });
  }
  for (const std::string& text : flags.outputs) {
    ReadFlag("--output", state,
             [&](SpecReader* reader) { AddOutput(Flag(text), "outputs", reader, &state->spec); });
  }
  for (const std::string& text : flags.includes) {
    ReadFlag("--include", state,
             [&](SpecReader* reader) { AddInclude(Flag(text), reader, &state->spec); });
  }
  for (const std::string& text : flags.stop_when) {
    ReadFlag("--stop-when", state,
             [&](SpecReader* reader) { AddStopRule(Flag(text), false, reader, &state->spec); });
  }
}

// "{lr}" in the command is what --hp gives; braces of other names are the program's own.
void FillBraces(ParseState* state) {
  for (const std::string& text : state->options.overrides.hyperparameters) {
    const size_t sign = text.find('=');
    if (sign == std::string::npos) continue;
    const std::string name = "{" + text.substr(0, sign) + "}", value = text.substr(sign + 1);
    const auto fill = [&](std::string* in) {
      for (size_t at = in->find(name); at != in->npos; at = in->find(name, at)) {
        if (at > 0 && (*in)[at - 1] == '$') {  // "${lr}" is the shell's
          at += name.size();
          continue;
        }
        in->replace(at, name.size(), value);
        at += value.size();
      }
    };
    for (std::string& argument : state->spec.argv) fill(&argument);
    fill(&state->spec.run);
  }
}

// An argument of the command line may hold any bytes; a text file cannot.
void CheckText(ParseState* state) {
  const auto refuse = [&](const std::string& what) {
    state->reader.errors().push_back({"command line", 0, 0, "", what + " is not UTF-8 text",
                                      "Only text can be kept in the job's record"});
  };
  for (size_t i = 0; i < state->spec.argv.size(); ++i) {
    if (!IsUtf8(state->spec.argv[i])) refuse("argument " + std::to_string(i) + " of the command");
  }
  for (const auto& [name, value] : state->spec.envs) {
    if (!IsUtf8(value)) refuse("the value of the variable " + Quoted(name));
  }
  if (!IsUtf8(state->spec.workdir)) refuse("the path of the work directory");
  for (const std::string& pattern : state->spec.include) {
    if (!IsUtf8(pattern)) refuse("a pattern of --include");
  }
  if (!IsUtf8(state->spec.checkpoints.path)) refuse("the path of the checkpoints");
  for (const InputSpec& input : state->spec.inputs) {
    if (!IsUtf8(input.source)) refuse("the source of the input " + Quoted(input.name));
  }
  for (const OutputSpec& output : state->spec.outputs) {
    if (!IsUtf8(output.path)) refuse("the path of an output");
  }
}

void CheckPaths(ParseState* state) {
  const JobSpec& spec = state->spec;
  const std::string& path = spec.checkpoints.path;
  const YamlNode place = state->PlaceOf("checkpoints");
  const auto within = [](const std::string& inner, const std::string& outer) {
    return inner == outer || StartsWith(inner, outer + "/");
  };
  for (const auto& [output, required] : spec.outputs) {
    if (!within(output, path) && !within(path, output)) continue;
    if (!spec.checkpoints.path_given && output != path) continue;
    state->reader.Error(
        state->PlaceOf("outputs"),
        "output " + Quoted(output) + " and the checkpoints in " + Quoted(path) + " overlap",
        "Checkpoints are kept anyway: name another folder");
  }
  if (!spec.workdir.empty() && path[0] == '/' && within(spec.workdir, path)) {
    state->reader.Error(place, "'checkpoints.path' holds the work directory",
                        "Name a folder for checkpoints alone");
  }
}

// What is stored must be what was understood: proves it instead of trusting that printing, parsing
// and their limits agree for every input.
void CheckCanBeStored(ParseState* state) {
  if (state->judge == Judge::kStored || !state->reader.errors().empty()) return;
  const Result<JobSpec> stored = ParseStoredSpec(PrintJobSpec(state->spec));
  if (stored.ok() && *stored == state->spec) return;
  state->reader.Error(state->PlaceOf(""), "the job is too large or too odd to be kept",
                      stored.ok() ? "Move what is long into files of the work directory"
                                  : stored.status().message().substr(0, 200));
}

bool AnyCloud(const JobSpec& spec) {
  const auto is = [](const ResourcesSpec& one) { return MakesMachines(one.infra); };
  return is(spec.resources) || std::any_of(spec.choices.begin(), spec.choices.end(), is);
}

// One place, said by a flag: those choices of the file that are at it, or none of them.
void NarrowToFlag(ParseState* state) {
  JobSpec* spec = &state->spec;
  if (spec->choices.empty() || !state->reader.errors().empty()) return;
  const std::string key = spec->ordered ? "ordered" : "any_of";
  const std::string infra = spec->resources.infra;
  const size_t before = spec->choices.size();
  NarrowChoices(infra, spec);
  if (spec->choices.size() == before) return;
  state->notes.push_back("--infra " + infra + ": of '" + key + "' only what is there counts");
}

void ReadCloudFlags(ParseState* state) {
  const SpecOverrides& flags = state->options.overrides;
  JobSpec* spec = &state->spec;
  const auto cloud = [spec](const auto& read) {
    return [spec, read](const YamlNode& v, SpecReader* r) {
      if (AnyCloud(*spec)) return read(v, r, spec);
      r->Error(v, "this is for machines that a cloud makes", "Give --infra aws/REGION, too");
    };
  };
  ReadFlag("--instance-type", flags.instance_type, state, cloud(ReadInstanceType));
  ReadFlag("--image", flags.image, state, cloud(ReadImage));
  ReadFlag("--disk-size", flags.disk_size, state, cloud(ReadDiskSize));
}

// In the place of a Dockerfile, too; a login is of one registry.
void ReplaceImage(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  ContainerSpec& container = spec->container;
  const auto before = ParseImageRef(container.image);
  container.dockerfile.clear();
  ReadContainerImage(node, "container", reader, spec);
  const auto now = ParseImageRef(container.image);
  if (!before || !now || before->registry != now->registry) container.login = {};
}

}  // namespace

void ApplyOverrides(ParseState* state) {
  const SpecOverrides& flags = state->options.overrides;
  JobSpec* spec = &state->spec;
  const auto set = [](auto value, auto* target) {
    if (value) *target = *value;
  };
  ReadFlag("--name", flags.name, state, [&](const YamlNode& v, SpecReader* r) {
    if (IsSafeName(v.text)) {
      spec->name = v.text;
    } else {
      r->Error(v, "the name " + Quoted(v.text) + " is not usable as a path or a tag",
               "Use 1 to 64 of letters, digits, '.', '_' and '-': '" + SafeNameFrom(v.text) + "'");
    }
  });
  ReadFlag("--workdir", flags.workdir, state,
           [&](const YamlNode& v, SpecReader* r) { ReadWorkdir(v, r, state); });
  ReadFlag("--num-nodes", flags.num_nodes, state, [&](const YamlNode& v, SpecReader* r) {
    set(ReadNumNodes(v, "num_nodes", r), &spec->num_nodes);
  });
  ReadFlag("--infra", flags.infra, state,
           [&](const YamlNode& v, SpecReader* r) { ReadInfra(v, "resources.infra", r, spec); });
  if (flags.infra) NarrowToFlag(state);
  if (flags.use_spot) spec->resources.use_spot = *flags.use_spot;
  ReadFlag("--cpus", flags.cpus, state,
           [&](const YamlNode& v, SpecReader* r) { ReadCpus(v, r, spec); });
  ReadFlag("--memory", flags.memory, state,
           [&](const YamlNode& v, SpecReader* r) { ReadMemory(v, r, spec); });
  ReadFlag("--gpus", flags.gpus, state,
           [&](const YamlNode& v, SpecReader* r) { ReadGpus(v, "resources.gpus", r, spec); });
  ReadFlag("--priority", flags.priority, state,
           [&](const YamlNode& v, SpecReader* r) { ReadPriority(v, r, spec); });
  ReadFlag("--container", flags.container, state,
           [&](const YamlNode& v, SpecReader* r) { ReplaceImage(v, r, spec); });
  ReadCloudFlags(state);
  OverrideChoices(flags, spec);
  ReadFlag("--checkpoints", flags.checkpoints, state, [&](const YamlNode& v, SpecReader* r) {
    ReadCheckpointPath(v, "checkpoints.path", r, spec);
  });
  ReadFlag("--keep", flags.keep, state, [&](const YamlNode& v, SpecReader* r) {
    set(ReadKeep(v, "checkpoints.keep", r), &spec->checkpoints.keep);
  });
  ReadFlag("--max-duration", flags.max_duration, state, [&](const YamlNode& v, SpecReader* r) {
    set(ReadLimit(v, "limits.max_duration", r), &spec->limits.max_duration);
  });
  ReadFlag("--stall", flags.stall, state, [&](const YamlNode& v, SpecReader* r) {
    set(ReadLimit(v, "limits.stall", r), &spec->limits.stall);
  });
  ReadFlag("--recovery", flags.recovery, state, [&](const YamlNode& v, SpecReader* r) {
    set(ReadRecovery(v, "recovery", r), &spec->recovery);
  });
  ReadFlag("--stop-grace", flags.stop_grace, state, [&](const YamlNode& v, SpecReader* r) {
    set(ReadGrace(v, "stop_grace", r), &spec->stop_grace);
  });
  ReadFlag("--keep-failed", flags.keep_failed, state,
           [&](const YamlNode& v, SpecReader* r) { spec->keep_failed = ReadKeepFailed(v, r); });
  ReadFlag("--max-restarts", flags.max_restarts, state, [&](const YamlNode& v, SpecReader* r) {
    set(ReadRestarts(v, "job_recovery.max_restarts_on_errors", r),
        &spec->job_recovery.max_restarts_on_errors);
  });
  ReadFlag("--ending", flags.ending, state, [&](const YamlNode& v, SpecReader* r) {
    set(ReadEnding(v, "config.stoker.ending", r), &spec->ending);
  });
  ReadFlag("--shell-env", flags.shell_env, state,
           [&](const YamlNode& v, SpecReader* r) { ReadShellEnv(v, r, spec); });
  ApplyListFlags(state);
}

// Machines that nobody lends stay anyway; they are for the next job at once.
void KeepOnlyWhatIsLent(ParseState* state) {
  JobSpec& spec = state->spec;
  if (state->judge == Judge::kStored || !spec.keep_failed || AnyCloud(spec)) return;
  spec.keep_failed.reset();
  state->notes.push_back("keep_failed means nothing here: it is for machines that a cloud lends");
}

void FinishSpec(ParseState* state) {
  JobSpec& spec = state->spec;
  AddNotifySecrets(&spec);
  FinishSecrets(state);
  for (const auto& [name, key] : state->unset) {
    const bool secret = !SecretInEnv(name, "x").empty();
    state->reader.Error(key, "the variable " + Quoted(name) + " has no value",
                        secret ? "Give it with --secret " + name + ", and its value in your shell"
                               : "Give it with --env " + name + "=VALUE");
  }
  const bool has_both = state->places.count("run") > 0 && state->places.count("command") > 0;
  if (has_both) {
    state->reader.Error(state->PlaceOf("command"), "both 'run' and 'command'", "Keep one of them");
  }
  if (!state->has_command && state->reader.errors().empty()) {
    state->reader.Error(state->PlaceOf(""), "there is nothing to run",
                        "Add 'run', the commands that train");
  }
  if (!spec.container.image.empty() && spec.whole_shell) {
    state->reader.Error(state->PlaceOf("shell_env"),
                        "'shell_env: all' with a container: its variables are the image's",
                        "Name what it needs: --env NAME, --secret NAME");
  }
  KeepOnlyWhatIsLent(state);
  if (spec.name.empty()) spec.name = SafeNameFrom(state->options.default_name);
  CheckPaths(state);
  CheckCodeGoesAlong(state);
  FillBraces(state);
  CheckText(state);
  CheckCanBeStored(state);
}

}  // namespace stoker
