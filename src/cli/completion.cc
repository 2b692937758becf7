// SPDX-License-Identifier: Apache-2.0
// Completion scripts and the man page, out of the table of verbs.
#include <cstdio>

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/verb.h"

namespace stoker::cli {
namespace {

std::vector<std::string> Flags(const Verb& verb) {
  std::vector<std::string> flags = {"--json", "--help"};
  for (const Option& option : verb.options) {
    for (const std::string& name : Split(option.names, ',')) {
      if (StartsWith(name, "-")) flags.push_back(name);
    }
  }
  return flags;
}

std::vector<std::string> Choices(const Verb& verb) {
  for (const Option& option : verb.options) {
    if (!StartsWith(option.names, "-") && !option.choices.empty()) return option.choices;
  }
  return {};
}

bool TakesInfra(const Verb& verb) {
  for (const Option& option : verb.options) {
    if (option.names == "--infra") return true;
  }
  return false;
}

bool TakesJob(const Verb& verb) {
  for (const Option& option : verb.options) {
    if (option.names == "JOB" || option.names == "JOBS") return true;
  }
  return false;
}

std::string VerbNames(const std::vector<Verb>& verbs) {
  std::vector<std::string> names;
  for (const Verb& verb : verbs) {
    if (!verb.hidden) names.push_back(verb.name);
  }
  return Join(names, " ");
}

constexpr char kPlaceWords[] = "stoker places --words 2>/dev/null";
constexpr char kJobWords[] = "stoker ls --all --ids 2>/dev/null";

std::string Bash(const std::vector<Verb>& verbs) {
  std::string out =
      "# bash completion for stoker:  source <(stoker completion bash)\n"
      "_stoker() {\n  local cur=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} words=\n  "
      "COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n    COMPREPLY=($(compgen -W \"" +
      VerbNames(verbs) + "\" -- \"$cur\"))\n    return\n  fi\n  case $verb in\n";
  for (const Verb& verb : verbs) {
    if (verb.hidden) continue;
    out += "    " + verb.name + ")\n      if [[ $cur == -* ]]; then words=\"" +
           Join(Flags(verb), " ") + "\"\n";
    if (TakesInfra(verb)) {
      out += "      elif [[ ${COMP_WORDS[COMP_CWORD-1]} == --infra ]]; then words=$(" +
             std::string(kPlaceWords) + ")\n";
    }
    if (TakesJob(verb)) {
      out += "      else words=$(" + std::string(kJobWords) + ")\n";
    } else if (!Choices(verb).empty()) {
      out += "      else words=\"" + Join(Choices(verb), " ") + "\"\n";
    }
    out += "      fi ;;\n";
  }
  return out +
         "  esac\n  if [[ -n $words ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "  else COMPREPLY=($(compgen -f -- \"$cur\")); fi\n}\ncomplete -o filenames -F _stoker "
         "stoker\n";
}

std::string ZshWord(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (c == '[' || c == ']' || c == ':')
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out;
}

std::string Zsh(const std::vector<Verb>& verbs) {
  std::string out =
      "#compdef stoker\n# zsh completion for stoker:  source <(stoker completion zsh)\n_stoker() "
      "{\n"
      "  local -a verbs jobs\n  verbs=(\n";
  for (const Verb& verb : verbs) {
    if (!verb.hidden) out += "    '" + verb.name + ":" + ZshWord(verb.summary) + "'\n";
  }
  out += "  )\n  if ((CURRENT == 2)); then _describe verb verbs; return; fi\n  case $words[2] in\n";
  for (const Verb& verb : verbs) {
    if (verb.hidden) continue;
    out += "    " + verb.name + ")\n      if [[ $words[CURRENT] == -* ]]; then compadd -- " +
           Join(Flags(verb), " ") + "\n";
    if (TakesInfra(verb)) {
      out += "      elif [[ $words[CURRENT-1] == --infra ]]; then jobs=(${(f)\"$(" +
             std::string(kPlaceWords) + ")\"}); compadd -a jobs\n";
    }
    if (TakesJob(verb)) {
      out += "      else jobs=(${(f)\"$(" + std::string(kJobWords) + ")\"}); compadd -a jobs\n";
    } else if (!Choices(verb).empty()) {
      out += "      else compadd -- " + Join(Choices(verb), " ") + "\n";
    } else {
      out += "      else _files\n";
    }
    out += "      fi ;;\n";
  }
  return out +
         "  esac\n}\nif [[ $funcstack[1] == _stoker ]]; then _stoker \"$@\"; else compdef _stoker "
         "stoker; fi\n";
}

std::string FishQuote(std::string_view text) {
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

std::string Fish(const std::vector<Verb>& verbs) {
  std::string out = "# fish completion for stoker:  stoker completion fish | source\n";
  for (const Verb& verb : verbs) {
    if (verb.hidden) continue;
    const std::string on = "-n '__fish_seen_subcommand_from " + verb.name + "'";
    out += "complete -c stoker -f -n __fish_use_subcommand -a " + verb.name + " -d " +
           FishQuote(verb.summary) + "\n";
    for (const std::string& flag : Flags(verb)) {
      const bool is_long = StartsWith(flag, "--");
      out += "complete -c stoker " + on + (is_long ? " -l " : " -s ") +
             flag.substr(is_long ? 2 : 1) +
             (flag == "--infra" ? " -x -a '(" + std::string(kPlaceWords) + ")'" : "") + "\n";
    }
    if (TakesJob(verb)) out += "complete -c stoker -f " + on + " -a '(" + kJobWords + ")'\n";
    for (const std::string& choice : Choices(verb)) {
      out += "complete -c stoker -f " + on + " -a " + choice + "\n";
    }
  }
  return out;
}

// The character that begins at `at`, not ASCII, as troff knows it: \[u2026].
std::string RoffCharacter(std::string_view text, size_t* at) {
  const auto lead = static_cast<unsigned char>(text[*at]);
  const size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
  unsigned code = lead & (0x3fu >> more);
  for (size_t i = 0; i < more && *at + 1 < text.size(); ++i) {
    code = code << 6 | (static_cast<unsigned char>(text[++*at]) & 0x3f);
  }
  char name[16];
  std::snprintf(name, sizeof name, "\\[u%04X]", code);
  return name;
}

// A line that begins with a dot or a quote would be a request to troff.
std::string Roff(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) >= 0x80)
      out += RoffCharacter(text, &i);
    else if (text[i] == '\\')
      out += "\\e";
    else if (text[i] == '-')
      out += "\\-";
    else
      out += text[i];
  }
  return !out.empty() && (out[0] == '.' || out[0] == '\'') ? "\\&" + out : out;
}

struct CompletionOptions {
  std::string shell;
};

Status RunCompletion(Context& context, const CompletionOptions& options) {
  const std::vector<Verb> verbs = AllVerbs();
  const std::string text =
      options.shell == "man" ? ManPage(verbs) : CompletionScript(verbs, options.shell);
  context.Print(context.json ? nlohmann::json(text).dump() + "\n" : text);
  return Status::Ok();
}

}  // namespace

std::string CompletionScript(const std::vector<Verb>& verbs, const std::string& shell) {
  if (shell == "zsh") return Zsh(verbs);
  if (shell == "fish") return Fish(verbs);
  return Bash(verbs);
}

std::string ManPage(const std::vector<Verb>& verbs) {
  std::string out =
      ".TH STOKER 1\n.SH NAME\nstoker \\- managed ML training on unmanaged machines\n.SH SYNOPSIS\n"
      ".B stoker\n.I VERB\n[options]\n.SH VERBS\n";
  for (const Verb& verb : verbs) {
    if (verb.hidden) continue;
    out += ".SS " + Roff(verb.name) + "\n" + Roff(verb.description) + "\n";
    for (const Option& option : verb.options) {
      out += ".TP\n.B " + Roff(option.names) +
             (option.value.empty() ? "" : " " + Roff(option.value)) + "\n" + Roff(option.help) +
             "\n";
    }
    for (const std::string& example : verb.examples)
      out += ".PP\n.nf\n$ " + Roff(example) + "\n.fi\n";
  }
  return out +
         ".SH EXIT STATUS\n.BR run \" and \" wait\nend with the exit code of the job's program "
         "(128 + N when signal N ended it); else 2 for a wrong command line and 1 for any other "
         "failure.\n.SH FILES\n"
         ".I ~/.config/stoker/config.yaml\n";
}

Verb CompletionVerb() {
  auto options = std::make_shared<CompletionOptions>();
  Verb verb;
  verb.name = "completion";
  verb.summary = "Print a completion script or the man page";
  verb.description = "Prints the completion script for a shell, or the man page.";
  verb.examples = {"source <(stoker completion bash)", "stoker completion fish | source",
                   "stoker completion man | man -l -"};
  verb.options = {{"SHELL",
                   "A shell, or 'man' for the man page",
                   &options->shell,
                   "",
                   true,
                   {"bash", "zsh", "fish", "man"}}};
  verb.run = [options](Context& context) { return RunCompletion(context, *options); };
  verb.options_owner = options;
  return verb;
}

}  // namespace stoker::cli
