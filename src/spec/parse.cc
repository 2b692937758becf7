// SPDX-License-Identifier: Apache-2.0
#include "spec/parse.h"

#include <algorithm>

#include "base/letter_case.h"
#include "base/remembered.h"
#include "base/text.h"
#include "spec/cloud_machine.h"
#include "spec/parse_state.h"
#include "spec/program.h"
#include "spec/sections.h"
#include "spec/text/git/repository.h"
#include "spec/text/infra.h"
#include "spec/text/known_keys.h"

namespace stoker {
namespace {

constexpr size_t kMaxCacheFiles = 200;

void ReadName(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  const std::optional<std::string> name = reader->Text(node, "name");
  if (!name) return;
  if (IsSafeName(*name)) {
    spec->name = *name;
    return;
  }
  reader->Error(node, "the name " + Quoted(*name) + " is not usable as a path or a tag",
                "Use 1 to 64 of letters, digits, '.', '_' and '-', a letter or digit first: '" +
                    SafeNameFrom(*name) + "'");
}

// "/a//b/./c/" is "/a/b/c". ".." stays: only the file system knows what it means beside a link.
std::string CleanAbsolute(const std::string& path) {
  std::string out;
  for (const std::string& part : Split(path, '/')) {
    if (!part.empty() && part != ".") out += "/" + part;
  }
  return out.empty() ? "/" : out;
}

void ReadContract(const YamlNode& node, SpecReader* reader) {
  for (const std::string_view later : {"sagemaker", "vertex", "mpi"}) {
    if (!node.IsScalar() || LowerCase(node.text) != later) continue;
    reader->Error(node, "'contract: " + node.text + "' is understood but not built yet",
                  "Write torchrun, which is the default");
    return;
  }
  reader->Choice(node, "contract", {"torchrun"});
}

void ReadScriptInto(const YamlNode& node, std::string_view what, ParseState* state,
                    std::string* target) {
  if (auto script = ReadScript(node, what, state->judge, &state->reader)) *target = *script;
}

void ReadRun(const YamlNode& node, ParseState* state) {
  state->has_command = true;
  ReadScriptInto(node, "run", state, &state->spec.run);
  if (node.IsScalar() && IsBlankScript(node.text)) {
    state->reader.Error(node, "'run' is empty", "Write the commands that train");
  }
}

void ReadSetupCache(const YamlNode& node, ParseState* state) {
  SpecReader* reader = &state->reader;
  if (!reader->ExpectList(node, "setup.cache", "[pyproject.toml, native]")) return;
  if (!reader->ExpectAtMost(node, "setup.cache", node.items.size(), kMaxCacheFiles)) return;
  std::vector<std::string>& files = state->spec.setup_cache.emplace();
  for (const YamlNode& item : node.items) {
    const auto path = ReadPath(item, "setup.cache", false, reader);
    if (!path) continue;
    if (std::find(files.begin(), files.end(), *path) != files.end()) {
      reader->Error(item, "'setup.cache' names " + Quoted(*path) + " twice", "Keep one of them");
      continue;
    }
    files.push_back(*path);
  }
}

// A script; or {run: a script, cache: [files]}.
void ReadSetup(const YamlNode& node, ParseState* state) {
  JobSpec* spec = &state->spec;
  if (!node.IsMap()) return ReadScriptInto(node, "setup", state, &spec->setup);
  const size_t before = state->reader.errors().size();
  state->reader.ReadMap(
      node, "setup",
      {{"run", [=](const YamlNode& v) { ReadScriptInto(v, "setup.run", state, &spec->setup); }},
       {"cache", [=](const YamlNode& v) { ReadSetupCache(v, state); }}},
      {});
  if (state->reader.errors().size() == before && IsBlankScript(spec->setup)) {
    state->reader.Error(node, "'setup' has no 'run' with anything to run",
                        "Write a script, or {run: a script, cache: [pyproject.toml]}");
  }
}

void ReadStopGrace(const YamlNode& node, ParseState* state) {
  if (const auto grace = ReadGrace(node, "stop_grace", &state->reader)) {
    state->spec.stop_grace = *grace;
  }
}

// Keys of the program itself; the rest is in ReadJobFile.
std::vector<SpecField> ProgramFields(ParseState* state) {
  SpecReader* reader = &state->reader;
  JobSpec* spec = &state->spec;
  return {
      {"envs", [=](const YamlNode& v) { ReadEnvs(v, state->judge, reader, spec, &state->unset); }},
      {"secrets", [=](const YamlNode& v) { ReadSecrets(v, state->judge, reader, spec); }},
      {"hyperparameters",
       [=](const YamlNode& v) { ReadHyperparameters(v, state->judge, reader, spec); }},
      {"setup", [=](const YamlNode& v) { ReadSetup(v, state); }},
      {"run", [=](const YamlNode& v) { ReadRun(v, state); }},
      {"command",
       [=](const YamlNode& v) {
         state->has_command = true;
         ReadCommand(v, state->judge, reader, spec);
       }},
      {"contract", [=](const YamlNode& v) { ReadContract(v, reader); }},
  };
}

ParsedSpec Parse(std::string_view text, const ParseOptions& options, Judge judge) {
  ParseState state(options, judge);
  ApplyDefaults(&state);
  const YamlNode root = ParseYamlTree(text, options.file_name, &state.reader.errors());
  if (!state.reader.errors().empty()) return {std::move(state.spec), state.reader.errors(), {}};
  ReadJobFile(root, &state);
  ApplyOverrides(&state);
  FinishSpec(&state);
  if (const auto& ignored = state.reader.ignored(); !ignored.empty()) {
    state.notes.push_back("--infra local: the job runs on this machine as it is; ignored: " +
                          Join(ignored, ", "));
  }
  return {std::move(state.spec), std::move(state.reader.errors()), std::move(state.notes)};
}

}  // namespace

YamlNode ParseState::PlaceOf(const std::string& key) const {
  if (const auto found = places.find(key); found != places.end()) return found->second;
  YamlNode start;
  start.line = start.column = 1;
  return start;
}

std::optional<std::string> ResolvePath(const YamlNode& node, std::string_view what,
                                       const std::string& path, SpecReader* reader,
                                       const ParseOptions& options) {
  const std::string named = "'" + std::string(what) + "'";
  std::string whole = path;
  if (path == "~" || StartsWith(path, "~/")) {
    if (!options.home.empty()) whole = options.home + path.substr(1);
  }
  if (whole[0] == '~') {
    reader->Error(node, named + " cannot be " + Quoted(path) + ": that home is not known",
                  "Write the whole path");
    return std::nullopt;
  }
  if (whole[0] != '/') {
    if (options.base_dir.empty()) {
      reader->Error(node, named + " must be absolute here, not " + Quoted(path));
      return std::nullopt;
    }
    whole = options.base_dir + "/" + whole;
  }
  return CleanAbsolute(whole);
}

namespace {

// The folder that SkyPilot would take for `line`, relative to where one stands; "" when it is the
// same one, is not there, or `node` is no place in a file.
std::string FromStanding(const YamlNode& node, const std::string& line, const std::string& resolved,
                         const ParseOptions& options) {
  const bool relative = line[0] != '/' && line[0] != '~';
  if (!relative || node.line == 0 || options.standing.empty()) return "";
  const std::string other = CleanAbsolute(options.standing + "/" + line);
  const bool there = options.is_directory && options.is_directory(other);
  return other == resolved || !there ? "" : other;
}

}  // namespace

namespace {

void TakeRepository(const YamlNode& node, const Repository& repository, SpecReader* reader,
                    ParseState* state) {
  const Status good = CheckRepository(repository);
  if (!good.ok()) return reader->Error(node, "'workdir': " + good.message(), good.next());
  state->spec.workdir = WordOf(repository);
}

// workdir: {url: …, ref: …}, as SkyPilot has it.
void ReadRepository(const YamlNode& node, SpecReader* reader, ParseState* state) {
  Repository repository;
  const size_t before = reader->errors().size();
  const auto line = [reader](const char* key, std::string* out) {
    return SpecField{key, [=](const YamlNode& value) {
                       *out = reader->Line(value, std::string("workdir.") + key).value_or("");
                     }};
  };
  reader->ReadMap(node, "workdir", {line("url", &repository.url), line("ref", &repository.ref)},
                  {});
  if (reader->errors().size() > before) return;
  if (repository.url.empty()) {
    return reader->Error(node, "'workdir' names no repository", "Write workdir: {url: …, ref: …}");
  }
  TakeRepository(node, repository, reader, state);
}

}  // namespace

void ReadWorkdir(const YamlNode& node, SpecReader* reader, ParseState* state) {
  if (node.IsMap()) return ReadRepository(node, reader, state);
  const std::optional<std::string> line = reader->Line(node, "workdir");
  if (!line) return;
  if (const auto repository = RepositoryOf(*line)) {
    return TakeRepository(node, *repository, reader, state);
  }
  if (line->find("://") != std::string::npos) {
    reader->Error(node, "a bucket as 'workdir' is understood but not built yet",
                  "Name a folder of this machine, or a git repository");
    return;
  }
  const auto resolved = ResolvePath(node, "workdir", *line, reader, state->options);
  if (!resolved) return;
  const std::string& path = *resolved;
  const std::string standing = FromStanding(node, *line, *resolved, state->options);
  if (path == "/") {
    reader->Error(node, "'workdir' is the whole file system", "Name the folder with the code");
  } else if (state->options.is_directory && !state->options.is_directory(path)) {
    reader->Error(node, "'workdir' " + Quoted(*line) + " is not a directory",
                  path == *line      ? ""
                  : standing.empty() ? "It was looked for at " + path
                                     : "It was looked for at " + path +
                                           ", from the job file's folder; for the one where you "
                                           "stand, as SkyPilot reads it: --workdir " +
                                           ShellQuote(*line));
  } else {
    state->spec.workdir = path;
    if (standing.empty()) return;
    state->notes.push_back("the work directory is " + path +
                           ", from the job file's folder (SkyPilot would take " + standing +
                           ", from where you stand: --workdir " + ShellQuote(*line) + ")");
  }
}

void ApplyDefaults(ParseState* state) {
  const Settings& defaults = state->options.defaults;
  JobSpec& spec = state->spec;
  if (defaults.infra) spec.resources.infra = *defaults.infra;
  if (defaults.recovery) spec.recovery = *defaults.recovery;
  spec.notify = defaults.notify;
  if (defaults.keep) spec.checkpoints.keep = *defaults.keep;
  if (defaults.stop_grace) spec.stop_grace = *defaults.stop_grace;
  spec.limits.kept_size = defaults.kept_size;
  spec.limits.kept_files = defaults.kept_files;
}

void ReadJobFile(const YamlNode& root, ParseState* state) {
  SpecReader* reader = &state->reader;
  JobSpec* spec = &state->spec;
  if (root.IsNull()) {
    reader->Error(state->PlaceOf(""), "the job file is empty", "At least 'run' is needed");
    return;
  }
  if (!root.IsMap()) {
    reader->Error(root, "a job file is a map of keys, not " + Describe(root),
                  "Begin with a key: 'run: python train.py'");
    return;
  }
  const std::string infra = state->options.overrides.infra.value_or("");
  const bool here = LowerCase(infra) == kThisMachine;
  for (const YamlEntry& entry : root.entries) state->places[entry.key.text] = entry.value;
  std::vector<SpecField> fields = {
      {"name", [=](const YamlNode& v) { ReadName(v, reader, spec); }},
      {"workdir", [=](const YamlNode& v) { ReadWorkdir(v, reader, state); }},
      {"include", [=](const YamlNode& v) { ReadInclude(v, reader, spec); }},
      {"shell_env", [=](const YamlNode& v) { ReadShellEnv(v, reader, spec); }},
      {"num_nodes",
       [=](const YamlNode& v) {
         if (const auto n = ReadNumNodes(v, "num_nodes", reader)) spec->num_nodes = *n;
       }},
      {"resources", [=](const YamlNode& v) { ReadResources(v, infra, reader, spec); }, true},
      {"container", [=](const YamlNode& v) { ReadContainer(v, state->judge, reader, spec); }},
      {"job_recovery", [=](const YamlNode& v) { ReadJobRecovery(v, reader, spec); }},
      {"checkpoints", [=](const YamlNode& v) { ReadCheckpoints(v, reader, spec); }},
      {"inputs", [=](const YamlNode& v) { ReadInputs(v, reader, state); }},
      {"outputs", [=](const YamlNode& v) { ReadOutputs(v, reader, spec); }},
      {"metrics", [=](const YamlNode& v) { ReadMetrics(v, reader, spec); }},
      {"metric_definitions", [=](const YamlNode& v) { ReadMetrics(v, reader, spec); }},
      {"tensorboard", [=](const YamlNode& v) { ReadTensorboard(v, reader, spec); }},
      {"wandb", [=](const YamlNode& v) { ReadWandb(v, reader, spec); }},
      {"stop_when", [=](const YamlNode& v) { ReadStopWhen(v, reader, spec); }},
      {"limits", [=](const YamlNode& v) { ReadLimits(v, reader, spec); }},
      {"hooks", [=](const YamlNode& v) { ReadHooks(v, state->judge, reader, spec); }},
      {"logs", [=](const YamlNode& v) { ReadLogs(v, reader, spec); }},
      {"notify", [=](const YamlNode& v) { ReadNotify(v, state->judge, reader, spec); }},
      {"recovery",
       [=](const YamlNode& v) {
         if (const auto m = ReadRecovery(v, "recovery", reader)) spec->recovery = *m;
       }},
      {"on_stop",
       [=](const YamlNode& v) {
         const auto choice = reader->Choice(v, "on_stop", {"replace", "restart"});
         if (choice == "restart") spec->on_stop = OnStop::kRestart;
       }},
      {"stop_grace", [=](const YamlNode& v) { ReadStopGrace(v, state); }},
      {"keep_failed", [=](const YamlNode& v) { spec->keep_failed = ReadKeepFailed(v, reader); }},
      {"config", [=](const YamlNode& v) { ReadConfig(v, here, reader, spec); }},
  };
  for (const PlaceSection& one : AllPlaceSections()) {
    fields.push_back({one.key, [&one, reader, spec](const YamlNode& v) {
                        one.read(v, reader, &spec->sections);
                      }});
  }
  for (SpecField& field : ProgramFields(state)) fields.push_back(std::move(field));
  reader->ReadMap(root, "", fields, RefusedTopKeys());
}

ParsedSpec ParseJobSpecAll(std::string_view text, const ParseOptions& options) {
  return Parse(text, options, Judge::kSubmitted);
}

Result<JobSpec> ParseJobSpec(std::string_view text, const ParseOptions& options) {
  ParsedSpec parsed = Parse(text, options, Judge::kSubmitted);
  if (!parsed.errors.empty()) return ErrorsToStatus(std::move(parsed.errors));
  return std::move(parsed.spec);
}

Result<JobSpec> ParseStoredSpec(std::string_view text) {
  thread_local Remembered<JobSpec> parsed_before;
  if (const JobSpec* known = parsed_before.Find(text)) return *known;
  ParseOptions options;
  options.file_name = "spec.yaml";
  ParsedSpec parsed = Parse(text, options, Judge::kStored);
  if (!parsed.errors.empty()) return ErrorsToStatus(std::move(parsed.errors));
  parsed_before.Keep(text, parsed.spec);
  return std::move(parsed.spec);
}

}  // namespace stoker
