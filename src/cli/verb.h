// SPDX-License-Identifier: Apache-2.0
// A verb is data: the parser, the help, the completion scripts and the man page are made from the
// same table. Only cli/parse.cc knows the command-line library.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"

namespace stoker::cli {

class Context;

using Target =
    std::variant<bool*, int*, std::string*, std::optional<std::string>*, std::vector<std::string>*>;

struct Option {
  std::string names;  // "-f,--follow"; without a dash it is positional: "JOB"
  std::string help;
  Target target;           // owned by the verb's Verb::options_owner
  std::string value = {};  // what the value is called in help: "N", "TIME"
  bool required = false;
  std::vector<std::string> choices = {};  // offered by completion and enforced; empty = any
};

struct Verb {
  std::string name;
  std::string summary;      // one line
  std::string description;  // a paragraph
  std::vector<std::string> examples;
  // What it ends with besides 0 (done), 1 (failed) and 2 (a wrong command line): "130", "Ctrl-C".
  std::vector<std::pair<std::string, std::string>> exit_codes = {};
  std::vector<Option> options;
  std::function<Status(Context&)> run;  // sets Context::exit_code for those of `exit_codes`
  std::shared_ptr<void> options_owner;
  bool takes_command = false;  // words after "--" are a command
  bool hidden = false;
};

// One that does `run` with what its options have left in `options`.
template <class Options>
Verb VerbOf(const std::shared_ptr<Options>& options,
            Status (*run)(Context& context, const Options& options)) {
  Verb verb;
  verb.run = [options, run](Context& context) { return run(context, *options); };
  verb.options_owner = options;
  return verb;
}

// Every verb of the tool, in the order of the help.
std::vector<Verb> AllVerbs();

// One function a verb; each lives in the file of its name.
Verb RunVerb();
Verb LsVerb();
Verb ShowVerb();
Verb LogsVerb();
Verb MetricsVerb();
Verb CompareVerb();
Verb TensorboardVerb();
Verb WaitVerb();
Verb CancelVerb();
Verb RetryVerb();
Verb RenameVerb();
Verb NoteVerb();
Verb TagVerb();
Verb PreemptVerb();
Verb MoveVerb();
Verb GetVerb();
Verb CheckpointsVerb();
Verb PlacesVerb();
Verb SshVerb();
Verb UiVerb();
Verb SyncVerb();
Verb RmVerb();
Verb GcVerb();
Verb ControllerVerb();
Verb DoctorVerb();
Verb ConfigVerb();
Verb NotifyVerb();
Verb CompletionVerb();
Verb VersionVerb();

// Parses `argv` by the table and runs the verb; returns the process's exit code.
int Main(int argc, char** argv);

// Scripts and pages made from the table.
std::string CompletionScript(const std::vector<Verb>& verbs, const std::string& shell);
std::string ManPage(const std::vector<Verb>& verbs);

}  // namespace stoker::cli
