// SPDX-License-Identifier: Apache-2.0
// The one-line form, and names.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "spec/parse.h"
#include "spec/parse_state.h"

namespace stoker {
namespace {

std::string BaseName(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

constexpr std::array<std::string_view, 8> kScriptEndings = {".py", ".sh", ".bash", ".R",
                                                            ".jl", ".pl", ".rb",   ".js"};

std::string WithoutEnding(const std::string& name) {
  for (const std::string_view ending : kScriptEndings) {
    if (name.size() > ending.size() && EndsWith(name, ending)) {
      return name.substr(0, name.size() - ending.size());
    }
  }
  return name;
}

// Programs that start another one, which is what people call the job.
bool IsLauncher(const std::string& program) {
  static constexpr std::array<std::string_view, 26> kLaunchers = {
      "sh",      "bash",       "zsh",     "dash",     "env",      "nice",       "nohup",
      "time",    "timeout",    "stdbuf",  "xvfb-run", "torchrun", "accelerate", "deepspeed",
      "uv",      "poetry",     "pipenv",  "conda",    "mamba",    "micromamba", "mpirun",
      "mpiexec", "horovodrun", "Rscript", "julia",    "node"};
  return StartsWith(program, "python") || StartsWith(program, "pypy") ||
         std::find(kLaunchers.begin(), kLaunchers.end(), program) != kLaunchers.end();
}

}  // namespace

std::string SafeNameFrom(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (IsAlnum(c) || c == '.' || c == '_' || c == '-') {
      out += c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  const auto first = std::find_if(out.begin(), out.end(), IsAlnum);
  out.erase(out.begin(), first);
  out.resize(std::min<size_t>(out.size(), 63));
  while (!out.empty() && !IsAlnum(out.back())) out.pop_back();
  return out.empty() ? "job" : out;
}

std::string NameFromCommand(const std::vector<std::string>& argv) {
  if (argv.empty()) return "job";
  const std::string program = BaseName(argv[0]);
  if (!IsLauncher(program)) return SafeNameFrom(WithoutEnding(program));
  for (size_t i = 1; i < argv.size(); ++i) {
    if ((argv[i] == "-m" || argv[i] == "--module") && i + 1 < argv.size()) {
      const std::string module = argv[i + 1].substr(argv[i + 1].rfind('.') + 1);
      // `python -m torch.distributed.run train.py`: a launcher again.
      if (module != "run" && module != "launch") return SafeNameFrom(module);
      ++i;
      continue;
    }
    // A command in a string ("-c") says nothing short.
    if (argv[i] == "-c") break;
    const std::string name = BaseName(argv[i]);
    if (!StartsWith(argv[i], "-") && WithoutEnding(name) != name) {
      return SafeNameFrom(WithoutEnding(name));
    }
  }
  return SafeNameFrom(program);
}

std::string ProgramFileOf(const std::vector<std::string>& argv) {
  if (argv.empty()) return "";
  if (!IsLauncher(BaseName(argv[0]))) return argv[0].find('/') != std::string::npos ? argv[0] : "";
  for (size_t i = 1; i < argv.size(); ++i) {
    if (argv[i] == "-m" || argv[i] == "--module" || argv[i] == "-c") return "";
    const std::string name = BaseName(argv[i]);
    if (!StartsWith(argv[i], "-") && WithoutEnding(name) != name) return argv[i];
  }
  return "";
}

Result<JobSpec> SpecFromCommand(const std::vector<std::string>& argv, const ParseOptions& options,
                                std::vector<std::string>* notes) {
  ParseState state(options, Judge::kSubmitted);
  state.has_command = true;
  state.spec.name = NameFromCommand(argv);
  ApplyDefaults(&state);
  YamlNode place;
  SpecReader reader("command line");
  SetCommand(argv, place, Judge::kSubmitted, &reader, &state.spec);
  if (!options.overrides.workdir && !options.base_dir.empty()) {
    place.kind = YamlNode::Kind::kScalar;
    place.text = options.base_dir;
    ReadWorkdir(place, &reader, &state);
  }
  for (SpecError& error : reader.errors()) state.reader.errors().push_back(std::move(error));
  ApplyOverrides(&state);
  FinishSpec(&state);
  std::vector<SpecError>& errors = state.reader.errors();
  if (errors.empty()) {
    if (notes != nullptr) *notes = std::move(state.notes);
    return std::move(state.spec);
  }
  for (SpecError& error : errors) {
    if (error.line > 0) error.file = "command line";
    error.line = error.column = 0;
  }
  return ErrorsToStatus(std::move(errors));
}

}  // namespace stoker
