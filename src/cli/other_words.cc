// SPDX-License-Identifier: Apache-2.0
#include "cli/other_words.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace stoker::cli {
namespace {

constexpr char kListOrShow[] = "'stoker ls' lists jobs, 'stoker show JOB' tells the story of one";
constexpr char kRun[] = "'stoker run job.yaml' or 'stoker run -- python3 train.py' starts a job";
constexpr char kCancel[] = "'stoker cancel JOB' ends a job";
constexpr char kNoCluster[] =
    "'stoker cancel JOB' ends a job and its machines: there is no cluster to take down";
constexpr char kGpus[] =
    "A job sees this machine's GPUs; CUDA_VISIBLE_DEVICES chooses some of them";
constexpr char kMachine[] = "Jobs run on this machine so far: there is no other to choose";

const Option* OptionNamed(const Verb& verb, const std::string& name) {
  for (const Option& option : verb.options) {
    const std::vector<std::string> names = Split(option.names, ',');
    if (std::find(names.begin(), names.end(), name) != names.end()) return &option;
  }
  return nullptr;
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
      {"download", "'stoker get JOB' fetches what a job made"},
      {"pull", "'stoker get JOB' fetches what a job made"},
      {"check", "'stoker doctor' checks this machine and the store"},
      {"ssh", "There is no machine to log in to: 'stoker logs -f JOB' follows a job"},
      {"init", "There is nothing to set up: 'stoker run -- python3 train.py' starts a job"},
  };
  const auto found = hints.find(name);
  return found == hints.end() ? "" : found->second;
}

std::string HintForForeignFlag(const std::string& name) {
  static const std::map<std::string, std::string> hints = {
      {"--gpus", kGpus},
      {"--gpu", kGpus},
      {"--accelerators", kGpus},
      {"--cloud", kMachine},
      {"--region", kMachine},
      {"--zone", kMachine},
      {"--instance-type", kMachine},
      {"--cpus", kMachine},
      {"--use-spot", "'--spot' accepts machines that may be interrupted"},
      {"--time", "'--max-duration 8h' stops the job after so much time of the program"},
      {"--background", "'--detach' prints the job's id and returns at once"},
  };
  const auto found = hints.find(name);
  return found == hints.end() ? "" : found->second;
}

std::string HintForMissingDashes(const Verb& verb, const std::vector<std::string>& args) {
  if (!verb.takes_command) return "";
  const size_t at = FirstPlainWord(verb, args);
  for (size_t i = 0; i < at; ++i) {  // what is wrong is an option, then
    const std::string name = args[i].substr(0, args[i].find('='));
    if (StartsWith(name, "--") && name != "--json" && OptionNamed(verb, name) == nullptr) return "";
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
