// SPDX-License-Identifier: Apache-2.0
#include "node/env/editable.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

constexpr int64_t kMostSiteBytes = 1 << 20;
constexpr int kMostEntries = 20'000;
constexpr size_t kMostNamed = 3;

using Variables = std::vector<std::pair<std::string, std::string>>;

std::string ValueOf(const Variables& env, std::string_view name) {
  for (const auto& [known, value] : env) {
    if (known == name) return value;
  }
  return "";
}

std::string Real(const std::string& path) {
  const auto real = sys::RealPath(path);
  return real.ok() ? *real : "";
}

bool Under(const std::string& path, const std::string& folder) {
  return path == folder || StartsWith(path, folder + "/");
}

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }
std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::vector<sys::DirEntry> Entries(const std::string& folder) {
  auto listed = sys::ListDir(folder);
  return listed.ok() ? std::move(*listed) : std::vector<sys::DirEntry>();
}

// The folders of packages of the environments that a job may use.
class Sites {
 public:
  explicit Sites(const EditablePlaces& places) {
    AddPrefix(places.venv);
    for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) AddPrefix(ValueOf(places.env, name));
    for (const char* name : {"/python3", "/python"}) {
      for (const std::string& folder : Split(ValueOf(places.env, "PATH"), ':')) {
        if (folder.empty() || !sys::FileExists(folder + name)) continue;
        AddPython(folder + name);
        break;
      }
    }
    // "/x/bin/python", "source /x/bin/activate".
    std::string word;
    for (const char c : places.command + " ") {
      if (std::string_view(" \t\n'\";&|()=").find(c) == std::string_view::npos) {
        word += c;
        continue;
      }
      const size_t bin = word.rfind("/bin/");
      if (bin != std::string::npos && word[0] == '/') AddPrefix(word.substr(0, bin));
      word.clear();
    }
    const std::string home = ValueOf(places.env, "HOME");
    if (!home.empty()) AddPrefix(home + "/.local");
  }
  const std::vector<std::string>& folders() const { return folders_; }

 private:
  void AddPython(const std::string& python) {
    const std::string folder = FolderOf(python);
    AddPrefix(FolderOf(folder));
    const std::string real = Real(python);
    if (!real.empty()) AddPrefix(FolderOf(FolderOf(real)));
    if (NameOf(folder) != "shims") return;
    // pyenv's: a script that decides later.
    const std::string versions = FolderOf(folder) + "/versions";
    for (const auto& entry : Entries(versions)) AddPrefix(versions + "/" + entry.name);
  }

  void AddPrefix(const std::string& prefix) {
    if (prefix.empty() || !seen_.insert(prefix).second) return;
    for (const char* lib : {"/lib", "/lib64", "/local/lib"}) {
      for (const auto& entry : Entries(prefix + lib)) {
        if (!StartsWith(entry.name, "python3")) continue;
        for (const char* packages : {"/site-packages", "/dist-packages"}) {
          const std::string real = Real(prefix + lib + "/" + entry.name + packages);
          if (!real.empty() && seen_.insert(real).second) folders_.push_back(real);
        }
      }
    }
    const auto settings = sys::ReadFile(prefix + "/pyvenv.cfg", kMostSiteBytes);
    if (!settings.ok() ||
        settings->find("include-system-site-packages = true") == std::string::npos) {
      return;
    }
    for (const std::string& line : Split(*settings, '\n')) {
      if (StartsWith(line, "home = ")) AddPrefix(FolderOf(line.substr(7)));
    }
  }

  std::set<std::string> seen_;
  std::vector<std::string> folders_;
};

// One project that is installed for editing, out of one environment.
struct Project {
  std::string site;
  std::set<std::string> roots;     // folders on the path of modules
  std::set<std::string> packages;  // folders, and modules of one file
};

class Finder {
 public:
  Finder(const EditablePlaces& places, std::string live, std::string copy)
      : typed_(places.live), live_(std::move(live)), copy_(std::move(copy)) {}

  std::vector<Project> Find(const std::string& site) const {
    std::vector<Project> found;
    Project linked{site, {}, {}};
    const auto entries = Entries(site);
    std::set<std::string> modules;  // so that a word of a line that is none costs no request
    for (const auto& entry : entries) {
      if (EndsWith(entry.name, ".py")) modules.insert(entry.name.substr(0, entry.name.size() - 3));
    }
    for (const auto& entry : entries) {
      const bool paths = EndsWith(entry.name, ".pth");
      if (!paths && !entry.is_link) continue;  // nearly all of some hundred
      const std::string path = site + "/" + entry.name;
      Project project{site, {}, {}};
      if (paths) {
        ReadPathFile(path, modules, &project);
      } else {
        Add(path, &linked);  // flit's way
      }
      if (!project.roots.empty() || !project.packages.empty()) found.push_back(project);
    }
    if (!linked.packages.empty()) found.push_back(linked);
    return found;
  }

  // Within the packed folder, and neither in the job's copy nor in an environment that lies there.
  bool IsLive(const std::string& real) const {
    return Under(real, live_) && !Under(real, copy_) &&
           real.find("-packages/", live_.size()) == std::string::npos &&
           !EndsWith(real, "-packages");
  }

 private:
  // A line is a folder, or code that begins with "import" (docs.python.org/3/library/site.html).
  void ReadPathFile(const std::string& path, const std::set<std::string>& modules,
                    Project* project) const {
    const auto text = sys::ReadFile(path, kMostSiteBytes);
    if (!text.ok()) return;
    for (std::string line : Split(*text, '\n')) {
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
      if (line.empty() || line[0] == '#') continue;
      if (!StartsWith(line, "import ") && !StartsWith(line, "import\t")) {
        const std::string real = Real(line[0] == '/' ? line : project->site + "/" + line);
        if (!real.empty() && IsLive(real)) project->roots.insert(real);
        continue;
      }
      ReadCode(line, project);
      std::string word;
      for (const char c : line + " ") {
        if (IsAlnum(c) || c == '_') {
          word += c;
          continue;
        }
        if (modules.count(word) > 0) {
          const auto code = sys::ReadFile(project->site + "/" + word + ".py", kMostSiteBytes);
          if (code.ok()) ReadCode(*code, project);
        }
        word.clear();
      }
    }
  }

  // Paths in quotes: of setuptools' finders, and those of editables, scikit-build-core and meson.
  void ReadCode(const std::string& code, Project* project) const {
    for (const std::string& folder : std::set<std::string>{typed_, live_}) {
      for (size_t at = code.find(folder); at != std::string::npos; at = code.find(folder, at + 1)) {
        const size_t end = code.find_first_of("'\"\n", at);
        if (at > 0 && (code[at - 1] == '\'' || code[at - 1] == '"')) {
          Add(code.substr(at, end == std::string::npos ? end : end - at), project);
        }
      }
    }
  }

  void Add(std::string path, Project* project) const {
    path = Real(path);
    if (path.empty() || !IsLive(path)) return;
    if (StartsWith(NameOf(path), "__init__.")) path = FolderOf(path);
    (path == live_ ? project->roots : project->packages).insert(path);
  }

  const std::string typed_;
  const std::string live_;
  const std::string copy_;
};

// What of a project is not in the job's copy.
class Unpacked {
 public:
  Unpacked(const Finder& finder, std::string live, std::string copy)
      : finder_(finder), live_(std::move(live)), copy_(std::move(copy)) {}

  void Look(const Project& project) {
    for (const std::string& root : project.roots) {
      for (const auto& entry : Entries(root)) {
        const std::string path = root + "/" + entry.name;
        if (!entry.is_dir) {
          if (IsCompiled(entry.name)) Judge(path, &compiled);
        } else if (sys::FileExists(path + "/__init__.py")) {
          LookAt(path);
        }
      }
    }
    for (const std::string& package : project.packages) LookAt(package);
  }

  std::vector<std::string> names;
  std::set<std::string> packages;  // real folders
  std::vector<std::string> compiled;
  std::vector<std::string> python;

 private:
  static bool IsCompiled(const std::string& name) {
    return EndsWith(name, ".so") || name.find(".so.") != std::string::npos ||
           EndsWith(name, ".pyd");
  }

  void LookAt(const std::string& package) {
    names.push_back(NameOf(package));
    packages.insert(package);
    // Where a folder of links stands for it, the real one, too.
    const std::string real = Real(package + "/__init__.py");
    if (!real.empty()) packages.insert(FolderOf(real));
    if (sys::DirExists(package)) Walk(package, 0);
  }

  void Walk(const std::string& folder, int depth) {
    for (const auto& entry : Entries(folder)) {
      if (++entries_ > kMostEntries) return;
      if (entry.name[0] == '.' || entry.name == "__pycache__") continue;
      const std::string path = folder + "/" + entry.name;
      if (entry.is_dir) {
        if (depth < 40 && !sys::FileExists(path + "/pyvenv.cfg")) Walk(path, depth + 1);
      } else if (IsCompiled(entry.name)) {
        Judge(path, &compiled);
      } else if (EndsWith(entry.name, ".py")) {
        Judge(path, &python);
      }
    }
  }

  void Judge(const std::string& path, std::vector<std::string>* missing) const {
    const std::string real = Real(path);
    if (!real.empty() && !finder_.IsLive(real)) return;
    const std::string below = (real.empty() ? path : real).substr(live_.size());
    if (!sys::FileExists(copy_ + below)) missing->push_back(below.substr(1));
  }

  const Finder& finder_;
  const std::string live_;
  const std::string copy_;
  int entries_ = 0;
};

std::string Some(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const size_t all = names.size();
  names.resize(std::min(all, kMostNamed));
  return Printable(Join(names, ", ")) +
         (all > kMostNamed ? " and " + std::to_string(all - kMostNamed) + " more" : "");
}

void Tell(const Project& project, const Unpacked& unpacked, EditablePlan* plan) {
  const std::string what =
      "stoker: " + (unpacked.names.empty() ? "a project" : Some(unpacked.names)) +
      " is installed for editing (" + Printable(project.site) + "): ";
  if (!unpacked.compiled.empty()) {
    plan->lines.push_back(
        what + "the job uses " + Printable(plan->live) +
        " as it is, not its copy, since compiled modules there were not packed (" +
        Some(unpacked.compiled) + "). 'git add -f' packs them; 'setup' can build them in the copy");
    return;
  }
  plan->lines.push_back(
      what + "the job imports its copy, not " + Printable(plan->live) +
      (unpacked.python.empty()
           ? ""
           : "; but for what was not packed and is read there: " + Some(unpacked.python)));
}

// A string of Python's.
std::string Literal(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\\' || c == '\'') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "'";
}

constexpr char kGuard[] = R"py(

def _under(path, folder):
    return path == folder or path.startswith(folder + "/")


def _other(path):
    """Where `path` is to be taken from instead; None = from where it is."""
    real = os.path.realpath(path)
    for here, there, stay in ((COPY, LIVE, True), (LIVE, COPY, False)):
        if not _under(real, here):
            continue
        rest = real[len(here):]
        kept = any(_under(rest[1:], package) for package in STAY)
        if kept is not stay or "-packages/" in rest + "/":
            return None
        return there + rest if os.path.exists(there + rest) else None
    return None


class _Finder:
    """Asks the other finders, and leads what they found in one folder into the other."""

    ours = set()

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        top = name.partition(".")[0]
        if path is not None and top not in cls.ours:
            return None
        for finder in list(sys.meta_path):
            find = None if finder is cls else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                return cls.lead(spec, top)
        return None

    @classmethod
    def lead(cls, spec, top):
        places = spec.submodule_search_locations
        if spec.origin is None or not os.path.isabs(spec.origin):
            mine = [there for there in map(_other, places or ()) if there]
            if mine:
                cls.ours.add(top)
                spec.submodule_search_locations = mine + [p for p in places if p not in mine]
            return spec
        to = _other(spec.origin)
        real = os.path.realpath(spec.origin)
        if to is None and places is not None and _under(real, COPY):
            there = os.path.dirname(LIVE + real[len(COPY):])
            if os.path.isdir(there):
                cls.ours.add(top)
                spec.submodule_search_locations = list(places) + [there]
        if to is None:
            return spec
        from importlib.util import spec_from_file_location
        if places is not None:
            # What was not packed is still found where it is.
            places = [os.path.dirname(to)] + ([] if _under(to, LIVE) and not _under(to, COPY)
                                              else list(places))
        cls.ours.add(top)
        return spec_from_file_location(spec.name, to, submodule_search_locations=places) or spec


def _begin():
    for place in list(sys.path):
        there = _other(place) if place and os.path.isabs(place) else None
        stays = any(_under(LIVE + "/" + package, os.path.realpath(place)) for package in STAY)
        if there and not stays:
            sys.path.insert(sys.path.index(place), there)
    sys.meta_path.insert(0, _Finder)


def _next():
    """The sitecustomize that would have run without this one."""
    from importlib.machinery import PathFinder
    own = os.path.realpath(os.path.dirname(__file__))
    paths = [place for place in sys.path if os.path.realpath(place or ".") != own]
    spec = PathFinder.find_spec("sitecustomize", paths)
    if spec is not None and spec.loader is not None:
        from importlib.util import module_from_spec
        sys.modules["sitecustomize"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


_begin()
_next()
)py";

}  // namespace

EditablePlan PlanEditable(const EditablePlaces& places) {
  EditablePlan plan;
  plan.live = Real(places.live);
  plan.copy = Real(places.copy);
  if (plan.live.empty() || plan.copy.empty() || plan.live == "/") return plan;
  const Finder finder(places, plan.live, plan.copy);
  const Sites sites(places);
  for (const std::string& site : sites.folders()) {
    for (const Project& project : finder.Find(site)) {
      plan.any = true;
      Unpacked unpacked(finder, plan.live, plan.copy);
      unpacked.Look(project);
      Tell(project, unpacked, &plan);
      if (unpacked.compiled.empty()) continue;
      for (const std::string& package : unpacked.packages) {
        if (package != plan.live) plan.stay.push_back(package.substr(plan.live.size() + 1));
      }
    }
  }
  return plan;
}

Status WriteEditableGuard(const EditablePlan& plan, const std::string& folder) {
  std::string stay;
  for (const std::string& package : plan.stay) stay += Literal(package) + ", ";
  const std::string text =
      "# Made by stoker. What is installed for editing out of the folder that this job was packed "
      "from\n# is imported from the job's own copy of it.\nimport os\nimport sys\n\nLIVE = " +
      Literal(plan.live) + "\nCOPY = " + Literal(plan.copy) + "\nSTAY = (" + stay + ")\n" + kGuard;
  STOKER_TRY(sys::MakeDirs(folder, 0755));
  return sys::WriteFileAtomic(folder + "/sitecustomize.py", text, 0644, false);
}

void ActivateEditableGuard(const std::string& folder, Variables& env) {
  if (folder.empty()) return;
  for (auto& [name, value] : env) {
    if (name != "PYTHONPATH") continue;
    value = folder + (value.empty() ? "" : ":" + value);
    return;
  }
  env.emplace_back("PYTHONPATH", folder);
}

}  // namespace stoker::node
