#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a machine that has nothing takes from submit to the end of a program that only imports: by pip, by uv that is fetched first, and
again on the same machine. Asks the index of this machine's pip: by hand. The packages that python3 of PATH has are not loaded, so it should
be one that has none. PACKAGES names others than these ten."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path[0] = str(pathlib.Path(__file__).parents[1])

STOKER = os.path.realpath(os.environ.get("STOKER", "build/release/stoker"))
TEN = "numpy pandas requests pyyaml tqdm scikit-learn matplotlib pydantic rich fastapi"
PACKAGES = os.environ.get("PACKAGES", TEN).split()


def once(home, first_line):
    """Seconds of a job."""
    work = pathlib.Path(home, "work")
    work.mkdir(exist_ok=True)
    (work / "requirements.txt").write_text("\n".join([first_line, *PACKAGES]) + "\n")
    env = {**os.environ, "HOME": str(home), "UV_CACHE_DIR": f"{home}/uv", "PIP_CACHE_DIR": f"{home}/pip"}
    for name in ("VIRTUAL_ENV", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        env.pop(name, None)
    began = time.monotonic()
    words = [STOKER, "run", "--env", f"UV_CACHE_DIR={home}/uv", "--env", f"PIP_CACHE_DIR={home}/pip", "--", "python3", "-c", "pass"]
    done = subprocess.run(words, cwd=work, env=env, capture_output=True, text=True)
    took = time.monotonic() - began
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    return took


def main():
    took = {}
    for name, first_line in (("pip", "--prefer-binary"), ("uv", "#")):
        with tempfile.TemporaryDirectory() as home:
            took[name] = once(home, first_line)
            took[name + ", again"] = once(home, first_line)
            print(f"{name}: {took[name]:.1f} s with empty caches, {took[name + ', again']:.1f} s again", flush=True)
    print(f"pip / uv: {took['pip'] / took['uv']:.1f}")


main()
