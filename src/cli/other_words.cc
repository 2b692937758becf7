// SPDX-License-Identifier: Apache-2.0
#include "cli/other_words.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "spec/settings.h"

namespace stoker::cli {
namespace {

constexpr char kListOrShow[] = "'stoker ls' lists jobs, 'stoker show JOB' tells the story of one";
constexpr char kRun[] = "'stoker run job.yaml' or 'stoker run -- python3 train.py' starts a job";
constexpr char kCancel[] = "'stoker cancel JOB' ends a job";
constexpr char kNoCluster[] =
    "'stoker cancel JOB' ends a job and its machines: there is no cluster to take down";
constexpr char kGpus[] = "'--gpus N' asks for so many GPUs, '--gpus NAME:N' for some of a kind";
constexpr char kNoClusterName[] =
    "There is no cluster to choose: '--name NAME' names the job, and a command goes after '--'";
constexpr char kKept[] = "A job's logs and outputs are kept until 'stoker gc --older-than 30d'";
constexpr char kNoTerminal[] = "A job has no terminal: its output is shown, and kept in its log";
constexpr char kLong[] =
    "'--all' lists every job, '--hyperparameters' and '--columns A,B,C' show more of each";
constexpr char kCancelTwice[] =
    "'stoker cancel JOB' sends SIGTERM, and SIGKILL once the job's stop_grace has passed";
constexpr char kNodes[] = "'--num-nodes N' is the number of nodes";
constexpr char kRestarts[] = "'--max-restarts N' restarts after an error of the program";
constexpr char kDuration[] = "'--max-duration 8h' stops the job after so much time of the program";
constexpr char kFetch[] = "'stoker get JOB' fetches what a job made";
constexpr char kGc[] = "'stoker gc --older-than 30d' removes old jobs and what nobody needs";
constexpr char kToFolder[] = "The folder is the last word: stoker get JOB ./DIR";
constexpr char kMachine[] = "Jobs run on this machine so far: there is no other to choose";

const Option* OptionNamed(const Verb& verb, const std::string& name) {
  for (const Option& option : verb.options) {
    const std::vector<std::string> names = Split(option.names, ',');
    if (std::find(names.begin(), names.end(), name) != names.end()) return &option;
  }
  return nullptr;
}

// "-qy" is "-q -y"; the last letter may take a value.
bool IsKnown(const Verb& verb, const std::string& arg) {
  const std::string name = arg.substr(0, arg.find('='));
  if (name == "--json" || name == "--help" || name == "-h") return true;
  if (StartsWith(name, "--") || name.size() < 3) return OptionNamed(verb, name) != nullptr;
  return std::all_of(name.begin() + 1, name.end(), [&](char letter) {
    return OptionNamed(verb, std::string("-") + letter) != nullptr;
  });
}

// How many words of `args` stand before the first that is neither an option nor an option's value.
size_t FirstPlainWord(const Verb& verb, const std::vector<std::string>& args) {
  size_t at = 0;
  while (at < args.size() && StartsWith(args[at], "-")) {
    const Option* option = OptionNamed(verb, args[at]);
    const bool takes_next = option != nullptr && !std::holds_alternative<bool*>(option->target);
    at += takes_next ? 2 : 1;
  }
  return std::min(at, args.size());
}

}  // namespace

std::string HintForForeignVerb(const std::string& name) {
  static const std::map<std::string, std::string> hints = {
      {"status", kListOrShow},
      {"queue", kListOrShow},
      {"ps", kListOrShow},
      {"jobs", kListOrShow},
      {"list", kListOrShow},
      {"squeue", kListOrShow},
      {"sacct", kListOrShow},
      {"info", kListOrShow},
      {"inspect", kListOrShow},
      {"describe", kListOrShow},
      {"submit", kRun},
      {"launch", kRun},
      {"exec", kRun},
      {"start", kRun},
      {"create", kRun},
      {"sbatch", kRun},
      {"srun", kRun},
      {"stop", kCancel},
      {"kill", kCancel},
      {"abort", kCancel},
      {"scancel", kCancel},
      {"down", kNoCluster},
      {"terminate", kNoCluster},
      {"autostop", kNoCluster},
      {"rm", "'stoker cancel JOB' ends a job, 'stoker gc --older-than 30d' removes old ones"},
      {"delete", "'stoker cancel JOB' ends a job, 'stoker gc --older-than 30d' removes old ones"},
      {"resume", "'stoker retry JOB' goes on from the newest checkpoint of a job that ended"},
      {"restart", "'stoker retry JOB' goes on from the newest checkpoint of a job that ended"},
      {"tail", "'stoker logs -f JOB' follows a job"},
      {"attach", "'stoker logs -f JOB' follows a job"},
      {"cp", "'stoker get JOB' fetches what a job made, 'stoker sync SRC DST' copies folders"},
      {"download", kFetch},
      {"pull", kFetch},
      {"fetch", kFetch},
      {"prune", kGc},
      {"clean", kGc},
      {"check", "'stoker doctor' checks this machine and the store"},
      {"init", "There is nothing to set up: 'stoker run -- python3 train.py' starts a job"},
  };
  const auto found = hints.find(name);
  return found == hints.end() ? "" : found->second;
}

std::string HintForForeignFlag(const std::string& verb, const std::string& name) {
  using Key = std::pair<std::string, std::string>;  // verb ("" = any), flag
  static const std::map<Key, std::string> hints = {
      {{"", "--gpu"}, kGpus},
      {{"", "--accelerators"}, kGpus},
      {{"", "--cloud"}, kMachine},
      {{"", "--region"}, kMachine},
      {{"", "--zone"}, kMachine},
      {{"", "--instance-type"}, kMachine},
      {{"", "--cpus"}, kMachine},
      {{"", "--use-spot"}, "'--spot' accepts machines that may be interrupted"},
      {{"", "--gres"}, kGpus},
      {{"", "--time"}, kDuration},
      {{"", "--background"}, "'--detach' prints the job's id and returns at once"},
      {{"run", "--timeout"}, kDuration},
      {{"run", "--nodes"}, kNodes},
      {{"run", "-N"}, kNodes},
      {{"run", "--retries"}, kRestarts},
      {{"run", "--restarts"}, kRestarts},
      {{"get", "-o"}, kToFolder},
      {{"get", "--output"}, kToFolder},
      {{"run", "-c"}, kNoClusterName},
      {{"run", "--cluster"}, kNoClusterName},
      {{"run", "-e"}, "'--env NAME=VALUE' sets a variable"},
      {{"run", "-f"}, "The job file needs no flag: stoker run job.yaml"},
      {{"run", "--file"}, "The job file needs no flag: stoker run job.yaml"},
      {{"run", "-o"}, "'--output PATH' keeps a path of the work directory"},
      {{"run", "-w"}, "'--workdir DIR' is the folder to pack and to run in"},
      {{"run", "--rm"}, kKept},
      {{"run", "-i"}, kNoTerminal},
      {{"run", "-t"}, kNoTerminal},
      {{"run", "-it"}, kNoTerminal},
      {{"ls", "-l"}, kLong},
      {{"ls", "--long"}, kLong},
      {{"ls", "-w"}, "'watch stoker ls' shows the list again and again"},
      {{"ls", "--watch"}, "'watch stoker ls' shows the list again and again"},
      {{"ls", "-q"}, "'--ids' prints only ids and names"},
      {{"ls", "--running"}, "'--state Running' lists those that run"},
      {{"ls", "-n"}, "'--name NAME' lists the jobs of a name, '--all' every job"},
      {{"logs", "--lines"}, "'--tail N' starts about N lines before the end"},
      {{"cancel", "-f"}, kCancelTwice},
      {{"cancel", "--force"}, kCancelTwice},
  };
  const bool letters = name.size() > 1 && name[0] == '-' && name[1] != '-';
  if (verb == "sync" && letters && name.find_first_not_of("-avzrtuhP") == std::string::npos) {
    return "'stoker sync SRC DST' copies folders whole, with the times of files, but neither modes "
           "nor empty folders: leave it out";
  }
  auto found = hints.find({verb, name});
  if (found == hints.end()) found = hints.find({"", name});
  return found == hints.end() ? "" : found->second;
}

std::string HintForExtraWord(const Verb& verb, const std::vector<std::string>& args) {
  const size_t at = FirstPlainWord(verb, args);
  if (at == args.size()) return "";
  const std::string word = AsTyped(args[at]);
  if (verb.name == "ls") {
    return "'stoker ls --name " + word + "' lists the jobs of that name, 'stoker show " + word +
           "' tells the story of one";
  }
  const auto& keys = SettingKeys();
  const bool setting = std::any_of(keys.begin(), keys.end(),
                                   [&](const SettingKey& key) { return key.name == args[at]; });
  if (verb.name == "config" && setting) {
    return at + 1 < args.size() ? "stoker config set " + word + " " + AsTyped(args[at + 1])
                                : "stoker config get " + word;
  }
  for (size_t i = 0; verb.name == "run" && i + 2 < args.size(); ++i) {
    const bool takes_one = args[i] == "--env" || args[i] == "--hp" || args[i] == "--secret";
    if (!takes_one || StartsWith(args[i + 2], "-")) continue;
    if (args[i + 2].find('=') != std::string::npos) {
      return "Give " + args[i] + " again for each: " + args[i] + " " + AsTyped(args[i + 2]);
    }
  }
  return "";
}

std::string HintForOtherMeaning(const std::string& verb, const std::vector<std::string>& args) {
  if (verb != "logs") return "";
  for (size_t i = 0; i + 1 < args.size(); ++i) {
    // An id has letters, but for one in a thousand.
    const bool number = args[i + 1].size() <= 6 && WholeNumber(args[i + 1], 0, 999'999);
    if (args[i] == "-n" && number) {
      return "It numbers the lines; '--tail " + args[i + 1] + "' starts about " + args[i + 1] +
             " lines before the end";
    }
  }
  return "";
}

std::string HintForMissingDashes(const Verb& verb, const std::vector<std::string>& args) {
  if (!verb.takes_command) return "";
  const size_t at = FirstPlainWord(verb, args);
  for (size_t i = 0; i < at; ++i) {  // what is wrong is an option, then
    if (StartsWith(args[i], "-") && !IsKnown(verb, args[i])) return "";
  }
  if (at == args.size() || EndsWith(args[at], ".yaml") || EndsWith(args[at], ".yml")) return "";
  std::string line = "stoker " + verb.name;
  for (size_t i = 0; i < args.size(); ++i) {
    if (i == at) line += " --";
    line += " " + AsTyped(args[i]);
  }
  return "Put the command after '--': " + line;
}

std::string AsTyped(const std::string& word) {
  constexpr std::string_view kPlain = "._-/:=,@%+";
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
    return IsAlnum(c) || kPlain.find(c) != std::string_view::npos;
  });
  return plain ? word : ShellQuote(Printable(word));
}

std::string OptionWithoutValue(const Verb& verb, const std::vector<std::string>& args) {
  for (const std::string& arg : args) {
    const size_t sign = arg.find('=');
    if (!StartsWith(arg, "--") || sign == std::string::npos || sign + 1 != arg.size()) continue;
    if (OptionNamed(verb, arg.substr(0, sign)) != nullptr) return arg;
  }
  return "";
}

}  // namespace stoker::cli
