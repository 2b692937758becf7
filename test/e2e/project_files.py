# SPDX-License-Identifier: Apache-2.0
"""Environments out of what lies in a project: by the real uv and by pip, from wheels that are made here. No index is asked."""

import functools
import hashlib
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import zipfile

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env
from test.e2e.kit.harness import PYTHON, Results, World

UV = os.path.join(cloud_env.folder(os.path.join(cloud_env.HERE, "requirements-uv.txt")), "bin")
LOOK = "import toy, other, sys; print('IS', toy.V, toy.__file__, other.V)"


def wheel(folder, name, version, needs=()):
    """A wheel of one module with V."""
    info = f"{name}-{version}.dist-info"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr(f"{name}.py", f"V = '{version}'\n")
        out.writestr(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {n}\n" for n in needs),
        )
        out.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        out.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return path


def wheels(world):
    folder = world.root / "wheels"
    folder.mkdir(exist_ok=True)
    for version in ("1.0", "2.0"):
        wheel(folder, "toy", version)
    wheel(folder, "other", "1.0", ["toy"])
    return folder


def settings(folder, path=None):
    words = ["--env", f"PIP_FIND_LINKS={folder}", "--env", "PIP_NO_INDEX=1"]
    return words, {"PATH": path} if path else {}


def run(world, words, env, code=LOOK):
    done = world.stoker("run", *words, "--", "python3", "-c", code, env=env, timeout=120)
    return done.returncode, done.stdout + done.stderr


def by_uv(results, world):
    """Beside an activated environment that has one of the packages."""
    folder = wheels(world)
    mine = world.home / "mine"
    subprocess.run([PYTHON, "-m", "venv", mine], check=True)
    subprocess.run([mine / "bin" / "pip", "install", "-q", "--no-index", folder / "toy-1.0-py3-none-any.whl"], check=True)
    words, env = settings(folder, f"{mine}/bin:{UV}:{world.env['PATH']}")
    env["VIRTUAL_ENV"] = str(mine)
    (world.work / "requirements.txt").write_text("toy\nother\n")
    code, text = run(world, words, env)
    results.check("uv: what is seen from the environment is used", code == 0 and f"IS 1.0 {mine}" in text and "+ toy" not in text, text)
    (world.work / "requirements.txt").write_text("toy==2.0\nother\n")
    code, text = run(world, words, env)
    results.check("uv: another version goes in front of it", code == 0 and "IS 2.0 " in text and f"IS 2.0 {mine}" not in text, text)
    kept = subprocess.run([mine / "bin" / "python", "-c", "import toy; print(toy.V)"], capture_output=True, text=True)
    results.check("uv: and it stays what it was", kept.stdout == "1.0\n", kept.stdout + kept.stderr)
    left = [p for p in world.home.rglob("INSTALLER") if p.read_text() == "stoker-seen\n"]
    results.check("uv: no entry of it is left in the environment", not left, left)
    (world.work / "requirements.txt").write_text("--prefer-binary\ntoy==2.0\nother\n")
    code, text = run(world, words, env)
    results.check(
        "pip: installs what uv would leave out, and it is said", code == 0 and "IS 2.0 " in text and "by pip and not by uv" in text, text
    )
    (world.work / "requirements.txt").write_text("toy==3.0\n")
    code, text = run(world, words, env)
    results.check("uv: its own words where it fails", code != 0 and "exit code 1: error: No solution" in text and "toy" in text, text)


def fetched_uv(results, world):
    """One that lies in the cache already, as if it had been fetched."""
    words, env = settings(wheels(world), f"{os.path.dirname(PYTHON)}:/bin")
    there = world.home / ".cache" / "stoker" / "venv" / "uv-0.13.9"
    there.parent.mkdir(parents=True)
    shutil.copy(os.path.join(UV, "uv"), there)
    os.utime(there, (1, 1))
    (world.work / "requirements.txt").write_text("toy==1.0\nother\n")
    code, text = run(world, words, env)
    used = code == 0 and "IS 1.0 " in text and "+ toy" in text
    results.check("a fetched uv that is used is no old one for gc", used and there.stat().st_mtime > 1, text)


def projects(results, world):
    folder = wheels(world)
    words, env = settings(folder, f"{UV}:{world.env['PATH']}")
    project = world.work / "pyproject.toml"
    project.write_text('[project]\nname = "p"\nversion = "1"\nrequires-python = ">=3.8"\ndependencies = ["other", "toy==1.0"]\n')
    code, text = run(world, words, env)
    results.check("pyproject.toml: its dependencies", code == 0 and "IS 1.0 " in text and "for pyproject.toml" in text, text)
    lock = ["uv", "lock", "-q", "--no-index", "--find-links", folder, "--python", PYTHON]
    subprocess.run(lock, check=True, cwd=world.work, env={**world.env, "PATH": f"{UV}:{world.env['PATH']}", "UV_PYTHON_DOWNLOADS": "never"})
    project.write_text(project.read_text().replace(', "toy==1.0"', ""))
    code, text = run(world, words, env)
    results.check("uv.lock: of what its index tells no hash, is said", "uv.lock has no hash of other==1.0, toy==1.0, which" in text, text)
    results.check("uv.lock: what it has pinned", code == 0 and "IS 1.0 " in text and "for uv.lock" in text, text)
    code, text = run(world, words, {**env, "VIRTUAL_ENV": str(world.home)}, "print('RAN')")
    results.check("an activated environment stays the job's", code == 0 and "RAN" in text and "uv.lock is not used" in text, text)
    (world.work / "uv.lock").rename(world.root / "uv.lock")
    project.write_text('[project]\nname = "p"\ndependencies = ["no-such"]\n')
    code, text = run(world, words, env)
    way_out = "A requirements.txt with a comment alone ('# none') has the job run with what is there" in text
    results.check("pyproject.toml: where an index has it not, the way out", code != 0 and "no-such" in text and way_out, text)
    (world.root / "uv.lock").rename(world.work / "uv.lock")
    project.write_text('[project]\nname = "p"\nrequires-python = ">=4.1"\ndependencies = ["toy"]\n')
    code, text = run(world, words, env)
    results.check("another Python is refused in words", code != 0 and "requires Python >=4.1, and python3 here is 3." in text, text)
    (world.work / "uv.lock").unlink()
    project.write_text('[project]\nname = "p"\ndependencies = ["toy"]\n')
    (world.work / "poetry.lock").write_text("")
    code, text = run(world, words, env)
    results.check(
        "poetry.lock: without poetry, what to write", code != 0 and "poetry export -f requirements.txt -o requirements.txt" in text, text
    )
    (world.work / "requirements.txt").write_text("# none\n")
    code, text = run(world, words, env, "print('RAN')")
    results.check("a requirements.txt of comments has it run as it is", code == 0 and "RAN" in text, text)
    for name in ("requirements.txt", "poetry.lock"):
        (world.work / name).unlink()
    project.write_text("[tool.ruff]\nline-length = 100\n")
    (world.work / "environment.yml").write_text("name: x\n")
    code, text = run(world, words, env, "print('RAN')")
    results.check(
        "environment.yml: not used, and what to write", code == 0 and "RAN" in text and "environment.yml is not used" in text, text
    )
    sourced = '[project]\nname = "p"\ndependencies = ["toy"]\n[tool.uv.sources]\ntoy = { git = "https://127.0.0.1/toy" }\n'
    project.write_text(sourced)
    code, text = run(world, words, env, "print('RAN')")
    told = "pyproject.toml is not installed" in text and "uv export --emit-index-url -o requirements.txt" in text
    results.check("pyproject.toml: what comes from elsewhere is not asked of an index", code == 0 and "RAN" in text and told, text)
    job = ["-c", "uv run --no-project python3 -c \"print('R''AN')\""]
    project.write_text('[project]\nname = "p"\ndependencies = ["no-such"]\n')
    done = world.stoker("run", *words, "--", "sh", *job, env=env, timeout=120)
    told = "pyproject.toml is left to the job itself, which has 'uv run'" in done.stdout + done.stderr
    results.check("a job's own uv run is not preceded", done.returncode == 0 and "RAN" in done.stdout and told, done.stdout + done.stderr)
    project.write_text("[tool.ruff\n")
    code, text = run(world, words, env, "print('RAN')")
    results.check("a damaged pyproject.toml ends no job", code == 0 and "RAN" in text and "pyproject.toml is not read" in text, text)


def index(world, folder):
    """Pages of an index in files, which tell the wheels' digests; a server for them."""
    pages = world.root / "index"
    for path in folder.iterdir():
        page = pages / path.name.split("-")[0]
        page.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, pages)
        with open(page / "index.html", "a", encoding="utf-8") as out:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            out.write(f'<a href="../{path.name}#sha256={digest}">{path.name}</a>\n')
    handler = functools.partial(QuietFiles, directory=pages)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return pages, f"http://127.0.0.1:{server.server_port}/"


class QuietFiles(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def hashes(results, world):
    """uv.lock knows digests; a wheel that was changed later is refused."""
    pages, url = index(world, wheels(world))
    env = {"PATH": f"{UV}:{world.env['PATH']}"}
    words = ["--env", f"PIP_INDEX_URL={url}", "--env", f"UV_CACHE_DIR={world.root}/uv-cache", "--env", "UV_NO_CACHE=1"]
    project = world.work / "pyproject.toml"
    project.write_text('[project]\nname = "p"\nversion = "1"\nrequires-python = ">=3.8"\ndependencies = ["other", "toy==1.0"]\n')
    lock = ["uv", "lock", "-q", "--no-cache", "--default-index", url, "--python", PYTHON]
    quiet = {**world.env, **env, "UV_PYTHON_DOWNLOADS": "never"}
    subprocess.run(lock, check=True, cwd=world.work, env=quiet)
    code, text = run(world, words, env)
    results.check("uv.lock: with the digests that it has", code == 0 and "IS 1.0 " in text and "has no hash" not in text, text)
    local = world.work / "loc"
    local.mkdir()
    back_end = '[build-system]\nrequires = []\nbuild-backend = "back"\nbackend-path = ["."]\n'
    (local / "pyproject.toml").write_text(f'[project]\nname = "loc"\nversion = "1.0"\n{back_end}')
    made = wheel(local, "loc", "1.0").name
    copy = f"import shutil\n\n\ndef build_wheel(to, *_):\n    shutil.copy('{made}', to)\n    return '{made}'\n"
    (local / "back.py").write_text(copy)
    project.write_text(project.read_text() + '[tool.uv.sources]\nloc = { path = "loc" }\n')
    project.write_text(project.read_text().replace('["other"', '["loc", "other"'))
    subprocess.run(lock, check=True, cwd=world.work, env=quiet)
    old = hashlib.sha256((pages / "toy-1.0-py3-none-any.whl").read_bytes()).hexdigest()
    new = hashlib.sha256(wheel(pages, "toy", "1.0", ["other"]).read_bytes()).hexdigest()
    page = pages / "toy" / "index.html"
    page.write_text(page.read_text().replace(old, new))
    code, text = run(world, words, env)
    results.check("uv.lock: a wheel that is another is refused", code != 0 and "Hash mismatch for `toy==1.0`" in text, text)
    results.check("uv.lock: what has no hash is named", "uv.lock has no hash of ./loc" in text, text)
    code, text = run(world, [*words, "--env", "PIP_PREFER_BINARY=1"], env)
    told = "installed by pip and not by uv" in text and "those of uv.lock are not checked" in text
    results.check("uv.lock: by pip, that no hash is checked is said", told, text)


def named_index(results, world):
    """uv.lock of a project whose packages come from an index that only it names, with a password."""
    _, url = index(world, wheels(world))
    secret = url.replace("://", "://me:word-of-mine@")
    env = {"PATH": f"{UV}:{world.env['PATH']}"}
    words = ["--env", "UV_NO_CACHE=1", "--env", f"PIP_INDEX_URL={url}none/"]  # a mirror that has neither
    text = '[project]\nname = "p"\nversion = "1"\nrequires-python = ">=3.8"\ndependencies = ["other", "toy==1.0"]\n'
    text += f'[[tool.uv.index]]\nname = "own"\nurl = "{secret}"\nexplicit = true\n'
    text += '[tool.uv.sources]\ntoy = { index = "own" }\nother = { index = "own" }\n'
    (world.work / "pyproject.toml").write_text(text)
    lock = ["uv", "lock", "-q", "--no-cache", "--python", PYTHON]
    subprocess.run(lock, check=True, cwd=world.work, env={**world.env, **env, "UV_PYTHON_DOWNLOADS": "never"})
    code, text = run(world, words, env)
    results.check("uv.lock: from the index that the project names", code == 0 and "IS 1.0 " in text, text)
    results.check("uv.lock: its password is in no log", "word-of-mine" not in text, text)


# In shape: what public projects have at their root; the texts, and the wheels that they name, are made here. Names with a version
# are asked for by it. "" = it has to work, else words of the reason.
WHISPER = 'numba\nnumpy\ntqdm\nmore-itertools\ntiktoken\ntriton>=2 ; platform_machine=="x86_64" and sys_platform=="linux"\n'
PUBLIC = {
    "karpathy/nanoGPT": ({"train.py": "", "README.md": "pip install torch numpy\n"}, [], ""),
    "karpathy/nanochat": (
        {"pyproject.toml": ["tiktoken==0.11.0", "wandb>=0.21"], "uv.lock": None, ".python-version": None},
        ["tiktoken==0.11.0", "wandb"],
        "",
    ),
    "openai/whisper": ({"requirements.txt": WHISPER, "pyproject.toml": ["no-such"]}, ["numba", "more-itertools", "tiktoken"], ""),
    "huggingface/lerobot": (
        {
            "pyproject.toml": ["draccus==0.10.0", "wandb[media]>=0.20,<0.22", "tqdm ; python_version>='3.8'"],
            "requirements-ubuntu.txt": "no-such\n",
        },
        ["draccus==0.10.0", "wandb==0.21.0"],
        "",
    ),
    "NVIDIA/apex": (
        {"requirements.txt": "cxxfilt>=0.2.0\ntqdm>=4.28.1\n", "setup.py": "", "pyproject.toml": []},
        ["cxxfilt==0.3.0", "tqdm"],
        "",
    ),
    "openai/CLIP": ({"requirements.txt": "ftfy\nregex\ntqdm\n", "setup.py": ""}, ["ftfy", "regex"], ""),
    "python-poetry/poetry": (
        {"pyproject.toml": ["tqdm"], "poetry.lock": ""},
        ["tqdm"],
        "poetry export -f requirements.txt -o requirements.txt",
    ),
    "pdm-project/pdm": ({"pyproject.toml": ["tqdm"], "pdm.lock": ""}, ["tqdm"], "pdm export --prod -f requirements -o requirements.txt"),
    "CompVis/latent-diffusion": (
        {"environment.yaml": "dependencies: [no-such]\n", "setup.py": ""},
        ["no-such"],
        "echo '# environment.yaml' > requirements.txt",
    ),
    "pypa/pipenv's own example": ({"Pipfile": "", "Pipfile.lock": ""}, ["no-such"], "pipenv requirements > requirements.txt"),
}
STUBS = """
numba numpy tqdm==5.0 more_itertools tiktoken==0.11.0 tiktoken==0.12.0 triton==3.0 wandb==0.21.0
wandb==0.22.0 draccus==0.10.0 draccus==0.11.0 cxxfilt==0.3.0 ftfy regex
"""
HAS = "import importlib.metadata as m, sys; print('HAS', *[n + '==' + m.version(n) for n in sys.argv[1:]], '')"


def write_project(world, folder, env, files):
    shutil.rmtree(world.work)
    world.work.mkdir()
    for name, text in files.items():
        if isinstance(text, list):
            text = f'[project]\nname = "p"\nversion = "1"\nrequires-python = ">=3.8"\ndependencies = {json.dumps(text)}\n'
        elif name == ".python-version":
            text = subprocess.run(
                [PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True
            ).stdout
        if text is not None:
            (world.work / name).write_text(text)
    if "uv.lock" in files:
        lock = ["uv", "lock", "-q", "--no-index", "--find-links", folder, "--python", PYTHON]
        subprocess.run(lock, check=True, cwd=world.work, env={**world.env, **env, "UV_PYTHON_DOWNLOADS": "never"})


def public(results, world):
    """Works, is refused with why, or is wrong: none is."""
    folder = world.root / "stubs"
    folder.mkdir()
    for stub in STUBS.split():
        name, _, version = stub.partition("==")
        wheel(folder, name, version or "9.0")
    words, env = settings(folder, f"{UV}:{world.env['PATH']}")
    told = {"works": 0, "refused why": 0, "wrong": 0}
    for project, (files, needs, why) in PUBLIC.items():
        write_project(world, folder, env, files)
        done = world.stoker("run", *words, "--", "python3", "-c", HAS, *[n.partition("==")[0] for n in needs], env=env, timeout=120)
        text = done.stdout + done.stderr
        if why:
            judged = "refused why" if done.returncode != 0 and why in text else "wrong"
        else:
            judged = "works" if done.returncode == 0 and all(f"{n}{'' if '==' in n else '=='}" in text for n in needs) else "wrong"
        told[judged] += 1
        results.check(f"{project}: {judged}", judged != "wrong", text)
    print("      " + ", ".join(f"{word}: {count}" for word, count in told.items()))


FAKE_CONDA = """#!/bin/sh
# env create -p PREFIX -f FILE, as micromamba has it: a prefix, and in it what the pip: part names.
if [ "$1" = --version ]; then echo 1.5.8; exit 0; fi
[ "$1 $2 $3 $5" = "env create -p -f" ] || exit 9
if grep -q no-such "$6"; then echo 'critical libmamba Could not solve for environment specs: no-such' >&2; exit 1; fi
echo made >> COUNT
PYTHON -m venv "$4" && mkdir "$4/conda-meta" || exit 1
sed -n '/- pip:/,$ s/^ *- //p' "$6" | grep -v 'pip:' > "$4/pip.txt"
exec "$4/bin/pip" install -q -r "$4/pip.txt"
"""


def conda(results, world):
    """By a stand-in for micromamba, which makes its prefixes by venv."""
    folder = wheels(world)
    words, env = settings(folder, f"{UV}:{world.env['PATH']}")
    file, demand = world.work / "environment.yml", world.work / "requirements.txt"
    file.write_text("name: x\nchannels: [none]\ndependencies:\n  - python\n  - pip:\n    - toy==1.0\n    - other\n")
    code, text = run(world, words, env, "print('RAN')")
    told = "environment.yml is not used" in text and "echo '# environment.yml' > requirements.txt" in text
    results.check("environment.yml: not used unasked, and it is said how", code == 0 and "RAN" in text and told, text)
    demand.write_text("# environment.yml\n")
    code, text = run(world, words, env)
    no_tool = "environment.yml: this machine has no conda, mamba or micromamba in its PATH" in text
    results.check("environment.yml: refused where nothing makes it", code != 0 and no_tool and "'# none'" in text, text)
    tools, count = world.root / "tools", world.root / "made"
    tools.mkdir()
    (tools / "micromamba").write_text(FAKE_CONDA.replace("COUNT", str(count)).replace("PYTHON", PYTHON))
    (tools / "micromamba").chmod(0o755)
    env["PATH"] = f"{tools}:{env['PATH']}"
    look = LOOK + "; import os; print('IN', os.environ['CONDA_PREFIX'] == os.environ['VIRTUAL_ENV'] == sys.prefix)"
    for turn in ("made", "found again"):
        code, text = run(world, words, env, look)
        good = code == 0 and "IS 1.0 " in text and "IN True" in text and count.read_text() == "made\n"
        results.check(f"environment.yml: {turn}, with its pip part", good, text)
    file.write_text(file.read_text().replace("1.0", "2.0"))
    job = world.work / "job.yaml"
    job.write_text(
        json.dumps({"workdir": ".", "setup": "pip uninstall -qy other && pip install --no-deps other", "run": f'python3 -c "{look}"'})
    )
    done = world.stoker("run", *words, "job.yaml", env=env, timeout=120)
    good = done.returncode == 0 and "IS 2.0 " in done.stdout and "IN True" in done.stdout
    results.check("environment.yml: with a setup in it", good, done.stdout + done.stderr)
    job.unlink()
    file.write_text(file.read_text() + "    - no-such\n")
    code, text = run(world, words, env)
    own = "micromamba env create failed with exit code 1: critical libmamba Could not solve" in text
    results.check("environment.yml: the tool's own words where it fails", code != 0 and own, text)
    file.unlink()
    code, text = run(world, words, env)
    results.check("environment.yml: demanded and not there", code != 0 and "requirements.txt demands that file" in text, text)


def main():
    results = Results()
    for test in (by_uv, fetched_uv, projects, hashes, named_index, conda, public):
        if sys.argv[1:] and test.__name__ not in sys.argv[1:]:
            continue
        with World("project-files") as world:
            results.run(test.__name__, test, results, world)
    results.finish()


main()
