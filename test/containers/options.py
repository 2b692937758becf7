#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every option that the engines' own `run --help` has here: `container.run_options` hands it on, as
this table says, or refuses it and says what to write. A new one of an engine's is in neither. With
clients alone; apptainer.py asks its client the same."""

import pathlib
import re
import shutil
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.containers.engines import bring, sbin
from test.e2e.kit.harness import Results, World

HANDED_ON = {
    "podman docker": """blkio-weight blkio-weight-device cap-add cap-drop cgroupns cpu-rt-period cpu-rt-runtime cpu-shares
        cpuset-cpus cpuset-mems device device-cgroup-rule device-read-bps device-read-iops device-write-bps device-write-iops
        dns dns-option dns-search group-add ipc memory-swappiness pids-limit privileged quiet read-only security-opt shm-size
        sysctl tmpfs ulimit""",
    "podman": """cgroup-conf chrootdirs http-proxy image-volume personality rdt-class read-only-tmpfs seccomp-policy
        shm-size-systemd tz umask""",
    "docker": "storage-opt",
    "apptainer": """add-caps allow-setuid app blkio-weight blkio-weight-device cpu-shares cpuset-cpus cpuset-mems debug device
        disable-cache dns docker-host drop-caps fakeroot fusemount ipc keep-privs memory-swappiness no-eval no-https no-mount
        no-privs no-tmp-sandbox no-umask nvccli passphrase pem-path pids-limit rocm security sif-fuse tmp-sandbox underlay
        unsquash""",
}


def names(kind, text):
    """Of its help: each line begins with them."""
    found = re.findall(r"^ {1,8}(?:-\w, +(?:\[.*?\], +)?|-\w\|)?--([a-z0-9][a-z0-9-]*)", text, re.M)
    assert len(found) > 40, f"{kind}: its help has no options: {text[:300]}"
    return sorted(set(found))


def judge(world, kind, text, check):
    """`text`: its help."""
    wanted = {one for kinds, listed in HANDED_ON.items() if kind in kinds.split() for one in listed.split()}
    path = world.work / "job.yaml"
    for name in names(kind, text):
        path.write_text(f"container:\n  image: localhost/py:1\n  run_options: [--{name}=1]\nrun: true\n")
        done = world.stoker("run", "--dry-run", str(path))
        refused = done.returncode != 0 and f"'--{name}' is not handed on" in done.stderr
        decided = refused != (name in wanted) and (refused or done.returncode == 0)
        check(f"{kind}: --{name} is handed on or refused on purpose", decided, f"in the table: {name in wanted}; {done.stderr}")


if __name__ == "__main__":
    results = Results()
    with World("options") as here:
        for engine in ("podman", "docker"):
            bring(engine)
            program = shutil.which(engine, path=sbin())
            told = subprocess.run([program, "run", "--help"], capture_output=True, text=True, env={"PATH": sbin(), "HOME": str(here.home)})
            judge(here, engine, told.stdout, results.check)
    results.finish()
