// SPDX-License-Identifier: Apache-2.0
// A job file without `workdir` that names files beside it: no code goes along with the job.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "spec/parse_state.h"

namespace stoker {
namespace {

constexpr size_t kMostWords = 2000;  // of scripts that are looked through
constexpr size_t kNamed = 3;

// The words of a script, as far as can be told without a shell.
std::vector<std::string> WordsOf(std::string_view script) {
  constexpr std::string_view kBetween = " \t\r\n;|&()<>\"'`=";
  std::vector<std::string> words;
  for (size_t at = 0; at < script.size() && words.size() < kMostWords;) {
    const size_t begin = script.find_first_not_of(kBetween, at);
    if (begin == std::string_view::npos) break;
    at = std::min(script.find_first_of(kBetween, begin), script.size());
    words.emplace_back(script.substr(begin, at - begin));
  }
  return words;
}

// The first command of a script: nothing that stands before it can have made its files.
std::string_view FirstCommand(std::string_view script) {
  for (size_t at = 0; at < script.size();) {
    const size_t end = std::min(script.find('\n', at), script.size());
    const std::string_view line = script.substr(at, end - at);
    at = end + 1;
    const size_t first = line.find_first_not_of(" \t\r");
    const bool nothing = first == std::string_view::npos || line[first] == '#' ||
                         StartsWith(line.substr(first), "set ") ||
                         StartsWith(line.substr(first), "export ");
    if (!nothing) return line.substr(first, line.find_first_of(";|&", first) - first);
  }
  return "";
}

class CodeBeside {
 public:
  explicit CodeBeside(const ParseOptions& options) : options_(options) {}

  // The path of `word` beside the job file; "" = there is none.
  std::string At(const std::string& word) const {
    const std::string path = StartsWith(word, "./") ? word.substr(2) : word;
    // A word without a dot or slash is more likely a program than a file.
    const bool likely = path.find_first_of("./") != std::string::npos;
    if (!likely || word[0] == '-' || !IsSafeRelativePath(path)) return "";
    return options_.exists(options_.base_dir + "/" + path) ? path : "";
  }

  std::vector<std::string> Named(const std::vector<std::string>& words) const {
    std::set<std::string> seen;
    std::vector<std::string> named;
    for (const std::string& word : words) {
      const std::string path = At(word);
      if (!path.empty() && seen.insert(path).second) named.push_back(path);
    }
    return named;
  }

 private:
  const ParseOptions& options_;
};

}  // namespace

void CheckCodeGoesAlong(ParseState* state) {
  const ParseOptions& options = state->options;
  const JobSpec& spec = state->spec;
  // A workdir that is wrong has its own error.
  const bool file =
      !options.standing.empty() && options.exists != nullptr && state->places.count("workdir") == 0;
  if (!file || state->judge == Judge::kStored || !spec.workdir.empty()) return;
  const CodeBeside beside(options);
  const bool is_argv = !spec.argv.empty();
  const std::string key = is_argv ? "command" : "run";
  const std::vector<std::string> first = is_argv ? spec.argv : WordsOf(FirstCommand(spec.run));
  const std::string program = spec.setup.empty() ? beside.At(ProgramFileOf(first)) : "";
  if (!program.empty()) {
    state->reader.Error(state->PlaceOf(key),
                        "'" + key + "' starts " + program +
                            ", which lies beside the job file, but no code goes along with the "
                            "job: there is no 'workdir'",
                        "Write 'workdir: .' to take the job file's folder along");
    return;
  }
  std::string scripts = spec.setup + "\n" + spec.run;
  for (const HookName& hook : kHookNames) scripts += "\n" + (spec.hooks.*hook.which).run;
  std::vector<std::string> words = WordsOf(scripts);
  words.insert(words.end(), spec.argv.begin(), spec.argv.end());
  std::vector<std::string> named = beside.Named(words);
  if (named.empty()) return;
  const bool more = named.size() > kNamed;
  named.resize(std::min(named.size(), kNamed));
  state->notes.push_back(
      "no code goes along with the job: it starts in an empty folder, as there is no 'workdir'. It "
      "names " +
      Join(named, ", ") + (more ? " and more" : "") +
      " beside the job file: write 'workdir: .' to take that folder along");
}

}  // namespace stoker
