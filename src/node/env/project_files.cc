// SPDX-License-Identifier: Apache-2.0
#include "node/env/project_files.h"

#include "base/text.h"
#include "node/env/export_lock.h"
#include "node/env/make_env.h"
#include "node/env/pip_words.h"
#include "node/env/project/choose_project.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

constexpr char kReadProject[] =
    "import os, sys\n"
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
    "for x in p.get('dependencies') or []: print('need ' + ' '.join(str(x).split()))\n"
    "uv = (all.get('tool') or {}).get('uv') or {}\n"
    "for x in uv.get('sources') or {}: print('source ' + str(x))\n"
    "for x in uv.get('index') or []:\n"
    "  kind = 'flat' if x.get('format') == 'flat' else 'default' if x.get('default') else 'extra'\n"
    "  url = ''.join(str(x.get('url') or '').split())\n"
    "  print('index', kind, url if '://' in url else os.path.abspath(url))\n";

Status OtherPython(const std::string& version, const std::string& what) {
  return Status(Code::kInvalid, what + ", and python3 here is " + version,
                "Use an image or an environment with that Python" + std::string(kWithWhatIsThere));
}

struct ReadOfProject {
  std::string python;
  bool dynamic = false;
  std::string needs;                 // lines
  std::vector<std::string> sources;  // names that have one of their own
  std::vector<ProjectIndex> indexes;
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
    if (StartsWith(line, "source ")) project.sources.push_back(line.substr(7));
    if (StartsWith(line, "index ")) {
      const size_t url = line.find(' ', 6);
      project.indexes.push_back({line.substr(6, url - 6), line.substr(url + 1)});
    }
    if (StartsWith(line, "need ")) project.needs += line.substr(5) + "\n";
  }
  return project;
}

}  // namespace

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
  const std::vector<std::string> elsewhere = NeedsWithSource(project.needs, project.sources);
  if (!lock && !elsewhere.empty()) {
    by.Say("pyproject.toml is not installed: its [tool.uv.sources] say where " +
           Printable(Join(elsewhere, ", ")) +
           " comes from, and an index may have another package of that name. For a job to have "
           "it: uv export --emit-index-url -o requirements.txt");
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
    STOKER_ASSIGN(const bool exported, ExportLock(by, ask, project.indexes, file));
    if (!exported) return std::optional<std::string>();
  } else {
    STOKER_TRY(sys::WriteFileAtomic(file, project.needs, 0600, false));
  }
  return std::optional<std::string>(file);
}

}  // namespace stoker::node
