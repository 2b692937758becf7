#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/slurm.md on a real Slurm: its commands and its job file as they stand there, on a cluster
that has what they ask for. Of train.py it is seen what it was given."""

import os
import pathlib
import re
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results
from test.slurm.kit.lab import Lab
from test.slurm.kit.slurm_world import SlurmWorld

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "slurm.md"
TRAIN = """
import os, sys
print("rank", os.environ.get("NODE_RANK"), "of", os.environ.get("NNODES"),
      "gpus", os.environ.get("CUDA_VISIBLE_DEVICES"), "argv", sys.argv[1:],
      "slurm", [name for name in os.environ if name.startswith("SLURM_")], flush=True)
"""
# What a cluster's nodes have in their PATH; here it would be PyTorch's.
TORCHRUN = '#!/bin/sh\nexec /usr/bin/python3 "$@"\n'


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.M | re.S)


def said(world, job):
    return sorted(line for _, line in world.lines(job))


def run(lab, check):
    commands = next(b for b in blocks("") if "stoker run --infra slurm --" in b).splitlines()
    commands = [line.split("#")[0].strip() for line in commands]
    check("the page has its first commands", len(commands) == 4, commands)
    with SlurmWorld(lab) as world:
        programs = world.root / "programs"
        programs.mkdir()
        (programs / "stoker").symlink_to(os.path.abspath(world.binary))
        (programs / "torchrun").write_text(TORCHRUN)
        (programs / "torchrun").chmod(0o755)
        world.env["PATH"] = f"{programs}:{world.env['PATH']}"
        world.program(TRAIN, "train.py")

        def shell(line):
            return subprocess.run(
                ["sh", "-c", line],
                env=world.env,
                cwd=world.work,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=200,
            )

        for line, ranks in zip(commands[:3], (1, 1, 2)):
            done = shell(line)
            lines = [each for each in done.stdout.splitlines() if "rank " in each]
            check(
                f"{line}", done.returncode == 0 and len(lines) == ranks and all("slurm []" in each for each in lines), done.stdout[-1500:]
            )
        done = shell(commands[3])
        check(commands[3], done.returncode == 0, done.stdout)
        done = shell("stoker run -- python3 train.py")
        check("from now on without --infra", done.returncode == 0 and "gpu" in shell("stoker show -").stdout, done.stdout[-800:])
        done = shell("stoker doctor --infra slurm/gpu")
        check("stoker doctor --infra slurm/gpu", done.returncode == 0 and "node of gpu sees" in done.stdout, done.stdout)

        text = next(b for b in blocks("yaml") if b.startswith("run: python3 train.py"))
        (world.work / "job.yaml").write_text(text)
        job = world.submit("job.yaml")
        asked = world.wait_for("Slurm to have it", lambda: next(iter(world.slurm_jobs(job)), None))
        told = lab.out("scontrol", "show", "job", asked)
        state = world.ended(job, 120)
        lines = said(world, job)
        check(
            "its job file runs as it stands there",
            state == "Succeeded"
            and len(lines) == 2
            and "rank 0 of 2" in lines[0]
            and "rank 1 of 2" in lines[1]
            and all("gpus 0,1,2,3 " in line for line in lines),
            (lines, world.job(job)),
        )
        for word in ("Partition=gpu", "Account=vision", "QOS=long", "Features=nvme", "NumNodes=2", "CPUs/Task=8", "TimeLimit=1-00:00:00"):
            check(f"Slurm was asked for {word}", word in told, told)
        queue = re.search(r"^\$ (squeue --me.*)$", PAGE.read_text(), re.M)[1]
        go = world.root / "go"
        job = world.submit("--", "sh", "-c", f"while [ ! -e {go} ]; do sleep 0.2; done")
        world.running(job)
        check(queue, f":{job}." in shell(queue).stdout, shell(queue).stdout)
        go.touch()
        world.ended(job)
        world.nothing_left(job)


def main():
    results = Results()
    with Lab(gpus=True, accounting=True, qos_cpus=64, gpu_nodes=2, big=True) as lab:
        results.run("docs/slurm.md", run, lab, results.check)
        results.check("nothing of any job runs", not lab.left(), lab.left())
    results.finish()


if __name__ == "__main__":
    main()
