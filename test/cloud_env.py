# SPDX-License-Identifier: Apache-2.0
"""The Python packages of test/requirements-cloud.txt in a virtual environment of their own, made
once for each version of that file under $XDG_CACHE_HOME/stoker-test.

A test calls enter() before it imports any of them: it goes on in that environment's Python."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
REQUIREMENTS = os.path.join(HERE, "requirements-cloud.txt")
BASE_PYTHON = "/usr/bin/python3"  # what python3-venv belongs to


def make(folder, requirements, debian):
    """A whole environment at `folder` or none: pip may be cut off at any moment."""
    shutil.rmtree(folder, ignore_errors=True)
    print(f"cloud_env: installing {requirements} into {folder}", file=sys.stderr)
    # What needs Debian's torch must not fetch another one of gigabytes: its list is whole.
    venv, pip = (["--system-site-packages"], ["--no-deps"]) if debian else ([], [])
    subprocess.run([BASE_PYTHON, "-m", "venv", *venv, folder], check=True)
    subprocess.run([os.path.join(folder, "bin", "pip"), "install", "-q", *pip, "-r", requirements], check=True, stdout=sys.stderr)
    with open(os.path.join(folder, "whole"), "w", encoding="utf-8"):
        pass


def cache_root():
    """Where tests keep what they have made once."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    root = os.path.join(cache, "stoker-test")
    os.makedirs(root, exist_ok=True)
    return root


def folder(requirements=REQUIREMENTS, debian=False):
    """The environment's folder; waits while another test makes it. `debian`: beside Debian's own
    packages, and of `requirements` nothing but what it names."""
    with open(requirements, "rb") as source:
        version = hashlib.sha256(source.read()).hexdigest()[:12]
    kind = os.path.basename(requirements).removeprefix("requirements-").removesuffix(".txt")
    path = os.path.join(cache_root(), f"{kind}-{version}")
    with open(path + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(os.path.join(path, "whole")):
            make(path, requirements, debian)
    return path


def enter():
    path = folder()
    if os.path.realpath(sys.prefix) == os.path.realpath(path):
        return
    python = os.path.join(path, "bin", "python3")
    os.execv(python, [python, *sys.argv])
