# SPDX-License-Identifier: Apache-2.0
"""A large file that another process copies into place while the program goes on; two stay."""

import glob
import os
import subprocess

from witness import body, check, read, run, write

SCRATCH = ".cache/big.raw"
SIZE = 12_000_000


def copy(folder, step):
    """In place, as cp does; again if somebody has ended it half-way."""
    for _ in range(5):
        if subprocess.run(["cp", SCRATCH, f"{folder}/big-{step:04d}.raw"]).returncode == 0:
            break
    else:
        raise SystemExit("cp does not come to an end")
    old = f"{folder}/big-{step - 2:04d}.raw"
    if os.path.exists(old):
        os.unlink(old)


def save(folder, step):
    os.makedirs(".cache", exist_ok=True)
    write(SCRATCH, body("big", step, SIZE))
    return lambda: copy(folder, step)


def load(folder):
    return max([check(read(path), "big") for path in glob.glob(f"{folder}/big-*.raw")], default=0)


run(save, load)
