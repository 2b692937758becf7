// SPDX-License-Identifier: Apache-2.0
#include "node/env/uv.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "node/env/package_progress.h"
#include "node/env/wheel_fetch.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

constexpr char kUvVersion[] = "0.13.9";

constexpr UvWheel kX86 = {"uv-0.13.9-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
                          "d7f459fe4fd247d830351c75686d3996ace3c6f3f728eb0e85a30b7ada0cef19"};
constexpr UvWheel kX86Musl = {"uv-0.13.9-py3-none-musllinux_1_1_x86_64.whl",
                              "2c45530751517d6c3bbc69a19473f6effe47cce047bede01ffd8af7ea7b36b25"};
constexpr UvWheel kArm = {
    "uv-0.13.9-py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64.whl",
    "5435c5ce14a56431208ca0996416d310f1598e8c2c8ba707688985a16bb82dbe"};

// Options of a file that uv reads as pip does, and what they become where it takes them as
// arguments alone. Any other it would leave out with a warning, or refuse.
struct FileOption {
  std::string_view name;
  std::string_view argument = "";
};
constexpr FileOption kFileOptions[] = {{"-r"},
                                       {"--requirement"},
                                       {"-c"},
                                       {"--constraint"},
                                       {"-e"},
                                       {"--editable"},
                                       {"-i"},
                                       {"--index-url"},
                                       {"--extra-index-url"},
                                       {"-f"},
                                       {"--find-links"},
                                       {"--no-index"},
                                       {"--no-binary"},
                                       {"--only-binary"},
                                       {"--hash", "--require-hashes"},
                                       {"--require-hashes", "--require-hashes"},
                                       {"--pre", "--prerelease=allow"}};

// Settings of pip by the variable or argument of uv that says the same; "" = of no matter to what
// is installed.
struct Setting {
  std::string_view pip;
  std::string_view uv;
};
constexpr Setting kSettings[] = {{"index-url", "UV_DEFAULT_INDEX"},
                                 {"extra-index-url", "UV_INDEX"},
                                 {"find-links", "UV_FIND_LINKS"},
                                 {"no-index", "--no-index"},
                                 {"cert", "SSL_CERT_FILE"},
                                 {"trusted-host", "UV_INSECURE_HOST"},
                                 {"constraint", "UV_CONSTRAINT"},
                                 {"timeout", "UV_HTTP_TIMEOUT"},
                                 {"default-timeout", "UV_HTTP_TIMEOUT"},
                                 {"proxy", "ALL_PROXY"},
                                 {"break-system-packages", ""},
                                 {"cache-dir", ""},
                                 {"disable-pip-version-check", ""},
                                 {"exists-action", ""},
                                 {"no-cache-dir", ""},
                                 {"no-color", ""},
                                 {"no-input", ""},
                                 {"no-python-version-warning", ""},
                                 {"no-warn-script-location", ""},
                                 {"password", ""},  // of docs/environment.md, for ${PIP_PASSWORD}
                                 {"progress-bar", ""},
                                 {"quiet", ""},
                                 {"require-virtualenv", ""},
                                 {"retries", ""},
                                 {"root-user-action", ""},
                                 {"verbose", ""}};

constexpr char kReadSettings[] =
    "import configparser, os, sys\n"
    "home = os.path.expanduser('~')\n"
    "dirs = (os.environ.get('XDG_CONFIG_DIRS') or '/etc/xdg').split(':')\n"
    "own = os.environ.pop('PIP_CONFIG_FILE', '')\n"
    "files = [d + '/pip/pip.conf' for d in dirs] + ['/etc/pip.conf', home + '/.pip/pip.conf',\n"
    "  (os.environ.get('XDG_CONFIG_HOME') or home + '/.config') + '/pip/pip.conf',\n"
    "  sys.prefix + '/pip.conf', own]\n"
    "seen = {}\n"
    "for bundle in ('CURL_CA_BUNDLE', 'REQUESTS_CA_BUNDLE'):\n"
    "  if os.environ.get(bundle): seen['cert'] = os.environ[bundle]\n"
    "for file in [] if own == os.devnull else files:\n"
    "  read = configparser.RawConfigParser()\n"
    "  try: read.read(file, encoding='utf-8')\n"
    "  except Exception: seen['what ' + file + ' says'] = ''\n"
    "  for part in ('global', 'install'):\n"
    "    if read.has_section(part): seen.update(read.items(part))\n"
    "for name, value in os.environ.items():\n"
    "  if name.startswith('PIP_') and value: seen[name[4:].lower().replace('_', '-')] = value\n"
    "for name, value in seen.items(): print(name + '=' + ' '.join(value.split()))\n";

// Uv does not look at packages that are seen from an environment and lie outside, and would fetch
// them anew. So each has an entry of its own in it meanwhile, of its name, version and needs, which
// goes again unless uv has put another version in its place.
constexpr char kShowPackages[] =
    "import importlib.metadata as m, os, re, sys, sysconfig\n"
    "own = sysconfig.get_paths()['purelib']\n"
    "seen = set()\n"
    "for d in m.distributions():\n"
    "  try:\n"
    "    name, version, needs = d.metadata['Name'], d.version, d.requires or []\n"
    "    extras = d.metadata.get_all('Provides-Extra') or []\n"
    "  except Exception: continue\n"
    "  flat = re.sub('[-_.]+', '_', name or '').lower()\n"
    "  if not re.fullmatch('[a-z0-9_]+', flat) or flat in seen: continue\n"
    "  seen.add(flat)\n"
    "  if not re.fullmatch(r'v?([0-9]+!)?[0-9]+(\\.[0-9]+)*[0-9a-zA-Z.+_-]*', version or ''): "
    "continue\n"
    "  folder = flat + '-' + version.replace('-', '_') + '.dist-info'\n"
    "  if os.path.exists(os.path.join(own, folder)): continue\n"
    "  os.mkdir(os.path.join(own, folder))\n"
    "  lines = ['Metadata-Version: 2.1', 'Name: ' + name, 'Version: ' + version]\n"
    "  lines += ['Provides-Extra: ' + x for x in extras] + ['Requires-Dist: ' + x for x in needs]\n"
    "  names = ('METADATA', 'INSTALLER', 'RECORD')\n"
    "  record = ''.join(folder + '/' + x + ',,\\n' for x in names)\n"
    "  for x, text in zip(names, ('\\n'.join(lines) + '\\n', 'stoker-seen\\n', record)):\n"
    "    with open(os.path.join(own, folder, x), 'w') as f: f.write(text)\n";
constexpr char kHidePackages[] =
    "import glob, os, shutil, sysconfig\n"
    "for x in glob.glob(glob.escape(sysconfig.get_paths()['purelib']) + "
    "'/*.dist-info/INSTALLER'):\n"
    "  if open(x).read() == 'stoker-seen\\n': shutil.rmtree(os.path.dirname(x))\n";

void OptionsOf(const std::string& text, UvAsk* ask) {
  for (const std::string& line : Split(text, '\n')) {
    for (const std::string& word : Split(line, ' ')) {
      if (StartsWith(word, "#")) break;
      if (!StartsWith(word, "-") || word == "-") continue;
      const std::string name = word.substr(0, word.find('='));
      const auto* known = std::find_if(std::begin(kFileOptions), std::end(kFileOptions),
                                       [&](const FileOption& o) { return o.name == name; });
      // "-rmore.txt"
      const bool glued = !StartsWith(word, "--") && word.size() > 2 &&
                         std::string_view("rceif").find(word[1]) != std::string_view::npos;
      if (known == std::end(kFileOptions) && !glued) {
        if (ask->only_pip.empty()) ask->only_pip = "it has " + Printable(name);
        continue;
      }
      if (!glued && name == "--no-index") ask->no_index = true;
      if (glued || known->argument.empty()) continue;
      const std::string argument(known->argument);
      auto& all = ask->arguments;
      if (std::find(all.begin(), all.end(), argument) == all.end()) all.push_back(argument);
    }
  }
}

bool Has(const Variables& env, std::string_view name) {
  return std::any_of(env.begin(), env.end(), [&](const auto& v) { return v.first == name; });
}

}  // namespace

UvAsk AskForUv(const std::vector<std::string>& texts, const PipSettings& settings) {
  UvAsk ask;
  for (const std::string& text : texts) {
    std::string plain = text;
    std::replace(plain.begin(), plain.end(), '\t', ' ');
    std::erase(plain, '\r');
    OptionsOf(plain, &ask);
  }
  for (const auto& [name, value] : settings) {
    const auto* known = std::find_if(std::begin(kSettings), std::end(kSettings),
                                     [&](const Setting& s) { return s.pip == name; });
    if (known == std::end(kSettings)) {
      if (ask.only_pip.empty()) ask.only_pip = "pip is set up with " + Printable(name);
    } else if (StartsWith(known->uv, "--")) {
      if (value == "0" || value == "false" || value == "no") continue;
      ask.arguments.emplace_back(known->uv);
      ask.no_index = true;
    } else if (!known->uv.empty()) {
      std::string as = value;
      if (known->uv == "UV_FIND_LINKS") std::replace(as.begin(), as.end(), ' ', ',');
      std::erase_if(ask.env, [&](const auto& v) { return v.first == known->uv; });
      ask.env.emplace_back(known->uv, as);
    }
  }
  return ask;
}

void AddSettings(const UvAsk& ask, Variables* env) {
  for (const auto& variable : ask.env) {
    if (!Has(*env, variable.first)) env->push_back(variable);
  }
}

bool UvRefuses(std::string_view output) {
  for (const std::string_view words :
       {"\nerror: Couldn't parse requirement", "\nerror: Expected `--", "\nerror: Unsupported",
        "\nerror: unexpected argument", "\nerror: Unexpected '"}) {
    if (("\n" + std::string(output)).find(words) != std::string::npos) return true;
  }
  return false;
}

bool UvIsNewEnough(std::string_view version) {
  constexpr std::string_view kBefore = "uv ";
  if (!StartsWith(version, kBefore)) return false;
  int major = 0;
  int minor = 0;
  const char* const end = version.data() + version.size();
  const auto first = std::from_chars(version.data() + kBefore.size(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return false;
  if (std::from_chars(first.ptr + 1, end, minor).ec != std::errc()) return false;
  return major > 0 || minor >= 5;
}

std::optional<UvWheel> UvWheelFor(std::string_view machine, std::string_view libc) {
  if (machine == "x86_64") return libc == "glibc" ? kX86 : kX86Musl;
  if (machine == "aarch64") return kArm;
  return std::nullopt;
}

Result<PipSettings> ReadPipSettings(const EnvMaker& by) {
  TextSink said;
  STOKER_ASSIGN(const TaskExit exit,
                by.step.Run(by.Command({"python3", "-c", kReadSettings}), said));
  if (exit.ShellCode() != 0) return Status(Code::kInvalid, "reading pip's settings failed");
  PipSettings settings;
  for (const std::string& line : Split(said.text, '\n')) {
    const size_t at = line.find('=');
    if (at != std::string::npos) settings.emplace_back(line.substr(0, at), line.substr(at + 1));
  }
  return settings;
}

std::string FindUv(const EnvMaker& by, const std::string& folder, const PipSettings& settings,
                   bool fetch) {
  TextSink version;
  const auto there = by.step.Run(by.Command({"uv", "--version"}), version);
  if (there.ok() && there->ShellCode() == 0 && UvIsNewEnough(version.text)) return "uv";
  const std::string uv = folder + "/uv-" + kUvVersion;
  // As one that was just used, for `stoker gc`.
  (void)::utimensat(AT_FDCWD, uv.c_str(), nullptr, 0);
  if (sys::FileExists(uv)) return uv;
  if (!fetch) return "";
  TextSink asked;
  const auto told = by.step.Run(
      by.Command({"python3", "-c",
                  "import os, platform; print(os.uname().machine, platform.libc_ver()[0])"}),
      asked);
  const auto words = Split(asked.text.substr(0, asked.text.find('\n')), ' ');
  const auto wheel = UvWheelFor(words[0], words.size() > 1 ? words[1] : "");
  if (!told.ok() || told->ShellCode() != 0 || !wheel) return "";
  by.Say("uv " + std::string(kUvVersion) + " is fetched, which installs faster than pip");
  const Status got = FetchFromWheel(by, settings,
                                    {"uv", std::string(wheel->name), std::string(wheel->sha256),
                                     std::string("uv-") + kUvVersion + ".data/scripts/uv", uv});
  if (got.ok()) return uv;
  if (!by.step.cancelled()) by.Say("without uv, by pip: " + got.message());
  return "";
}

Result<std::optional<TaskExit>> InstallByUv(const EnvMaker& by, const std::string& uv,
                                            const UvAsk& ask, const std::string& venv,
                                            const std::string& requirements, bool copy,
                                            LogSink& sink) {
  const std::string python = venv + "/bin/python";
  const auto hide = [&] { return by.step.Run(by.Command({python, "-c", kHidePackages}), sink); };
  STOKER_ASSIGN(const TaskExit shown, by.step.Run(by.Command({python, "-c", kShowPackages}), sink));
  if (shown.ShellCode() != 0) {
    STOKER_TRY(hide().status());  // what of them it wrote before
    return std::optional<TaskExit>();
  }
  // Indexes are all looked at, as pip does.
  std::vector<std::string> argv = {
      uv,        "pip",   "install",          "--python",          python, "--no-config",
      "--color", "never", "--index-strategy", "unsafe-best-match", "-r",   requirements};
  argv.insert(argv.end(), ask.arguments.begin(), ask.arguments.end());
  if (copy) argv.insert(argv.end(), {"--link-mode", "copy"});
  TaskCommand command = by.Command(std::move(argv));
  AddSettings(ask, &command.env);
  command.env.emplace_back("UV_PYTHON_DOWNLOADS", "never");
  if (!Has(command.env, "UV_CACHE_DIR") && !Has(command.env, "XDG_CACHE_HOME") &&
      !Has(command.env, "HOME")) {
    command.env.emplace_back("UV_CACHE_DIR", venv + ".uv-cache");
  }
  ProgressSink progress(sink);
  STOKER_ASSIGN(const TaskExit exit,
                by.step.Run(command, progress, [&progress] { progress.Tick(); }));
  STOKER_ASSIGN(const TaskExit hidden, hide());
  if (exit.ShellCode() == 0 && hidden.ShellCode() != 0) return std::optional<TaskExit>();
  return std::optional(exit);
}

}  // namespace stoker::node
