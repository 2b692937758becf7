// SPDX-License-Identifier: Apache-2.0
// The command line: parsed with CLI11 out of the table of verbs; errors name the nearest word.
#include <CLI/CLI.hpp>

#include <csignal>

#include "base/text.h"
#include "cli/other_words.h"
#include "cli/terminal/context.h"
#include "cli/verb.h"

namespace stoker::cli {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

// `text` in lines of at most `width` columns.
std::string Wrapped(const std::string& text, size_t width) {
  std::string out;
  size_t column = 0;
  for (const std::string& word : Split(text, ' ')) {
    const bool fits = column + 1 + word.size() <= width;
    if (column > 0) out += fits ? ' ' : '\n';
    column = column > 0 && fits ? column + 1 + word.size() : word.size();
    out += word;
  }
  return out + "\n";
}

std::string ExamplesAndExitCodes(const Verb& verb) {
  std::string out = "Exit codes:\n  0         It worked\n";
  std::vector<std::pair<std::string, std::string>> codes = {{"1", "It did not; the error says why"},
                                                            {"2", "The command line is wrong"}};
  codes.insert(codes.end(), verb.exit_codes.begin(), verb.exit_codes.end());
  for (const auto& [code, meaning] : codes) {
    out += "  " + code + std::string(10 - std::min<size_t>(9, code.size()), ' ') + meaning + "\n";
  }
  if (verb.examples.empty()) return out;
  out += "\nExamples:\n";
  for (const std::string& example : verb.examples) out += "  $ " + example + "\n";
  return out;
}

void AddOption(CLI::App& app, const Option& option) {
  CLI::Option* added = std::visit(
      [&](auto* target) -> CLI::Option* {
        using T = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::is_same_v<T, bool>) {
          return app.add_flag(option.names, *target, option.help);
        } else {
          return app.add_option(option.names, *target, option.help);
        }
      },
      option.target);
  // What is not a flag shows what it takes; a place in the line is named already.
  const bool flag = std::holds_alternative<bool*>(option.target);
  if (!flag) {
    added->type_name(!option.choices.empty()  ? Join(option.choices, "|")
                     : option.names[0] != '-' ? ""
                                              : option.value);
  }
  if (option.required) added->required();
  if (!option.choices.empty()) {
    // In any case, and then as it is written in the table.
    added->transform(CLI::IsMember(option.choices, CLI::ignore_case).description(""));
  }
  if (std::holds_alternative<std::vector<std::string>*>(option.target) && option.names[0] == '-') {
    // One value each time it is given: without the second call the library lets such an option
    // take every word that follows, the job file too.
    added->take_all()->allow_extra_args(false);
  }
}

std::vector<std::string> OptionNames(const Verb& verb) {
  std::vector<std::string> names = {"--json", "--help"};
  for (const Option& option : verb.options) {
    for (const std::string& name : Split(option.names, ',')) {
      if (name[0] == '-') names.push_back(name);
    }
  }
  return names;
}

std::string Hint(const Verb& verb, const std::vector<std::string>& args, bool has_command) {
  const std::string dashes = has_command ? "" : HintForMissingDashes(verb, args);
  if (!dashes.empty()) return dashes;
  const std::vector<std::string> known = OptionNames(verb);
  std::vector<std::string> words;  // without their dashes, which would make all of them near
  for (const std::string& name : known) {
    if (StartsWith(name, "--")) words.push_back(name.substr(2));
  }
  for (const std::string& arg : args) {
    const std::string name = arg.substr(0, arg.find('='));
    if (name.size() < 2 || name[0] != '-') continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (const std::string hint = HintForForeignFlag(verb.name, name); !hint.empty()) return hint;
    // Of one letter every other is near.
    const std::string near = StartsWith(name, "--") ? Nearest(name.substr(2), words) : "";
    if (!near.empty())
      return "Did you mean '--" + near + "'? See 'stoker " + verb.name + " --help'";
  }
  const std::string extra = HintForExtraWord(verb, args);
  return !extra.empty() ? extra : "See 'stoker " + verb.name + " --help'";
}

std::string Overview(const std::vector<Verb>& verbs) {
  std::string out =
      "stoker: managed ML training on unmanaged machines. There is no server: a folder or a\n"
      "bucket of yours holds everything.\n\n"
      "Usage: stoker VERB [options]\n\nVerbs:\n";
  for (const Verb& verb : verbs) {
    if (verb.hidden) continue;
    out += "  " + verb.name + std::string(13 - std::min<size_t>(12, verb.name.size()), ' ') +
           verb.summary + "\n";
  }
  return out +
         "\n  $ stoker run -- python3 train.py --epochs 20\n  $ stoker run job.yaml\n  $ stoker "
         "ls\n\n"
         "Every verb has --help and --json. JOB is an id, the start of an id, a name (the newest "
         "job\n"
         "with that name; to cancel, preempt, wait and follow, the newest that has not ended) or "
         "'-'\n(your last job).\n";
}

int Report(Context& context, const Status& status) {
  if (status.ok()) return context.exit_code;
  context.PrintError(status);
  if (context.exit_code != 0) return context.exit_code;
  return status.Is(Code::kUsage) ? kExitUsage : kExitFailure;
}

Status Parse(Verb& verb, std::vector<std::string> args, Context& context, bool* done) {
  CLI::App app(Wrapped(verb.description, 90), "stoker " + verb.name);
  app.footer(ExamplesAndExitCodes(verb));
  app.add_flag("--json", context.json, "Print JSON, in a form that stays stable");
  for (const Option& option : verb.options) AddOption(app, option);
  const std::vector<std::string> given = args;
  if (const std::string hint = HintForOtherMeaning(verb.name, args); !hint.empty()) {
    return Status(Code::kUsage, "stoker " + verb.name + ": '-n' takes no number", hint);
  }
  if (const std::string option = OptionWithoutValue(verb, args); !option.empty()) {
    return Status(Code::kUsage,
                  "stoker " + verb.name + ": '" + Printable(option) + "' has no value",
                  "Give it one, or leave it out");
  }
  std::reverse(args.begin(), args.end());  // CLI11 takes them last first
  try {
    app.parse(args);
    for (const CLI::Option* each : app.parse_order()) context.given.push_back(each->get_name());
  } catch (const CLI::CallForHelp&) {
    context.Print(app.help());
    *done = true;
  } catch (const CLI::ParseError& error) {
    return Status(Code::kUsage, "stoker " + verb.name + ": " + error.what(),
                  Hint(verb, given, context.has_command));
  }
  return Status::Ok();
}

Status RunVerbByName(std::vector<Verb>& verbs, const std::string& name,
                     std::vector<std::string> args, Context& context) {
  for (Verb& verb : verbs) {
    if (verb.name != name) continue;
    const auto dashes = std::find(args.begin(), args.end(), "--");
    if (dashes != args.end()) {
      if (!verb.takes_command) {
        return Status(Code::kUsage, "stoker " + name + ": '--' is not expected here",
                      "Only 'stoker run' takes a command after '--'");
      }
      context.has_command = true;
      context.command.assign(dashes + 1, args.end());
      args.erase(dashes, args.end());
    }
    bool done = false;
    STOKER_TRY(Parse(verb, args, context, &done));
    return done ? Status::Ok() : verb.run(context);
  }
  std::vector<std::string> names;
  for (const Verb& verb : verbs) names.push_back(verb.name);
  const std::string known = HintForForeignVerb(name);
  const std::string near = known.empty() ? Nearest(name, names) : "";
  return Status(Code::kUsage, "no such verb: '" + Printable(name) + "'",
                !known.empty() ? known
                : near.empty() ? "See 'stoker --help'"
                               : "Did you mean 'stoker " + near + "'?");
}

}  // namespace

int Main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  Context context;
  std::vector<std::string> args(argv + 1, argv + argc);
  std::vector<Verb> verbs = AllVerbs();
  // "stoker --json ls" and "stoker help ls", as other tools have it.
  const bool early_json = args.size() > 1 && args[0] == "--json";
  if (early_json) std::rotate(args.begin(), args.begin() + 1, args.begin() + 2);
  if (args.size() > 1 && args[0] == "help") args = {args[1], "--help"};
  if (args.empty() || args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    context.Print(Overview(verbs));
    return args.empty() ? kExitUsage : 0;
  }
  std::string name = args[0] == "--version" ? "version" : args[0];
  args.erase(args.begin());
  // So that an error in the command line itself also comes as JSON where JSON was asked for.
  const auto dashes = std::find(args.begin(), args.end(), "--");
  context.json = std::find(args.begin(), dashes, "--json") != dashes;
  return Report(context, RunVerbByName(verbs, name, std::move(args), context));
}

}  // namespace stoker::cli
