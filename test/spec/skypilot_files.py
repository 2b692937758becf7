# SPDX-License-Identifier: Apache-2.0
"""What becomes of SkyPilot's own task files with `stoker run --infra local`: run, refused, misread.

By hand: `python3 test/spec/skypilot_files.py FOLDER`, where FOLDER is a copy of SkyPilot's
repository, or of its `examples`, `llm` and `tests/test_yamls`. Needs PyYAML. Nothing is started:
each file goes through `--dry-run`, from its own folder, with a value for each variable that it
leaves open. What stoker understood is then held against what a second reader, here, makes of the
file: PyYAML, and the meaning that SkyPilot gives to keys. Misread is

- a value of an accepted file that the two understand differently,
- a key of an accepted file that is neither used nor named as ignored,
- a file refused without the line, or with a line that does not hold what is named.

Ends with 1 when a file was misread."""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys

import yaml

BINARY = os.environ.get("STOKER") or str(pathlib.Path(__file__).resolve().parents[2] / "build" / "stoker")
FOLDERS = ("examples", "llm", "tests/test_yamls")
# SkyPilot's task schema, sky/utils/schemas.py, and names that it had before.
TASK_KEYS = set(
    "name workdir num_nodes resources envs secrets managed_secrets file_mounts volumes "
    "volume_mounts setup run event_callback config experimental service pool inputs outputs "
    "api_server_access file_mounts_mapping _metadata".split()
)
USED_RESOURCES = {"use_spot", "labels", "job_recovery", "spot_recovery"}
PLACE = re.compile(r"^(?:error: )?(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): (?P<what>.*)$")
# Mistakes that name no key of the line they stand at.
ABOUT_TEXT = re.compile(
    r"'outputs' is a map|not YAML|a second document|there is nothing to run|the key|the tag|"
    r"a git repository|a repository or bucket|'run'|'setup'"
)


def task_of(text):
    """The file's one task as SkyPilot reads it; None = it is none (several, or something else)."""
    try:
        documents = [each for each in yaml.safe_load_all(text) if each is not None]
    except (yaml.YAMLError, ValueError):
        return None
    if len(documents) != 1 or not isinstance(documents[0], dict):
        return None
    return documents[0] if set(documents[0]) <= TASK_KEYS else None


def recovery_of(resources):
    written = resources.get("job_recovery", resources.get("spot_recovery"))
    written = written if isinstance(written, dict) else {"strategy": written}
    codes = written.get("recover_on_exit_codes", [])
    return {
        "strategy": (written.get("strategy") or "").upper(),
        "max_restarts_on_errors": written.get("max_restarts_on_errors", 0),
        "recover_on_exit_codes": codes if isinstance(codes, list) else [codes],
    }


def script(text):
    """Blanks behind the last line mean nothing to a shell; the two readers of YAML differ there."""
    return (text or "").rstrip()


def meant(task, folder, given):
    """What SkyPilot makes of the keys that a job on this machine has."""
    resources = task.get("resources") or {}
    workdir = task.get("workdir")
    return {
        "name": task.get("name"),
        "num_nodes": task.get("num_nodes") or 1,
        "envs": {str(k): given.get(k, "") if v is None else str(v) for k, v in (task.get("envs") or {}).items()},
        "secrets": sorted(task.get("secrets") or []),  # by name: their values come from outside
        "setup": script(task.get("setup")),
        "run": script(task.get("run")),
        "workdir": os.path.normpath(os.path.join(folder, os.path.expanduser(workdir))) if isinstance(workdir, str) else workdir,
        "use_spot": bool(resources.get("use_spot", False)),
        "labels": {str(k): str(v) for k, v in (resources.get("labels") or {}).items()},
        "job_recovery": recovery_of(resources),
    }


def understood(spec, named):
    """The same of what stoker printed."""
    resources = spec["resources"]
    return {
        "name": spec["name"] if named else None,
        "num_nodes": spec["num_nodes"],
        "envs": {k: str(v) for k, v in (spec.get("envs") or {}).items()},
        "secrets": sorted(spec.get("secrets") or []),
        "setup": script(spec.get("setup")),
        "run": script(spec.get("run")),
        "workdir": spec.get("workdir"),
        "use_spot": resources["use_spot"],
        "labels": {k: str(v) for k, v in (resources.get("labels") or {}).items()},
        "job_recovery": recovery_of(resources),
    }


def differences(task, folder, given, done):
    spec = yaml.safe_load(done.stdout)
    ours, theirs = understood(spec, "name" in task), meant(task, folder, given)
    wrong = [f"{key}: {ours[key]!r}, not {theirs[key]!r}" for key in theirs if ours[key] != theirs[key]]
    said = re.search(r"as it is; ignored: (.*)", done.stderr)
    ignored = set(said.group(1).split(", ")) if said else set()
    unused = {f"resources.{k}" for k in (task.get("resources") or {}) if k not in USED_RESOURCES}
    unused |= {f"config.{k}" for k in (task.get("config") or {})}
    if (task.get("resources") or {}).get("infra") == "local":
        unused.discard("resources.infra")
    wrong += [f"{key}: neither used nor said" for key in sorted(unused - ignored)]
    wrong += [f"{key}: said, but not there" for key in sorted(ignored - unused)]
    known = {"name", "num_nodes", "envs", "secrets", "setup", "run", "workdir", "resources", "config"}
    wrong += [f"{key}: neither used nor said" for key in sorted(set(task) - known) if task[key]]
    for key in ("hyperparameters", "inputs", "outputs", "command", "limits"):
        if spec.get(key):
            wrong.append(f"{key}: out of nothing")
    return wrong


def refusals(text, done):
    """The keys that stoker named, and what is wrong in how it named them."""
    lines = text.split("\n")
    keys, wrong = [], []
    for said in done.stderr.strip().split("\n"):
        place = PLACE.match(said)
        if not place:
            if not re.match(r"^(error: )?(--env|and \d+ more)", said):
                wrong.append(f"no place in: {said}")
            variable = re.search(r"'(\w+)'", said)
            keys.append(f"envs.{variable.group(1)}" if variable else "and more")
            continue
        what = place["what"]
        name = re.search(r"'((?:[^']|'(?=\w))+)'", what)
        line = lines[int(place["line"]) - 1] if int(place["line"]) <= len(lines) else ""
        named = name.group(1).split(":")[0].split(".")[-1] if name else ""
        about_text = ABOUT_TEXT.match(what)
        if not about_text and named and named not in line:
            wrong.append(f"{named!r} is not in line {place['line']}: {said}")
        keys.append(name.group(1).split(":")[0] if name and not about_text else re.split(r"[:.]", what)[0])
    return sorted(set(keys)), wrong


def look(path):
    """(verdict, why) of one file."""
    text = path.read_text()
    task = task_of(text)
    given = {}
    if task and isinstance(task.get("envs"), dict):
        given = {name: "x" for name, value in task["envs"].items() if value is None}
    words = [BINARY, "run", "--infra", "local", "--dry-run"]
    for name, value in given.items():
        words += ["--env", f"{name}={value}"]
    done = subprocess.run([*words, str(path)], cwd=path.parent, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        if task is None:
            return "misread", "accepted, and is no task"
        wrong = differences(task, str(path.parent), given, done)
        return ("misread", "; ".join(wrong)) if wrong else ("run", "")
    keys, wrong = refusals(text, done)
    if wrong:
        return "misread", "; ".join(wrong)
    return ("refused" if task is not None else "no task"), ", ".join(keys)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--commit", default="", help="of which the copy is, for the heading")
    arguments.add_argument("--all", action="store_true", help="a line for each file")
    chosen = arguments.parse_args()
    files = sorted(path.resolve() for folder in FOLDERS for path in (chosen.folder / folder).rglob("*.y*ml"))
    if not files:
        sys.exit(f"no files below {chosen.folder}: it needs {', '.join(FOLDERS)}")
    verdicts = {path: look(path) for path in files}
    print(f"SkyPilot {chosen.commit}: {len(files)} YAML files\n")
    for path, (verdict, why) in verdicts.items():
        if chosen.all or verdict == "misread":
            print(f"{verdict:8} {path.relative_to(chosen.folder.resolve())}  {why}")
    counts = collections.Counter(verdict for verdict, _ in verdicts.values())
    tasks = len(files) - counts["no task"]
    print(
        f"{tasks} task files: {counts['run']} run, {counts['refused']} refused by name, "
        f"{counts['misread']} misread; {counts['no task']} other files, all refused\n"
    )
    for verdict in ("refused", "no task"):
        print(f"{verdict}, by the keys that are named (a file may have several):")
        named = collections.Counter(key for each, why in verdicts.values() if each == verdict for key in why.split(", "))
        for key, count in named.most_common(40):
            print(f"{count:5}  {key}")
    sys.exit(1 if counts["misread"] else 0)


if __name__ == "__main__":
    main()
