// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/slurm_tools.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "provider/slurm/slurm_job.h"
#include "provider/slurm/slurm_refusal.h"
#include "sys/command.h"

extern char** environ;

namespace stoker {
namespace {

constexpr Duration kKillWait = Duration::Seconds(30);  // Slurm's own default
constexpr size_t kMostOutput = 32 << 20;
constexpr int64_t kMostNumber = 100'000'000'000;  // of seconds, too

// What belongs to the job that this process runs in, or would change what the programs print.
std::vector<std::string> Environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view one(*entry);
    const bool of_slurm = StartsWith(one, "SLURM_") || StartsWith(one, "SBATCH_") ||
                          StartsWith(one, "SQUEUE_") || StartsWith(one, "SCANCEL_") ||
                          StartsWith(one, "SALLOC_") || StartsWith(one, "SRUN_") ||
                          StartsWith(one, "SACCT_");
    if (of_slurm && !StartsWith(one, "SLURM_CONF=")) continue;
    out.emplace_back(one);
  }
  out.emplace_back(kSqueueTimes);
  return out;
}

// SLURM_CONF tells where another cluster's configuration lies. Some are of module systems; the last
// ones tell engines for containers where their settings, logins and images lie.
constexpr const char* kExported[] = {"HOME",
                                     "USER",
                                     "LOGNAME",
                                     "SHELL",
                                     "LANG",
                                     "LC_ALL",
                                     "TZ",
                                     "XDG_DATA_HOME",
                                     "PATH",
                                     "XDG_CACHE_HOME",
                                     "SLURM_CONF",
                                     "XDG_CONFIG_HOME",
                                     "LD_LIBRARY_PATH",
                                     "MODULEPATH",
                                     "MODULESHOME",
                                     "LMOD_CMD",
                                     "LMOD_PKG",
                                     "LMOD_DIR",
                                     "BASH_ENV",
                                     "BASH_FUNC_module%%",
                                     "BASH_FUNC_ml%%",
                                     "CONTAINERS_CONF",
                                     "CONTAINERS_STORAGE_CONF",
                                     "CONTAINERS_REGISTRIES_CONF",
                                     "REGISTRY_AUTH_FILE",
                                     "DOCKER_HOST",
                                     "DOCKER_CONFIG",
                                     "APPTAINER_CACHEDIR",
                                     "APPTAINER_TMPDIR"};

bool IsExported(std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('='));
  return std::find(std::begin(kExported), std::end(kExported), name) != std::end(kExported);
}

// The same for the shell of a login host: "env -i ${HOME+"HOME=$HOME"} …".
std::string CleanEnvironment() {
  std::string out = " env -i";
  for (const std::string name : kExported) {
    if (name.find('%') == std::string::npos)
      out += " ${" + name + "+\"" + name + "=$" + name + "\"}";
  }
  return out;
}

}  // namespace

SlurmTools::SlurmTools(std::string login) : login_(std::move(login)) {}

Result<std::string> SlurmTools::Run(const std::vector<std::string>& words, Duration limit,
                                    const std::string& input, std::string* said) const {
  return RunWith(Environment(), words, "", limit, input, said);
}

Result<std::string> SlurmTools::Submit(const std::vector<std::string>& words, Duration limit,
                                       const std::string& script, std::string* said) const {
  std::vector<std::string> env = Environment();
  if (login_.empty()) std::erase_if(env, [](const std::string& one) { return !IsExported(one); });
  std::vector<std::string> command = {"sbatch", "--export=ALL"};
  command.insert(command.end(), words.begin(), words.end());
  return RunWith(std::move(env), command, CleanEnvironment(), limit, script, said);
}

// `before`: what stands before the words in the line for a login host.
Result<std::string> SlurmTools::RunWith(std::vector<std::string> env,
                                        const std::vector<std::string>& words,
                                        const std::string& before, Duration limit,
                                        const std::string& input, std::string* said) const {
  sys::Command command;
  command.env = std::move(env);
  command.max_output = kMostOutput;
  if (!input.empty()) command.input = input;
  if (login_.empty()) {
    command.argv = words;
  } else {
    std::string line = std::string(kSqueueTimes) + before;
    for (const std::string& word : words) line += " " + ShellQuote(word);
    command.argv = {"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "--", login_, line};
  }
  const std::string what = words.front() + (login_.empty() ? "" : " on " + login_);
  auto results = sys::RunCommands({command}, limit.ms);
  if (!results[0].ok()) {
    const Status& failed = results[0].status();
    if (!failed.Is(Code::kNotFound)) return failed.WithContext(what);
    return Status(Code::kDenied, what + ": there is no such program on this machine",
                  "Submit where Slurm's commands are, or name that host: stoker config set "
                  "slurm.login HOST");
  }
  const sys::CommandOutput& output = *results[0];
  if (said != nullptr) *said = output.err;
  if (output.truncated) return Status(Code::kUnavailable, what + " has too much to say");
  if (output.exit_code == 0) return output.out;
  if (!login_.empty() && (output.exit_code == 255 || output.exit_code == 127)) {
    return Status(output.exit_code == 127 ? Code::kDenied : Code::kUnavailable,
                  what + ": " + SlurmSaid(output.err));
  }
  return Status(Code::kUnavailable, what + ": " + SlurmSaid(output.err));
}

Result<std::vector<SlurmJobSeen>> SlurmTools::QueueByLines(Duration limit, bool* known) {
  std::vector<std::string> words = {"squeue"};
  for (const std::string& word : SqueueWords()) words.push_back(word);
  std::string said;
  const auto text = Run(words, limit, "", &said);
  *known = said.find("nvalid job format") == std::string::npos &&
           said.find("nrecognized option") == std::string::npos &&
           said.find("nvalid field") == std::string::npos;
  if (!text.ok()) return text.status();
  auto seen = ParseSqueueLines(*text);
  *known = *known && seen.ok();
  return seen;
}

// JSON costs much more (slurm_queue.h), so it is for a Slurm that does not know the lines.
Result<std::vector<SlurmJobSeen>> SlurmTools::Queue(Duration limit) {
  bool lines = false;
  {
    const std::lock_guard lock(mutex_);
    lines = !no_lines_;
  }
  if (lines) {
    bool known = true;
    auto seen = QueueByLines(limit, &known);
    if (seen.ok() || known) return seen;
  }
  STOKER_ASSIGN(const std::string text,
                Run({"squeue", "--json", "--me", "--all", "--states=all"}, limit));
  STOKER_ASSIGN(std::vector<SlurmJobSeen> seen, ParseSqueueJson(text));
  const std::lock_guard lock(mutex_);
  no_lines_ = true;
  return seen;
}

Result<std::optional<SlurmJobSeen>> SlurmTools::Job(int64_t job, const std::string& token,
                                                    Duration limit) {
  // A number that Slurm has forgotten is an error to squeue when it is alone, as "--jobs" has it.
  STOKER_ASSIGN(const std::vector<SlurmJobSeen> all, Queue(limit));
  for (const SlurmJobSeen& seen : all) {
    if (seen.job != job || TokenOfSlurmName(seen.name) != token) continue;
    return std::optional<SlurmJobSeen>(seen);
  }
  return std::optional<SlurmJobSeen>();
}

Result<std::optional<SlurmJobSeen>> SlurmTools::Row(int64_t job, Duration limit) {
  STOKER_ASSIGN(const std::vector<SlurmJobSeen> all, Queue(limit));
  for (const SlurmJobSeen& seen : all) {
    if (seen.job == job) return std::optional<SlurmJobSeen>(seen);
  }
  return std::optional<SlurmJobSeen>();
}

Status SlurmTools::Cancel(const std::vector<int64_t>& jobs) const {
  if (jobs.empty()) return Status::Ok();
  std::vector<std::string> words = {"scancel"};
  for (const int64_t job : jobs) words.push_back(std::to_string(job));
  std::string said;
  const auto done = Run(words, kLookLimit, "", &said);
  // It has ended meanwhile.
  const bool over = said.find("Invalid job id") != std::string::npos ||
                    said.find("already completing or completed") != std::string::npos;
  return done.ok() || over ? Status::Ok() : done.status();
}

Result<int64_t> SlurmTools::Configured(const std::string& name, Duration limit) const {
  STOKER_ASSIGN(const std::string text, Run({"scontrol", "show", "config"}, limit));
  for (const std::string& line : Split(text, '\n')) {
    const size_t at = line.find("= ");
    if (!StartsWith(line, name + " ") || at == std::string::npos) continue;
    const std::string value = line.substr(at + 2);
    if (const auto number = WholeNumber(value.substr(0, value.find(' ')), 0, kMostNumber)) {
      return *number;
    }
  }
  return Status(Code::kUnavailable, "scontrol show config does not tell " + name);
}

Duration SlurmTools::KillWait(Duration limit) const {
  const auto seconds = Configured("KillWait", limit);
  return seconds.ok() ? Duration::Seconds(*seconds) : kKillWait;
}

Result<WallTime> SlurmTools::Began() const {
  STOKER_ASSIGN(const int64_t seconds, Configured("BOOT_TIME"));
  return WallTime{seconds * 1000};
}

}  // namespace stoker
