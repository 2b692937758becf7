// SPDX-License-Identifier: Apache-2.0
#include "node/env/project_files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/text.h"
#include "node/env/make_env.h"
#include "node/env/pip_words.h"
#include "node/env/uv.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

constexpr size_t kMostTold = 5;

// In the order in which they count.
constexpr std::string_view kUsed[] = {"requirements.txt", "uv.lock", "poetry.lock", "pdm.lock",
                                      "pyproject.toml"};
struct Unused {
  std::string_view file;
  std::string_view instead;
};
constexpr Unused kUnused[] = {
    {"environment.yml",
     "echo '# environment.yml' > requirements.txt, which conda, mamba or micromamba then makes; or "
     "submit from its environment"},
    {"environment.yaml",
     "echo '# environment.yaml' > requirements.txt, which conda, mamba or micromamba then makes; "
     "or "
     "submit from its environment"},
    {"Pipfile", "pipenv requirements > requirements.txt"},
    {"setup.py", "echo '-e .' > requirements.txt"}};

constexpr char kReadProject[] =
    "import sys\n"
    "try: import tomllib as t\n"
    "except ImportError:\n"
    "  try: import tomli as t\n"
    "  except ImportError:\n"
    "    try: from pip._vendor import tomli as t\n"
    "    except ImportError: sys.exit('this Python reads no TOML')\n"
    "try:\n"
    "  with open('pyproject.toml', 'rb') as f: all = t.load(f)\n"
    "except ValueError as no: sys.exit(str(no))\n"
    "p = all.get('project') or {}\n"
    "if 'requires-python' in p: print('python ' + str(p['requires-python']))\n"
    "if 'dependencies' in (p.get('dynamic') or []): print('dynamic')\n"
    "for x in p.get('dependencies') or []: print('need ' + ' '.join(str(x).split()))\n";

using Numbers = std::array<int, 3>;

// "3.11.*" are two; `count` of them were there.
Numbers Parse(std::string_view text, size_t* count) {
  Numbers numbers{};
  *count = 0;
  for (const std::string& part : Split(std::string(text), '.')) {
    if (*count == numbers.size()) break;
    const auto got = std::from_chars(part.data(), part.data() + part.size(), numbers[*count]);
    if (got.ec != std::errc()) break;
    ++*count;
  }
  return numbers;
}

bool SameStart(const Numbers& a, const Numbers& b, size_t count) {
  return std::equal(a.begin(), a.begin() + static_cast<ptrdiff_t>(count), b.begin());
}

bool OneAllows(const Numbers& is, const std::string& part) {
  const size_t digits = part.find_first_of("0123456789");
  if (digits == std::string::npos) return true;
  std::string sign = part.substr(0, digits);
  std::erase(sign, ' ');
  size_t count = 0;
  const Numbers wanted = Parse(part.substr(digits), &count);
  const bool star = part.find('*') != std::string::npos;
  if (sign == ">=") return is >= wanted;
  if (sign == ">") return is > wanted;
  if (sign == "<=") return is <= wanted;
  if (sign == "<") return is < wanted;
  if (sign == "==") return star ? SameStart(is, wanted, count) : is == wanted;
  if (sign == "!=") return star ? !SameStart(is, wanted, count) : is != wanted;
  if (sign == "~=") return is >= wanted && count > 1 && SameStart(is, wanted, count - 1);
  return true;
}

Status OtherPython(const std::string& version, const std::string& what) {
  return Status(Code::kInvalid, what + ", and python3 here is " + version,
                "Use an image or an environment with that Python" + std::string(kWithWhatIsThere));
}

struct ReadOfProject {
  std::string python;
  bool dynamic = false;
  std::string needs;  // lines
};

Result<ReadOfProject> ReadProject(const EnvMaker& by) {
  TextSink said;
  STOKER_ASSIGN(const TaskExit exit,
                by.step.Run(by.Command({"python3", "-c", kReadProject}), said));
  if (exit.ShellCode() != 0) {
    return Status(Code::kInvalid, WhyPipFailed(said.text));
  }
  ReadOfProject project;
  for (const std::string& line : Split(said.text, '\n')) {
    if (StartsWith(line, "python ")) project.python = line.substr(7);
    if (line == "dynamic") project.dynamic = true;
    if (StartsWith(line, "need ")) project.needs += line.substr(5) + "\n";
  }
  return project;
}

Status SayWithoutHash(const EnvMaker& by, const std::string& exported) {
  STOKER_ASSIGN(const std::string text, sys::ReadFile(exported, 1 << 20));
  std::vector<std::string> without = WithoutHash(text);
  if (without.empty()) return Status::Ok();
  const size_t more = without.size() - std::min(without.size(), kMostTold);
  without.resize(without.size() - more);
  by.Say("uv.lock has no hash of " + Join(without, ", ") +
         (more > 0 ? " and " + std::to_string(more) + " more" : "") +
         ", which lies here, comes from git, or whose index tells none; other hashes are checked");
  return Status::Ok();
}

// By the tool that wrote the lock.
Status Export(const EnvMaker& by, const ProjectAsk& ask, const std::string& to) {
  std::vector<std::string> argv;
  std::string instead;
  TaskCommand command = by.Command({});
  if (ask.file == "uv.lock") {
    STOKER_ASSIGN(const PipSettings settings, ReadPipSettings(by));
    const UvAsk uv = AskForUv({}, settings);
    const std::string program = FindUv(by, ask.tools, settings, !uv.no_index);
    argv = {program.empty() ? "uv" : program,
            "export",
            "-q",
            "--frozen",
            "--no-dev",
            "--no-header",
            "--python",
            ask.asked.substr(0, ask.asked.find(' ')),
            "-o",
            to};
    instead = "uv export --frozen --no-dev -o requirements.txt";
    command.env.emplace_back("UV_PYTHON_DOWNLOADS", "never");
  } else if (ask.file == "poetry.lock") {
    argv = {"poetry", "export", "-f", "requirements.txt", "--without-hashes", "-o", to};
    instead = "poetry export -f requirements.txt -o requirements.txt";
  } else {
    argv = {"pdm", "export", "--prod", "--without-hashes", "-f", "requirements", "-o", to};
    instead = "pdm export --prod -f requirements -o requirements.txt";
  }
  command.argv = argv;
  TextSink said;
  const auto exit = by.step.Run(command, said);
  if (by.step.cancelled()) return exit.status();
  if (exit.ok() && exit->ShellCode() == 0 && sys::FileExists(to)) {
    return ask.file == "uv.lock" ? SayWithoutHash(by, to) : Status::Ok();
  }
  const std::string why = WhyPipFailed(said.text);
  return Status(
      Code::kInvalid,
      argv[0] + " export failed" + (why.empty() ? ": it is not on this machine" : ": " + why),
      "Write it down where that is installed: " + instead + kWithWhatIsThere);
}

}  // namespace

ProjectChoice ChooseProject(const std::set<std::string>& files, bool activated) {
  ProjectChoice choice;
  for (const std::string_view name : kUsed) {
    if (files.count(std::string(name)) == 0) continue;
    choice.file = name;
    break;
  }
  // A lock is of a project.
  if (EndsWith(choice.file, ".lock") && files.count("pyproject.toml") == 0) choice.file = "";
  if (choice.file == "requirements.txt") return choice;
  if (activated && !choice.file.empty()) {
    choice.unused = choice.file + " is not used: the job has the environment that you stand in";
    choice.file = "";
  }
  if (!choice.file.empty() || activated) return choice;
  for (const Unused& other : kUnused) {
    if (files.count(std::string(other.file)) == 0) continue;
    choice.unused = std::string(other.file) +
                    " is not used. For a job to have it: " + std::string(other.instead);
    break;
  }
  return choice;
}

bool PythonAllowed(std::string_view version, std::string_view wanted) {
  size_t count = 0;
  const Numbers is = Parse(version, &count);
  const auto parts = Split(std::string(wanted), ',');
  return std::all_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return OneAllows(is, part); });
}

bool PythonIsThat(std::string_view version, std::string_view wanted) {
  size_t count = 0;
  const Numbers is = Parse(version, &count);
  const Numbers that = Parse(wanted.substr(0, wanted.find('\n')), &count);
  return SameStart(is, that, std::min<size_t>(count, 2));
}

std::vector<std::string> WithoutHash(const std::string& exported) {
  std::vector<std::string> without;
  bool open = false;  // the last of `without` may have its hashes below
  for (const std::string& line : Split(exported, '\n')) {
    if (open && line.find("--hash=") != std::string::npos) {
      without.pop_back();
      open = false;
    }
    const bool begins =
        !line.empty() && line[0] != ' ' && line[0] != '#' && !StartsWith(line, "--");
    if (!begins) continue;
    const size_t end = StartsWith(line, "-e ") ? std::string::npos : line.find_first_of(" ;\\");
    without.push_back(Printable(line.substr(0, end)));
    open = line.find("--hash=") == std::string::npos;
    if (!open) without.pop_back();
  }
  return without;
}

std::string DropHashes(const std::string& exported) {
  std::string plain;
  for (const std::string& line : Split(exported, '\n')) {
    if (line.find("--hash=") != std::string::npos) continue;
    plain += line.substr(0, EndsWith(line, " \\") ? line.size() - 2 : line.size()) + "\n";
  }
  return plain;
}

Result<std::optional<std::string>> WriteProjectNeeds(const EnvMaker& by, const ProjectAsk& ask) {
  const bool lock = ask.file != "pyproject.toml";
  const auto read = ReadProject(by);
  if (!read.ok() && by.step.cancelled()) return read.status();
  // Many a pyproject.toml only sets up tools, and a job that ran beside it still does.
  if (!read.ok()) by.Say("pyproject.toml is not read: " + read.status().message());
  const ReadOfProject project = read.ok() ? *read : ReadOfProject();
  if (!lock && project.needs.empty()) {
    if (project.dynamic) {
      by.Say(
          "pyproject.toml computes what it needs, which is not installed. For a job to have it: "
          "echo '-e .' > requirements.txt");
    }
    return std::optional<std::string>();
  }
  const std::string version = PythonVersionOf(ask.asked);
  if (!PythonAllowed(version, project.python)) {
    return OtherPython(version, "pyproject.toml requires Python " + Printable(project.python));
  }
  const auto other = sys::ReadFile(by.workdir + "/.python-version", 4096);
  if (other.ok() && !PythonIsThat(version, *other)) {
    return OtherPython(version,
                       ".python-version says " + Printable(other->substr(0, other->find('\n'))));
  }
  STOKER_TRY(sys::RemoveTree(ask.to));
  STOKER_TRY(sys::MakeDirs(ask.to, 0700));
  const std::string file = ask.to + "/requirements.txt";
  if (lock) {
    STOKER_TRY(sys::MakeDirs(ask.tools, 0700));
    STOKER_TRY(Export(by, ask, file));
  } else {
    STOKER_TRY(sys::WriteFileAtomic(file, project.needs, 0600, false));
  }
  return std::optional<std::string>(file);
}

}  // namespace stoker::node
