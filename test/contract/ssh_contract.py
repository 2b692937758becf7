#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Machines on boxes that ssh reaches keep the contract of the provider port: two sshds on loopback
ports, each with a home folder of its own.

    ssh_contract.py PROGRAM [ARGUMENT…]"""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import sshd


def main():
    with tempfile.TemporaryDirectory(prefix="stoker-ssh-") as root:
        client = sshd.Client(os.path.join(root, "client"))
        boxes = [sshd.Sshd(root, name, {"STOKER_CAPACITY": "cpus=256 memory=0"}) for name in ("box1", "box2")]
        try:
            for box in boxes:
                client.know(box)
                box.start(client.authorized)
            env = {**os.environ, "PATH": f"{client.bin}:{os.environ['PATH']}", "STOKER_TEST_BOXES": ",".join(box.name for box in boxes)}
            code = subprocess.run(sys.argv[1:], env=env, timeout=600).returncode
            left = [f"{box.name}/{name}" for box in boxes for name in box.instances()]
            if left:
                print("left on the boxes:", *left)
            return code or bool(left)
        finally:
            for box in boxes:
                box.stop()


if __name__ == "__main__":
    sys.exit(main())
