// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

#include "base/json.h"
#include "base/letter_case.h"
#include "base/text.h"
#include "cli/attach.h"
#include "cli/finish.h"
#include "cli/other_words.h"
#include "cli/terminal/context.h"
#include "cli/terminal/interrupts.h"
#include "cli/verb.h"
#include "client/submit/from.h"
#include "client/submit/machine_wants.h"
#include "client/submit/offers.h"
#include "client/submit/submit.h"
#include "client/submit/variables.h"
#include "spec/parse.h"
#include "spec/text/git/repository.h"
#include "spec/text/infra.h"
#include "sys/file.h"

namespace stoker::cli {
namespace {

struct RunOptions {
  std::string file;
  std::string from;
  bool detach = false;
  bool yes = false;
  bool quiet = false;
  bool outlive = false;
  bool dry_run = false;
  bool spot = false;
  bool no_shell_env = false;
  client::VariableFlags variables;
  SpecOverrides flags;
};

std::string AbsoluteFrom(const std::string& path) {
  if (path[0] == '/' || path[0] == '~') return path;
  const auto here = sys::RealPath(".");
  return here.ok() ? *here + "/" + path : path;
}

// NAME=PATH, with the path as a shell means it.
std::string InputFrom(const std::string& text) {
  const size_t sign = text.find('=');
  if (sign == std::string::npos || sign + 1 == text.size()) return text;
  const std::string source = text.substr(sign + 1);
  if (source.find("://") != std::string::npos) return text;
  return text.substr(0, sign + 1) + AbsoluteFrom(source);
}

SpecOverrides Overrides(const RunOptions& options, const client::GivenVariables& given) {
  SpecOverrides flags = options.flags;
  // On the command line a folder is meant as a shell means it, wherever the job file lies.
  if (flags.workdir && !RepositoryOf(*flags.workdir)) flags.workdir = AbsoluteFrom(*flags.workdir);
  if (options.spot) flags.use_spot = true;
  flags.envs = given.envs;
  flags.secrets = given.secrets;
  for (std::string& input : flags.inputs) input = InputFrom(input);
  return flags;
}

Result<ParseOptions> MakeParseOptions(Context& context, const RunOptions& options,
                                      const client::GivenVariables& given) {
  ParseOptions parse;
  STOKER_ASSIGN(const Settings* settings, context.settings());
  STOKER_ASSIGN(parse.base_dir, sys::RealPath("."));
  parse.defaults = *settings;
  parse.home = sys::HomeDir();
  parse.overrides = Overrides(options, given);
  parse.is_directory = [](const std::string& path) { return sys::DirExists(path); };
  parse.exists = [](const std::string& path) {
    return sys::FileExists(path) || sys::DirExists(path);
  };
  parse.environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  return parse;
}

// "stoker run train.py": how the program that was given as a job file is run; "" = it is none.
std::string ProgramGiven(const std::string& file, std::string_view text) {
  const std::string word = AsTyped(file);
  if (EndsWith(file, ".py")) return "python3 " + word;
  if (EndsWith(file, ".sh")) return "bash " + word;
  const bool program = StartsWith(text, "#!") || StartsWith(text,
                                                            "\x7f"
                                                            "ELF");
  if (!program) return "";
  return file.find('/') == std::string::npos ? "./" + word : word;
}

Result<JobSpec> ReadJobFile(Context& context, const RunOptions& options, ParseOptions parse) {
  const auto text = sys::ReadFile(options.file, 2 << 20);
  const std::string program = ProgramGiven(options.file, text.ok() ? *text : "");
  const bool yaml = EndsWith(options.file, ".yaml") || EndsWith(options.file, ".yml");
  if (!text.ok() && !yaml && options.file.find_first_of(" ;|&$") != std::string::npos) {
    // All of a command as one word.
    const bool plain = options.file.find_first_of(";|&$<>()*?'\"`\\\n") == std::string::npos;
    return Status(
        Code::kUsage, "there is no job file " + QuotedPath(options.file),
        "Put a command after '--', without quotes around all of it: stoker run -- " +
            (plain ? Printable(options.file) : "bash -c " + ShellQuote(Printable(options.file))));
  }
  if (!text.ok()) {
    return Status(Code::kUsage, "the job file: " + text.status().message(),
                  "To run a command without a job file: stoker run -- " +
                      (program.empty() ? "python3 train.py" : program));
  }
  if (!program.empty()) {
    return Status(Code::kUsage, "'" + Printable(options.file) + "' is a program, not a job file",
                  "Put a command after '--': stoker run -- " + program);
  }
  STOKER_ASSIGN(const std::string path, sys::RealPath(options.file));
  parse.file_name = options.file;
  parse.standing = parse.base_dir;
  parse.base_dir = path.substr(0, path.rfind('/'));
  if (parse.base_dir.empty()) parse.base_dir = "/";
  const std::string base = path.substr(path.rfind('/') + 1);
  parse.default_name = SafeNameFrom(base.substr(0, base.rfind('.')));
  ParsedSpec parsed = ParseJobSpecAll(*text, parse);
  if (!parsed.errors.empty()) return ErrorsToStatus(std::move(parsed.errors));
  for (const std::string& note : parsed.notes) context.Say(note);
  if (LowerCase(options.flags.infra.value_or("")) == kThisMachine)
    client::LeaveOutWhatIsMissing(context, context.given, &parsed.spec);
  return std::move(parsed.spec);
}

// "--env A=1 B=2": a second value where a job file belongs.
Status CheckFile(const Context& context, const RunOptions& options) {
  const auto file = std::find(context.given.begin(), context.given.end(), "FILE");
  if (file == context.given.end() || file == context.given.begin()) return Status::Ok();
  const std::string before = *(file - 1);
  const bool takes_one =
      before == "--env" || before == "--hp" || before == "--secret" || before == "--include";
  const bool yaml = EndsWith(options.file, ".yaml") || EndsWith(options.file, ".yml");
  if (!takes_one || yaml || sys::FileExists(options.file)) return Status::Ok();
  return Status(Code::kUsage, "'" + Printable(options.file) + "' is no job file",
                "Give " + before + " again for each: " + before + " " + AsTyped(options.file));
}

// `from`: the job that it goes on from; null = none.
Result<JobSpec> MakeSpec(Context& context, const RunOptions& options,
                         const client::GivenVariables& given, const client::FromJob* from) {
  STOKER_ASSIGN(const ParseOptions parse, MakeParseOptions(context, options, given));
  STOKER_TRY(CheckFile(context, options));
  if (context.has_command && !options.file.empty()) {
    return Status(Code::kUsage, "both a job file and a command after '--' were given",
                  "Give only one; arguments for a job file's program go into the file");
  }
  if (context.has_command) {
    std::vector<std::string> notes;
    auto spec = SpecFromCommand(context.command, parse, &notes);
    for (const std::string& note : notes) context.Say(note);
    return spec;
  }
  if (options.file.empty() && from != nullptr) return client::SpecOfItsOwn(context, *from, parse);
  if (options.file.empty()) {
    return Status(Code::kUsage, "nothing to run: neither a job file nor a command was given",
                  "stoker run job.yaml, or: stoker run -- python3 train.py");
  }
  return ReadJobFile(context, options, parse);
}

Status Run(Context& context, const RunOptions& options) {
  EndOnInterrupt(kNotSubmitted);
  if (options.no_shell_env && options.flags.shell_env) {
    return Status(Code::kUsage, "both --shell-env and --no-shell-env were given",
                  "Give only one of them");
  }
  STOKER_ASSIGN(const client::GivenVariables given, client::ReadVariables(options.variables));
  std::optional<client::FromJob> from;
  if (!options.from.empty()) {
    STOKER_ASSIGN(from, client::FindFrom(context, options.from, options.dry_run));
  }
  STOKER_ASSIGN(JobSpec spec, MakeSpec(context, options, given, from ? &*from : nullptr));
  if (from) client::TakeOver(context, *from, context.has_command, &spec);
  if (spec.choices.empty() && ParseInfra(spec.resources.infra).provider == kLocalProvider) {
    client::TakeVisibleGpus(context, !options.no_shell_env, &spec);
  }
  STOKER_TRY(client::CheckPlace(spec));
  client::SubmitRequest request;
  request.before_record = SubmitsNow;
  request.spec = spec;
  request.yes = options.yes;
  request.outlive = options.outlive;
  request.secret_values = given.secret_values;
  request.shell_env = !options.no_shell_env;
  if (options.dry_run) {
    STOKER_TRY(client::AddNamed(context, request, &spec));
    context.Print(PrintSpecFor(context, spec));
    return Status::Ok();
  }
  if (from) {
    request.retry_of = from->job.id;
    request.from = from->from;
    request.promised = from->begins;
    request.line = from->line;
    client::SayWhereItBegins(context, *from);
  }
  STOKER_ASSIGN(const Job job, client::Submit(context, request));
  return AfterSubmit(context, job, spec, options.detach, options.quiet);
}

// What goes along with the job: code, variables, data; and what is kept.
std::vector<Option> ContentOptions(RunOptions* o) {
  return {
      {"--env", "Set a variable; NAME or 'PATTERN*' alone takes yours", &o->variables.envs,
       "NAME=VALUE"},
      {"--env-file", "Set variables from a file of NAME=VALUE lines", &o->variables.env_files,
       "FILE"},
      {"--secret",
       "Pass a secret: yours, from a file with NAME=@FILE, or NAME=REFERENCE (docs/secrets.md)",
       &o->variables.secrets, "NAME"},
      {"--no-shell-env", "Take no variables from this shell", &o->no_shell_env},
      {"--shell-env",
       "Take all of them; on this machine and Slurm",
       &o->flags.shell_env,
       "",
       false,
       {"all"}},
      {"--hp", "Set a hyperparameter, and {NAME} in the command", &o->flags.hyperparameters,
       "NAME=VALUE"},
      {"--input", "Copy a folder or a bucket to the job first", &o->flags.inputs, "NAME=SOURCE"},
      {"--include", "Pack this, too, though git ignores it", &o->flags.includes, "PATTERN"},
      {"--output", "Keep this path of the work directory as an output", &o->flags.outputs, "PATH"},
      {"--checkpoints", "Where the program keeps its checkpoints", &o->flags.checkpoints, "PATH"},
      {"--keep", "How many checkpoints to keep (0 = all)", &o->flags.keep, "N"}};
}

// When it ends, and what then.
std::vector<Option> EndOptions(RunOptions* o) {
  return {{"--max-duration", "Stop the job when the program has run this long",
           &o->flags.max_duration, "DURATION"},
          {"--stall", "Stop it after this long without output or checkpoint", &o->flags.stall,
           "DURATION"},
          {"--stop-when", "Stop it once its metrics say this", &o->flags.stop_when, "RULE"},
          {"--max-restarts", "How often to restart after a program's error", &o->flags.max_restarts,
           "N"},
          {"--recovery",
           "Who may start a replacement machine",
           &o->flags.recovery,
           "",
           false,
           {"node", "controller"}},
          {"--outlive", "Go on after the sbatch that this runs inside of", &o->outlive},
          {"--stop-grace", "Time between SIGTERM and SIGKILL", &o->flags.stop_grace, "DURATION"},
          {"--keep-failed", "A cloud's machines stay so long if it fails", &o->flags.keep_failed,
           "TIME"},
          {"--ending",
           "How to end every process of the program",
           &o->flags.ending,
           "",
           false,
           {"pidns", "cgroup", "subreaper"}}};
}

}  // namespace

Verb RunVerb() {
  auto options = std::make_shared<RunOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "run";
  verb.summary = "Run a job file or a command";
  verb.description =
      "Runs a job file, or the command after '--'. Packs the work directory, records the job, "
      "gets it a machine and stays with it: you see the program's output, and Ctrl-C leaves the "
      "job running. Ends with the program's exit code, or with 1 when it succeeded but files that "
      "it left could not be kept: the store did not take them, or they may not be read.";
  verb.exit_codes = {{"CODE", "The program's own exit code, when the job failed with one"},
                     {"128+N", "Signal N ended the program"},
                     {"127", "The program was not found"}};
  verb.examples = {"stoker run -- python3 train.py --epochs 20", "stoker run job.yaml",
                   "stoker run job.yaml --num-nodes 2 --hp lr=0.1 --detach",
                   "stoker run --from digits", "stoker run --from digits/2-14 job.yaml"};
  auto* o = options.get();
  verb.options = {
      {"FILE", "The job file", &o->file, ""},
      {"-d,--detach", "Print the job's id and return at once", &o->detach},
      {"-y,--yes", "Pack a large work directory without asking", &o->yes},
      {"-q,--quiet", "Do not show the program's output", &o->quiet},
      {"--dry-run", "Check the job and print it as it would be stored", &o->dry_run},
      {"--from", "Go on from that job's checkpoints, with today's code", &o->from,
       "JOB[/CHECKPOINT]"},
      {"-n,--name", "The job's name", &o->flags.name, "NAME"},
      {"--workdir", "The folder to pack and to run in", &o->flags.workdir, "DIR"},
      {"--infra", "Where to run: local, ssh/POOL, slurm, aws/REGION, gcp/REGION", &o->flags.infra,
       "WHERE"},
      {"--spot", "Accept machines that may be interrupted", &o->spot},
      {"--num-nodes", "The number of nodes", &o->flags.num_nodes, "N"},
      {"--cpus", "CPUs of each node, 0.5 or more (usual: 1 for the job)", &o->flags.cpus, "N"},
      {"--memory", "Memory of each node", &o->flags.memory, "SIZE"},
      {"--gpus", "GPUs of each node: N, NAME, NAME:N (usual: all)", &o->flags.gpus, "N"},
      {"--priority", "Its place in the queue: a higher one is first", &o->flags.priority, "N"},
      {"--instance-type", "In a cloud: the type of each machine", &o->flags.instance_type, "TYPE"},
      {"--image", "In a cloud: what machines boot, ami-… or ssm:/…", &o->flags.image, "IMAGE"},
      {"--container", "Run setup and program in a container of this image", &o->flags.container,
       "IMAGE"},
      {"--disk-size", "In a cloud: the disk of each machine, in GiB", &o->flags.disk_size, "SIZE"}};
  for (auto add : {ContentOptions, EndOptions}) {
    for (Option& option : add(o)) verb.options.push_back(std::move(option));
  }
  verb.takes_command = true;
  return verb;
}

}  // namespace stoker::cli
