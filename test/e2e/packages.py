# SPDX-License-Identifier: Apache-2.0
"""The packages of a job: what its submitter has installed for editing, and branches that
requirements.txt names. Without a network: what pip and its kind leave in an environment is written
here as they do, and a python3 that is in the way writes down what pip would have been asked."""

import pathlib
import re
import socket
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import PYTHON, Results, World

# As setuptools appends it, and as scikit-build-core inserts it.
FINDER = """
import sys, importlib.util
MAPPING: dict[str, str] = {{'{name}': '{path}'}}
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in MAPPING:
            return importlib.util.spec_from_file_location(
                name, MAPPING[name] + '/__init__.py',
                submodule_search_locations=[MAPPING[name]])
def install():
    sys.meta_path.{how}Finder)
"""
LOOK = """
import subprocess, sys
for name in sys.argv[1:]:
    try:
        module = __import__(name, fromlist=['x'])
        print('IS', name, getattr(module, 'V', '-'), module.__file__)
    except Exception as error:
        print('IS', name, repr(error))
if sys.argv[1] != 'path_kind.sub':
    sys.exit(subprocess.run([sys.executable, __file__, 'path_kind.sub', 'first']).returncode)
"""


def package(folder, name, **files):
    """A package `name` in `folder` whose modules have V = "packed"."""
    (folder / name).mkdir(parents=True)
    for file in ("__init__", "sub", *files):
        (folder / name / f"{file}.py").write_text(files.get(file, 'V = "packed"\n'))
    return folder / name


def editable_env(world):
    """An environment that has everything below the work directory installed for editing."""
    work = world.work
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", world.home / "mine"], check=True)
    site = next((world.home / "mine" / "lib").iterdir()) / "site-packages"
    package(work / "src", "path_kind")
    package(work / "space" / "ns", "inner")  # a namespace package: ns has no __init__.py
    (site / "__editable__.path.pth").write_text(f"{work}/src\n{work}/space\n")
    for name, how in (("appended", "append("), ("first", "insert(0, ")):
        where = package(work / "libs", name)
        (site / f"__editable___{name}_finder.py").write_text(FINDER.format(name=name, path=where, how=how))
        (site / f"__editable__.{name}.pth").write_text(f"import __editable___{name}_finder; __editable___{name}_finder.install()\n")
    (site / "linked").symlink_to(package(work / "flit", "linked"))
    # setuptools' strict mode: a folder of links, which git ignores.
    strict = work / "build" / "__editable__.strict" / "strict"
    strict.mkdir(parents=True)
    for file in package(work / "libs", "strict").iterdir():
        (strict / file.name).symlink_to(file)
    (site / "__editable__.strict.pth").write_text(f"{strict.parent}\n")
    # Built in place, and a file that a tool made: git ignores both.
    built = package(work / "more", "built", other="V = 'packed'\n")
    (built / "_c.so").write_text("")
    (site / "built.pth").write_text(f"{work}/more\n")
    (work / "src" / "path_kind" / "_version.py").write_text('V = "made"\n')
    (work / ".gitignore").write_text("*.so\n_version.py\nbuild/\n")
    package(site, "usual")
    (world.root / "customs").mkdir()
    (world.root / "customs" / "sitecustomize.py").write_text("import sys; sys.own_customs = True\n")
    return {"PATH": f"{world.home}/mine/bin:{world.env['PATH']}", "PYTHONPATH": f"{world.root}/customs"}


def editable(results, world):
    env = editable_env(world)
    (world.work / "look.py").write_text(LOOK)
    names = [
        "path_kind",
        "path_kind.sub",
        "path_kind._version",
        "ns.inner",
        "appended",
        "appended.sub",
        "first",
        "linked",
        "strict",
        "built",
        "built.sub",
        "usual",
    ]
    job = world.submit(
        "--max-restarts",
        "1",
        "--",
        "sh",
        "-c",
        f'python look.py {" ".join(names)}; python -c "import sys; '
        "print('IS customs', sys.own_customs)\"; "
        f"while test $STOKER_ATTEMPT = 1 && ! test -e {world.evidence}/go; "
        "do sleep 0.05; done; test $STOKER_ATTEMPT = 2",
        env=env,
    )
    for file in world.work.rglob("*.py"):
        if "V =" in file.read_text() and not file.is_symlink():
            file.write_text(file.read_text().replace("packed", "live"))
    (world.evidence / "go").touch()
    world.stoker("wait", job, timeout=60)
    again = world.stoker("retry", job, env=env, timeout=60)
    log = world.stoker("logs", job, "--stream", "system").stdout
    for where, text, times in (("job", world.stoker("logs", job).stdout, 2), ("retry", again.stdout, 1)):
        found = {}
        for line in re.findall(r"IS (\S+) (.*)", text):
            found.setdefault(line[0], set()).add(line[1].split(" /")[0])
        live = {n for n, values in found.items() if "live" in values}
        packed = {n for n, values in found.items() if values == {"packed"}}
        results.check(
            f"editable: the {where} imports its copy, also before finders, in children",
            packed >= set(names) - {"path_kind._version", "built", "built.sub"},
            text,
        )
        results.check(f"editable: the {where} has what was not packed", found.get("path_kind._version") == {"made"}, text)
        results.check(f"editable: the {where} takes a package with compiled modules whole", live == {"built", "built.sub"}, text)
        results.check(
            f"editable: the {where} has its own sitecustomize, and in all children",
            found.get("customs") == {"True"} and text.count("IS first ") >= 2 * times,
            text,
        )
    results.check(
        "editable: the log says both",
        "strict is installed for editing" in log
        and "path_kind/_version.py" in log
        and "more/built/_c.so" in log
        and "as it is, not its copy" in log,
        log,
    )
    none = world.stoker("run", "--", PYTHON, "-c", "import os; print('IS', os.environ.get('PYTHONPATH'))")
    results.check("editable: nothing is set where nothing is installed so", "IS None" in none.stdout, none.stdout + none.stderr)


def fake_python(world):
    """A python3 for PATH whose environments have a pip that writes down what it is asked. Files that it is to be asked say
    --prefer-binary, which uv does not know."""
    folder = world.root / "bin"
    folder.mkdir()
    pip = (
        f'#!/bin/sh\nfor last; do :; done\ncat "$last" "$(dirname "$last")"/1.txt '
        f">> {world.evidence}/asked 2>/dev/null\necho -- >> {world.evidence}/asked\n"
    )
    (folder / "pip").write_text(pip)
    (folder / "python3").write_text(
        f'#!/bin/sh\nif [ "$2" != venv ]; then exec {PYTHON} "$@"; fi\nfor last; do :; done\n'
        f'mkdir -p "$last/bin" "$last/lib" && cp {folder}/pip "$last/bin/python"\n'
    )
    for name in ("pip", "python3"):
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{world.env['PATH']}"}


def git(folder, *words):
    done = subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=n@example.com", *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(folder):
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    return git(folder, "rev-parse", "HEAD")


def pins(results, world):
    env = fake_python(world)
    lib = world.root / "lib"
    lib.mkdir()
    git(lib, "init", "-q", "-b", "trunk")
    first = commit(lib)
    git(lib, "tag", "-a", "v1", "-m", "v1")
    asked = world.evidence / "asked"
    (world.work / "more").mkdir()
    (world.work / "more" / "dev.txt").write_text(f"x @ git+file://{lib}@v1 ; python_version > '3'\n")
    (world.work / "requirements.txt").write_text(
        f"--prefer-binary\ngit+file://{lib}@trunk#egg=gpk\n-r more/dev.txt\n-e git+file://{lib}#egg=head\ngit+file://{lib}@{first}\n"
    )
    job = world.submit("--", "true", env=env)
    world.stoker("wait", job, check=True)
    text = asked.read_text()
    record = {p["source"]: p["commit"] for p in world.job(job)["pins"]}
    results.check(
        "pins: branch, tag and neither are commits for pip",
        f"git+file://{lib}@{first}#egg=gpk\n" in text
        and f"-e git+file://{lib}@{first}#egg=head" in text
        and f"x @ git+file://{lib}@{first} ; python" in text
        and "/dev.txt" not in text,
        text,
    )
    results.check(
        "pins: they are in the record, and a commit is none",
        record == {f"git+file://{lib}@trunk": first, f"git+file://{lib}@v1": first, f"git+file://{lib}": first},
        record,
    )
    results.check("pins: show has them", f"@trunk is {first}" in world.stoker("show", job).stdout)
    second = commit(lib)
    asked.unlink()
    world.stoker("retry", job, env=env, check=True)
    results.check("pins: a retry has what its job had", not asked.exists())
    moved = world.stoker("run", "--", "true", env=env, check=True)
    results.check(
        "pins: a new job has what is new, and says so",
        f"@{second}#egg=gpk" in asked.read_text() and f"commit {second[:10]}" in moved.stderr,
        moved.stderr + asked.read_text(),
    )
    asked.unlink()
    lib.rename(world.root / "away")
    gone = world.stoker("run", "--", "true", env=env, check=True)
    results.check(
        "pins: without an answer the environment of before is used, and it is said",
        not asked.exists()
        and "which commit that is, is not known (git says: " in gone.stderr
        and "made from it before is used" in gone.stdout + gone.stderr,
        gone.stdout + gone.stderr,
    )


def silent_host(results, world):
    env = fake_python(world)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        url = f"git+http://127.0.0.1:{server.getsockname()[1]}"
        (world.work / "requirements.txt").write_text(f"--prefer-binary\n{url}/a@main\n{url}/b\n")
        began = time.monotonic()
        job = world.submit("--", "true", env=env)
        took = time.monotonic() - began
        told = world.stoker("show", job).stdout
        world.stoker("wait", job, check=True)
    results.check("pins: one that is silent is waited for 5 s, with others at once", 4.5 < took < 15, took)
    results.check(
        "pins: and pip takes what it is", "/a@main\n" in (world.evidence / "asked").read_text() and "nobody said in time" in told, told
    )


def main():
    results = Results()
    for test in (editable, pins, silent_host):
        if sys.argv[1:] and test.__name__ not in sys.argv[1:]:
            continue
        with World("packages") as world:
            results.run(test.__name__, test, results, world)
    results.finish()


main()
