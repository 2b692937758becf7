// SPDX-License-Identifier: Apache-2.0
#include "node/env/make_env.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/text.h"
#include "base/time.h"
#include "node/env/kept/env_parts.h"
#include "node/env/login/beside.h"
#include "node/env/package_progress.h"
#include "node/env/pip_words.h"
#include "node/env/project/choose_project.h"
#include "node/env/project/lock_text.h"
#include "node/env/requirement_files.h"
#include "node/env/tail_sink.h"
#include "node/env/uv.h"
#include "node/env/wheel_fetch.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

Status MustSucceed(const std::string& what, const Result<TaskExit>& exit,
                   const std::string& output = "") {
  if (!exit.ok()) return exit.status().WithContext(what);
  if (exit->ShellCode() == 0) return Status::Ok();
  const std::string why = output.empty() ? "" : WhyPipFailed(output);
  std::string next = why.empty() ? "Its last lines are in the log" : "All of it is in the log";
  if (const std::string advice = GitAdvice(output); !advice.empty()) next = advice;
  return Status(Code::kInvalid,
                what + " failed with exit code " + std::to_string(exit->ShellCode()) +
                    (why.empty() ? "" : ": " + why),
                next);
}

// The interpreter that the job's PATH has, what it lacks, and, where it is one of a virtual
// environment, its packages: "parent FOLDER" with the time of their last change, on a line of its
// own.
constexpr char kAsk[] =
    "import sys; print(sys.executable, sys.version)\n"
    "import importlib.util as u\n"
    "for m in ('venv', 'ensurepip'):\n"
    "  if not u.find_spec(m): print('lacks ' + m + (' and pip' if not u.find_spec('pip') else "
    "''))\n"
    "if sys.prefix != sys.base_prefix:\n"
    "  import os, sysconfig; p = sysconfig.get_paths()['purelib']\n"
    "  print('changed', os.stat(p).st_mtime_ns); print('parent ' + p)\n";

// Pip, by its digest: what an index gives under that name is run only if it is that.
constexpr char kPipWheel[] = "pip-25.0.1-py3-none-any.whl";
constexpr char kPipDigest[] = "c46efd13b6aa8279f33f2864459c8ce587ea6a1a59ee20de055868d8f7688f7f";
constexpr char kInstallIt[] =
    "Use an image whose python3 can make environments (on Debian and Ubuntu: apt install "
    "python3-venv), or one that has uv";

bool Lacks(const std::string& asked, const char* what) {
  return ("\n" + asked).find(std::string("\nlacks ") + what) != std::string::npos;
}

std::string ParentPackages(const std::string& asked) {
  const size_t at = asked.rfind("\nparent ");
  if (at == std::string::npos) return "";
  const std::string rest = asked.substr(at + 8);
  return rest.substr(0, rest.find('\n'));
}

// Packages of `parent` become visible in `venv`, behind its own. addsitedir, and not the path
// alone, because what is installed there for editing is found by files of the same kind.
Status SeeParent(const std::string& venv, const std::string& parent) {
  if (parent.empty()) return Status::Ok();
  std::string quoted;
  for (const char c : parent) {
    if (c == '\\' || c == '\'') quoted += '\\';
    quoted += c;
  }
  STOKER_ASSIGN(const auto versions, sys::ListDir(venv + "/lib"));
  for (const auto& version : versions) {
    const std::string packages = venv + "/lib/" + version.name + "/site-packages";
    if (!StartsWith(version.name, "python") || !sys::DirExists(packages)) continue;
    STOKER_TRY(sys::WriteFileAtomic(packages + "/stoker-parent.pth",
                                    "import site; site.addsitedir('" + quoted + "')\n", 0644,
                                    false));
  }
  return Status::Ok();
}

// One line each for pip and pip3, for whoever types them.
Status LinkPip(const std::string& venv) {
  for (const char* name : {"/bin/pip", "/bin/pip3"}) {
    STOKER_TRY(sys::WriteFileAtomic(
        venv + name,
        "#!/bin/sh\nexec \"$(dirname -- \"$(realpath -- \"$0\")\")\"/python -m pip \"$@\"\n", 0755,
        false));
  }
  return Status::Ok();
}

Status FetchPip(const EnvMaker& by, const PipSettings& settings, const std::string& venv) {
  by.Say("this python3 has no pip (on Debian: python3-venv): " + std::string(kPipWheel) +
         " is fetched");
  const std::string wheel = venv + "/" + kPipWheel;
  const Status got = FetchFromWheel(by, settings, {"pip", kPipWheel, kPipDigest, "", wheel});
  if (!got.ok()) return Status(Code::kInvalid, got.message(), kInstallIt);
  const auto exit =
      by.step.Run(by.Command({venv + "/bin/python", wheel + "/pip", "install", "--no-index",
                              "--no-input", "--disable-pip-version-check", "-q", wheel}),
                  by.sink);
  if (!exit.ok()) return exit.status().WithContext("installing pip");
  if (exit->ShellCode() != 0) return Status(Code::kInvalid, "installing pip failed", kInstallIt);
  return sys::RemoveTree(wheel);
}

// What the making of one environment is about to use.
struct Tools {
  PipSettings settings;
  UvAsk ask;
  std::string uv;  // "" = none
  bool pip_seen = false;
};

bool LacksParts(const std::string& asked) {
  return Lacks(asked, "venv") || Lacks(asked, "ensurepip");
}

// A lock has none of what lies in the folder or comes from git, which pip's way, all or none, does
// not know.
bool HashesOfSome(const EnvWanted& wanted) {
  return EndsWith(wanted.source, ".lock") && !WithoutHash(wanted.text).empty();
}

Result<Tools> FindTools(const EnvMaker& by, const std::string& asked, const EnvWanted& wanted,
                        bool packages) {
  Tools tools;
  STOKER_ASSIGN(tools.settings, ReadPipSettings(by));
  std::vector<std::string> texts = {wanted.text};
  for (const RequirementFile& file : ReadRequirementFiles(by.workdir)) texts.push_back(file.text);
  tools.ask = AskForUv(texts, tools.settings);
  if (tools.ask.only_pip.empty()) tools.ask.only_pip = OnlyPipOf(asked);
  if (HashesOfSome(wanted)) {
    // Those that are there are checked all the same; older ones have to be told.
    std::erase(tools.ask.arguments, "--require-hashes");
    tools.ask.env.emplace_back("UV_VERIFY_HASHES", "1");
  }
  const bool installs = packages && !wanted.requirements.empty();
  if (installs && !tools.ask.only_pip.empty()) {
    by.Say(wanted.source + " is installed by pip and not by uv: " + tools.ask.only_pip);
  }
  const bool by_uv = installs && tools.ask.only_pip.empty();
  if (by_uv || LacksParts(asked)) {
    tools.uv = FindUv(by, wanted.tools, tools.settings, by_uv && !tools.ask.no_index);
  }
  TextSink quiet;
  const auto has = by.step.Run(by.Command({"python3", "-c", "import pip"}), quiet);
  tools.pip_seen = has.ok() && has->ShellCode() == 0;
  return tools;
}

// The folder, and a pip that installs into it where there is anything to install.
Status MakeFolder(const EnvMaker& by, EnvWay way, const Tools& tools, const std::string& asked,
                  const std::string& venv, bool packages) {
  std::vector<std::string> argv = {"python3", "-m", "venv", "--system-site-packages"};
  const bool by_uv = way == EnvWay::kUv || way == EnvWay::kUvSeed;
  if (by_uv) {
    argv = {tools.uv,
            "venv",
            "-q",
            "--no-config",
            "--relocatable",
            "--system-site-packages",
            "--python",
            asked.substr(0, asked.find(' '))};
    if (way == EnvWay::kUvSeed) argv.push_back("--seed");
  } else if (way != EnvWay::kVenv) {
    argv.push_back("--without-pip");
  }
  argv.push_back(venv);
  TaskCommand command = by.Command(argv);
  if (by_uv) command.env.insert(command.env.end(), tools.ask.env.begin(), tools.ask.env.end());
  STOKER_TRY(MustSucceed(by_uv ? "uv venv" : "python3 -m venv", by.step.Run(command, by.sink)));
  if (way == EnvWay::kSystem || way == EnvWay::kUv) return LinkPip(venv);
  return way == EnvWay::kWheel && packages ? FetchPip(by, tools.settings, venv) : Status::Ok();
}

// Of the indexes that it is given, which do not take the login that $NETRC has for them.
constexpr char kAskIndexes[] =
    "import base64, netrc, os, sys, urllib.error, urllib.parse as p, urllib.request as r\n"
    "known = netrc.netrc(os.environ['NETRC'])\n"
    "for url in sys.argv[1:]:\n"
    "  user, _, word = known.authenticators(p.urlsplit(url).hostname)\n"
    "  login = base64.b64encode((user + ':' + word).encode()).decode()\n"
    "  ask = r.Request(url)\n"
    "  ask.add_unredirected_header('Authorization', 'Basic ' + login)\n"
    "  try: r.urlopen(ask, timeout=10)\n"
    "  except urllib.error.HTTPError as no:\n"
    "    if no.code in (401, 403): print('(' + str(no.code) + '): ' + url)\n"
    "  except OSError: pass\n";

// Pip and uv say of an index that does not let them in only that it has no such package.
Status OrShut(const Status& done, const EnvMaker& by, const std::vector<AddressLogin>& logins,
              const std::string& output) {
  std::vector<std::string> argv = {"python3", "-c", kAskIndexes};
  for (const AddressLogin& login : logins) {
    if (!login.git) argv.push_back(login.url);
  }
  const bool none = output.find("(from versions: none)") != std::string::npos ||
                    output.find("not found in the package registry") != std::string::npos;
  if (done.ok() || argv.size() == 3 || !none) return done;
  TextSink said;
  (void)by.step.Run(by.Command(std::move(argv)), said);
  if (!StartsWith(said.text, "(")) return done;
  return done.WithNext("The index does not let in who asks " +
                       Printable(CutText(said.text.substr(0, said.text.find('\n')), 200)) +
                       ". Look at the secret that is its password");
}

Status InstallByPip(const EnvMaker& by, const EnvWanted& wanted) {
  std::string file = wanted.requirements;
  if (HashesOfSome(wanted)) {
    by.Say("pip checks hashes of all packages or of none: those of " + wanted.source +
           " are not checked");
    file += ".plain";
    STOKER_TRY(sys::WriteFileAtomic(file, DropHashes(wanted.text), 0600, false));
  }
  TailSink tail(by.sink);
  ProgressSink progress(tail);
  TaskCommand command = by.Command({wanted.venv + "/bin/python", "-m", "pip", "install",
                                    "--disable-pip-version-check", "--no-input", "-r", file});
  // Pip asks itself for what packages are built with, by `-i ADDRESS`.
  std::vector<AddressLogin> logins = wanted.logins;
  for (auto& [name, value] : command.env) {
    if (std::find(std::begin(kIndexVariables), std::end(kIndexVariables), name) ==
        std::end(kIndexVariables)) {
      continue;
    }
    value = TakeLogins(value, VariablesOf(by.env), &logins);
  }
  const auto installed = by.step.Run(command, progress, [&progress] { progress.Tick(); });
  const std::string output = tail.Tail();
  return OrShut(MustSucceed("pip install -r " + wanted.source, installed, output), by,
                wanted.logins, output);
}

Status Install(const EnvMaker& by, const Tools& tools, const EnvWanted& wanted) {
  if (tools.uv.empty() || !tools.ask.only_pip.empty()) return InstallByPip(by, wanted);
  TailSink tail(by.sink);
  const auto installed =
      InstallByUv(by, tools.uv, tools.ask, wanted.venv, wanted.requirements, wanted.setup, tail);
  const std::string output = tail.Tail();
  const std::string what = "uv pip install -r " + wanted.source;
  if (!installed.ok()) return installed.status().WithContext(what);
  if (!*installed) {
    by.Say("uv cannot be shown the packages that are here already: pip is asked");
    return InstallByPip(by, wanted);
  }
  if ((*installed)->ShellCode() != 0 && UvRefuses(output)) {
    by.Say("uv does not read " + wanted.source + " as it is: pip is asked");
    return InstallByPip(by, wanted);
  }
  return OrShut(MustSucceed(what, **installed, output), by, wanted.logins, output);
}

void SayBuilt(const EnvMaker& by, const std::string& venv,
              std::chrono::steady_clock::time_point begun) {
  int64_t bytes = 0;
  const auto tree = SeeEnv(venv);
  if (!tree.ok()) return;  // whoever uses it will say so
  for (const auto& [path, entry] : *tree) bytes += S_ISREG(entry.mode) ? entry.size : 0;
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begun);
  by.Say("the environment is built: " + HumanSize(bytes) + " in " +
         FormatDuration(Duration::Ms(took.count())));
}

}  // namespace

Result<std::string> AskPython(const EnvMaker& by) {
  TextSink asked;
  STOKER_TRY(
      MustSucceed("python3 --version", by.step.Run(by.Command({"python3", "-c", kAsk}), asked)));
  return asked.text;
}

std::string PythonVersionOf(const std::string& asked) {
  const size_t at = asked.find(' ');
  if (at == std::string::npos) return "";
  return asked.substr(at + 1, asked.find_first_of(" \n", at + 1) - at - 1);
}

std::string OnlyPipOf(const std::string& asked) {
  const std::string version = PythonVersionOf(asked);
  if (version.empty() || PythonAllowed(version, ">=3.8")) return "";
  return "python3 here is " + version + ", and uv is asked from 3.8 on";
}

EnvWay ChooseEnvWay(const std::string& asked, bool uv, bool pip_seen) {
  if (uv && pip_seen) return EnvWay::kUv;
  if (!LacksParts(asked)) return pip_seen ? EnvWay::kSystem : EnvWay::kVenv;
  if (uv) return EnvWay::kUvSeed;
  if (Lacks(asked, "venv")) return EnvWay::kNothing;
  return Lacks(asked, "ensurepip and pip") ? EnvWay::kWheel : EnvWay::kSystem;
}

bool AsksForPackages(const std::string& requirements) {
  for (const std::string& line : Split(requirements, '\n')) {
    // What an export says of indexes.
    if (StartsWith(line, "--index-url ") || StartsWith(line, "--extra-index-url ") ||
        StartsWith(line, "--find-links ")) {
      continue;
    }
    const size_t at = line.find_first_not_of(" \t\r");
    if (at != std::string::npos && line[at] != '#') return true;
  }
  return false;
}

Status MakeEnv(const EnvMaker& by, const std::string& asked, const EnvWanted& wanted) {
  const auto begun = std::chrono::steady_clock::now();
  STOKER_TRY(sys::RemoveTree(wanted.venv));
  const bool for_setup = wanted.requirements.empty();
  if (!for_setup) by.Say("making a virtual environment for " + wanted.source);
  const bool packages = for_setup || AsksForPackages(wanted.text);
  STOKER_ASSIGN(const Tools tools, FindTools(by, asked, wanted, packages));
  const EnvWay way = ChooseEnvWay(asked, !tools.uv.empty(), tools.pip_seen);
  if (way == EnvWay::kNothing) {
    return Status(Code::kInvalid, "python3 has neither venv nor ensurepip", kInstallIt);
  }
  STOKER_TRY(MakeFolder(by, way, tools, asked, wanted.venv, packages));
  STOKER_TRY(SeeParent(wanted.venv, ParentPackages(asked)));
  if (for_setup || !packages) return Status::Ok();
  STOKER_TRY(Install(by, tools, wanted));
  SayBuilt(by, wanted.venv, begun);
  return Status::Ok();
}

}  // namespace stoker::node
