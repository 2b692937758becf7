#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How engines give GPUs to containers, on a machine without any: gpus.py podman|docker. In a mount
namespace of its own the machine has a /dev/nvidia0, which is a /dev/null, and a CDI file by hand; for
docker NVIDIA's hook, which is a script that notes that it was asked; then AMD's nodes in their place. Needs root."""

import os
import pathlib
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

INSIDE = "STOKER_GPUS_INSIDE"  # a folder
CDI = """cdiVersion: "0.5.0"
kind: nvidia.com/gpu
devices:
  - name: all
    containerEdits:
      env: ["GIVEN_BY=cdi"]
      deviceNodes: [{path: /dev/nvidia0, hostPath: /dev/null}]
"""
# docker runs it with the container's state, before the program begins.
HOOK = """#!/bin/sh
echo "$@" >>%s/asked
exit 0
"""
# Over /dev lies another that has the same nodes, over /etc and the programs what is written there.
GO = """set -e
folder=$1; shift
mkdir "$folder"/new "$folder"/up-etc "$folder"/work-etc "$folder"/up-bin "$folder"/work-bin
mount -t tmpfs tmpfs "$folder"/new
for each in null zero full random urandom tty fuse; do cp -a /dev/$each "$folder"/new/; done
for each in pts shm mqueue; do
  mkdir "$folder"/new/$each
  [ ! -d /dev/$each ] || mount --rbind /dev/$each "$folder"/new/$each
done
ln -s /proc/self/fd "$folder"/new/fd
ln -s pts/ptmx "$folder"/new/ptmx
mknod -m 666 "$folder"/new/nvidia0 c 1 3
mount --move "$folder"/new /dev
mount -t overlay over -o lowerdir=/etc,upperdir="$folder"/up-etc,workdir="$folder"/work-etc /etc
mount -t overlay over -o lowerdir=/usr/bin,upperdir="$folder"/up-bin,workdir="$folder"/work-bin /usr/bin
exec "$@"
"""
JOB = """name: gpus
resources: {{gpus: {gpus}}}
container: {{image: "localhost/py:1", engine: {engine}}}
run: |
  ls -d /dev/nvidia0 2>/dev/null || echo "no device"
  echo "given by $GIVEN_BY"
  echo "visible $NVIDIA_VISIBLE_DEVICES"
  ls -d /dev/kfd /dev/dri/renderD128 2>/dev/null || echo "none of AMD's"
"""


def inside(kind):
    from test.containers.engines import Engine
    from test.e2e.kit.harness import Results, World
    from test.e2e.kit.job_kit import texts

    results = Results()
    check = results.check
    cdi, hook = pathlib.Path("/etc/cdi/nvidia.yaml"), pathlib.Path("/usr/bin/nvidia-container-runtime-hook")

    def ran(world, gpus):
        path = world.work / "job.yaml"
        path.write_text(JOB.format(gpus=gpus, engine=kind))
        job = world.submit(str(path))
        world.stoker("wait", job, timeout=120)
        return world.job(job)["state"], texts(world, job), world.stoker("logs", job).stdout + world.stoker("show", job).stdout

    with World(f"gpus-{kind}") as world:
        world.env["STOKER_CAPACITY"] = "cpus=256 memory=0 gpus=1"
        if kind == "docker":
            hook.write_text(HOOK % world.root)
            hook.chmod(0o755)
        engine = Engine(kind, world)
        world.env.update(engine.env)
        try:
            if kind == "podman":
                state, said, told = ran(world, 1)
                check("without a CDI file a job that wants GPUs fails", state == "Failed" and "no CDI file" in told, told)
                check("and says how one is made", "nvidia-ctk cdi generate" in told, told)
                cdi.parent.mkdir()
                cdi.write_text(CDI)
                state, said, told = ran(world, 1)
                check("with it podman gives the device", state == "Succeeded" and "/dev/nvidia0" in said, told)
                check("by CDI", "given by cdi" in said, said)
                doctor = world.stoker("doctor").stdout
                check("doctor says so", "GPUs by CDI" in doctor, doctor)
            else:
                state, said, told = ran(world, 1)
                check("docker gives them by its own flag", state == "Succeeded" and "visible all" in said, told)
                check("through NVIDIA's hook", "prestart" in (world.root / "asked").read_text())
                doctor = world.stoker("doctor").stdout
                check("doctor says so", "GPUs by NVIDIA's runtime" in doctor, doctor)
            state, said, told = ran(world, 0)
            check("a job that wants none has none", state == "Succeeded" and "no device" in said, told)
            os.unlink("/dev/nvidia0")
            os.mkdir("/dev/dri")
            for name in ("/dev/kfd", "/dev/dri/renderD128"):
                os.mknod(name, 0o20666, os.makedev(1, 3))
            state, said, told = ran(world, 1)
            given = "/dev/kfd" in said and "/dev/dri/renderD128" in said
            check("AMD's are given as devices", state == "Succeeded" and given, told)
            state, said, told = ran(world, 0)
            check("and not to a job that wants none", state == "Succeeded" and "none of AMD's" in said, told)
        finally:
            engine.close()
    results.finish()


def main():
    if INSIDE in os.environ:
        return inside(sys.argv[1])
    import tempfile

    from test.containers.engines import bring

    if os.geteuid() != 0:
        sys.exit("gpus: needs root")
    bring(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="stoker-gpus-") as folder:
        words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", GO, "sh", folder, sys.executable, *sys.argv]
        sys.exit(subprocess.run(words, env={**os.environ, INSIDE: folder}).returncode)


if __name__ == "__main__":
    main()
