# SPDX-License-Identifier: Apache-2.0
"""Environments out of what lies in a project: by the real uv and by pip, from wheels that are made here. No index is asked."""

import os
import pathlib
import subprocess
import sys
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
    results.check("uv.lock: what it has pinned", code == 0 and "IS 1.0 " in text and "for uv.lock" in text, text)
    code, text = run(world, words, {**env, "VIRTUAL_ENV": str(world.home)}, "print('RAN')")
    results.check("an activated environment stays the job's", code == 0 and "RAN" in text and "uv.lock is not used" in text, text)
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
    project.write_text("[tool.ruff\n")
    code, text = run(world, words, env, "print('RAN')")
    results.check("a damaged pyproject.toml ends no job", code == 0 and "RAN" in text and "pyproject.toml is not read" in text, text)


def main():
    results = Results()
    for test in (by_uv, projects):
        if sys.argv[1:] and test.__name__ not in sys.argv[1:]:
            continue
        with World("project-files") as world:
            results.run(test.__name__, test, results, world)
    results.finish()


main()
