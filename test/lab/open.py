# SPDX-License-Identifier: Apache-2.0
"""A shell in the lab, with stoker and the variables that it needs: ./dev lab."""

import os
import pathlib
import shlex
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test import fake_gcs
from test.lab.gce_lab import GceLab
from test.s3_server import BUCKET


def main():
    with lab_of.Lab() as lab, GceLab() as google:
        home = os.path.join(lab.folder, "home")
        os.makedirs(os.path.join(home, "work"))
        env = {**lab.env, **google.env, "HOME": home}
        stoker = os.path.abspath(os.environ["STOKER"])
        env["PATH"] = f"{os.path.dirname(stoker)}:{os.environ['PATH']}"
        setting = [stoker, "config", "set", "store", f"s3://{BUCKET}/me"]
        subprocess.run(setting, env={**os.environ, **env}, check=True)
        for name, value in env.items():
            print(f"export {name}={shlex.quote(value)}")
        print("In this shell they are set. Both clouds and their buckets are in memory, and end")
        print("with it. The store is in the S3 of the lab:")
        print('  stoker run --infra aws/us-east-1 --spot -- sh -c "sleep 60; hostname"')
        print(f"Google has gs://{fake_gcs.BUCKET}, and VMs for who asks its API.")
        print(f"disks and consoles of machines: {lab.folder}/* {google.folder}/*", flush=True)
        subprocess.run(["bash", "--norc"], env={**os.environ, **env}, cwd=os.path.join(home, "work"))
    return 1 if lab.bugs or google.bugs else 0


if __name__ == "__main__":
    sys.exit(main())
