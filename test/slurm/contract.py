#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The contract of the provider port on a real Slurm: contract.py PROGRAM [FLAG…]"""

import pathlib
import signal
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.slurm.kit.lab import Lab

# So that the lab is closed.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def main():
    with Lab() as lab:
        done = subprocess.run([pathlib.Path(sys.argv[1]).resolve(), *sys.argv[2:]], env={**lab.env, "TMPDIR": str(lab.dir)})
        left = lab.left()
    if left:
        sys.exit(f"FAIL  still there: {left}")
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
