// SPDX-License-Identifier: Apache-2.0
#include "node/env/make_env.h"

#include "base/text.h"
#include "node/env/pip_words.h"
#include "node/env/tail_sink.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

// Collects a short output; used to ask the interpreter for its version.
class TextSink : public LogSink {
 public:
  void Write(LogStream, std::string_view bytes) override {
    if (text.size() < 4096) text.append(bytes);
  }
  std::string text;
};

TaskCommand Command(const EnvMaker& by, std::vector<std::string> argv) {
  TaskCommand command;
  command.argv = std::move(argv);
  command.cwd = by.workdir;
  command.env = by.env;
  command.out = LogStream::kSystem;
  command.err = LogStream::kSystem;
  return command;
}

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
constexpr char kFetchPip[] =
    "import base64, hashlib, html, os, re, ssl, sys, urllib.parse as p, urllib.request as r\n"
    "name, digest, to = sys.argv[1:]\n"
    "tls = ssl.create_default_context(cafile=os.environ.get('PIP_CERT') or None)\n"
    "index = p.urlsplit(os.environ.get('PIP_INDEX_URL', 'https://pypi.org/simple').rstrip('/'))\n"
    "who, _, host = index.netloc.rpartition('@')\n"
    "page = p.urlunsplit(index._replace(netloc=host, path=index.path + '/pip/'))\n"
    "def get(url, seconds):\n"
    "  ask = r.Request(url)\n"
    "  if who and p.urlsplit(url).netloc == host:\n"
    "    word = base64.b64encode(p.unquote(who).encode()).decode()\n"
    "    ask.add_unredirected_header('Authorization', 'Basic ' + word)\n"
    "  try: return r.urlopen(ask, timeout=seconds, context=tls).read()\n"
    "  except (OSError, ValueError) as no: sys.exit(url + ': ' + str(no))\n"
    "refs = re.findall('href=\"([^\"]+)\"', get(page, 10).decode())\n"
    "refs = [p.urljoin(page, html.unescape(x)).split('#')[0] for x in refs]\n"
    "refs = [x for x in refs if p.urlsplit(x).path.endswith('/' + name)]\n"
    "if not refs: sys.exit(page + ' has no ' + name)\n"
    "data = get(refs[0], 120)\n"
    "if hashlib.sha256(data).hexdigest() != digest: sys.exit('pip there has another digest')\n"
    "open(to, 'wb').write(data)\n";

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
        venv + name, "#!/bin/sh\nexec " + ShellQuote(venv + "/bin/python") + " -m pip \"$@\"\n",
        0755, false));
  }
  return Status::Ok();
}

Status FetchPip(const EnvMaker& by, const std::string& venv) {
  by.sink.Write(LogStream::kSystem, "stoker: this python3 has no pip (on Debian: python3-venv): " +
                                        std::string(kPipWheel) + " is fetched\n");
  const std::string wheel = venv + "/" + kPipWheel;
  TailSink tail(by.sink);
  const auto run = [&](const std::string& what, std::vector<std::string> argv) {
    const auto exit = by.step.Run(Command(by, std::move(argv)), tail);
    if (exit.ok() && exit->ShellCode() == 0) return Status::Ok();
    if (!exit.ok()) return exit.status().WithContext(what);
    return Status(Code::kInvalid, what + " failed", kInstallIt);
  };
  const std::string python = venv + "/bin/python";
  STOKER_TRY(run("fetching pip", {python, "-c", kFetchPip, kPipWheel, kPipDigest, wheel}));
  STOKER_TRY(run("installing pip", {python, wheel + "/pip", "install", "--no-index", "--no-input",
                                    "--disable-pip-version-check", "-q", wheel}));
  return sys::RemoveTree(wheel);
}

// The folder, and a pip that installs into it where there is anything to install.
Status MakeFolder(const EnvMaker& by, EnvWay way, const std::string& venv, bool packages) {
  std::vector<std::string> argv = {"python3", "-m", "venv", "--system-site-packages"};
  if (way == EnvWay::kUv) {
    argv = {"uv", "venv", "-q", "--seed", "--system-site-packages", "--python", "python3"};
  } else if (way != EnvWay::kVenv) {
    argv.push_back("--without-pip");
  }
  argv.push_back(venv);
  STOKER_TRY(MustSucceed(way == EnvWay::kUv ? "uv venv" : "python3 -m venv",
                         by.step.Run(Command(by, argv), by.sink)));
  if (way == EnvWay::kSystem) return LinkPip(venv);
  return way == EnvWay::kWheel && packages ? FetchPip(by, venv) : Status::Ok();
}

// For setup alone: takes a tenth of a second where pip need not be unpacked, since the interpreter
// has one that can be seen from here.
EnvWay WithoutUnpacking(const EnvMaker& by, EnvWay way) {
  TextSink quiet;
  const auto has = by.step.Run(Command(by, {"python3", "-c", "import pip"}), quiet);
  const bool seen = has.ok() && has->ShellCode() == 0;
  return way == EnvWay::kVenv && seen ? EnvWay::kSystem : way;
}

}  // namespace

Result<std::string> AskPython(const EnvMaker& by) {
  TextSink asked;
  STOKER_TRY(
      MustSucceed("python3 --version", by.step.Run(Command(by, {"python3", "-c", kAsk}), asked)));
  return asked.text;
}

EnvWay ChooseEnvWay(const std::string& asked, bool uv) {
  if (!Lacks(asked, "venv") && !Lacks(asked, "ensurepip")) return EnvWay::kVenv;
  if (uv) return EnvWay::kUv;
  if (Lacks(asked, "venv")) return EnvWay::kNothing;
  return Lacks(asked, "ensurepip and pip") ? EnvWay::kWheel : EnvWay::kSystem;
}

bool AsksForPackages(const std::string& requirements) {
  for (const std::string& line : Split(requirements, '\n')) {
    const size_t at = line.find_first_not_of(" \t\r");
    if (at != std::string::npos && line[at] != '#') return true;
  }
  return false;
}

Status MakeEnv(const EnvMaker& by, const std::string& asked, const std::string& venv,
               const std::string& requirements, const std::string& text) {
  STOKER_TRY(sys::RemoveTree(venv));
  const bool for_setup = requirements.empty();
  if (!for_setup) {
    by.sink.Write(LogStream::kSystem,
                  "stoker: making a virtual environment for requirements.txt\n");
  }
  TextSink quiet;
  const auto uv = by.step.Run(Command(by, {"uv", "--version"}), quiet);
  EnvWay way = ChooseEnvWay(asked, uv.ok() && uv->ShellCode() == 0);
  if (for_setup) way = WithoutUnpacking(by, way);
  if (way == EnvWay::kNothing) {
    return Status(Code::kInvalid, "python3 has neither venv nor ensurepip", kInstallIt);
  }
  const bool packages = for_setup || AsksForPackages(text);
  STOKER_TRY(MakeFolder(by, way, venv, packages));
  STOKER_TRY(SeeParent(venv, ParentPackages(asked)));
  if (for_setup || !packages) return Status::Ok();
  TailSink tail(by.sink);
  const auto installed =
      by.step.Run(Command(by, {venv + "/bin/python", "-m", "pip", "install",
                               "--disable-pip-version-check", "--no-input", "-r", requirements}),
                  tail);
  return MustSucceed("pip install -r requirements.txt", installed, tail.Tail());
}

}  // namespace stoker::node
