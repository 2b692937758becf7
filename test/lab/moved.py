#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job in a gs:// store begins on this machine, is moved to Compute Engine, whose VMs boot, and
back: no step is trained twice, one story, one summary. Needs root.

    moved.py"""

import pathlib
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test.e2e.kit.harness import Results
from test.e2e.kit.job_kit import MOVABLE, steps_told, told_as_moves
from test.gcp.gce_world import GceWorld
from test.lab.gce_lab import GceLab

STEPS = 900


def gce(results, world):
    (world.work / "moves.py").write_text(MOVABLE)
    job = world.submit("--infra", "local", "--name", "moves", "--", "/usr/bin/python3", "moves.py", str(STEPS))
    world.wait_for("its first steps", lambda: "step 5" in world.stoker("logs", job).stdout)
    refused = world.stoker("move", job, "--infra", "aws/eu-west-1")
    results.check(
        "machines of EC2 cannot reach it, which is said before anything is made",
        refused.returncode == 1 and "cannot reach the store" in refused.stderr and "move" not in world.job(job),
        refused.stderr,
    )
    for where in (world.infra, "local"):
        done = world.stoker("move", job, "--infra", where, "--in", "6s", timeout=300)
        results.check(f"it moves to {where}", done.returncode == 0, done.stderr)
    done = world.stoker("wait", job, timeout=300)
    results.check("it ends here", done.returncode == 0, done.stdout + done.stderr)
    told = steps_told(world.stoker("logs", job).stdout)
    results.check("no step is trained twice", told == list(range(1, STEPS + 1)), told)
    told_as_moves(results, world, job, "local", "gce", "local")
    world.wait_for("its VM is gone", lambda: all(world.is_over(each) for each in world.machines(job)), timeout=120)
    print(done.stdout, flush=True)


def main():
    results = Results()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)  # of the lab's own network
    with GceLab() as lab, GceWorld(lab, "moved") as world:
        results.run("gce", gce, results, world)
        results.check("nothing strange was asked", not lab.bugs and not lab.front.strange(), (lab.bugs, lab.front.strange()))
    results.finish()


if __name__ == "__main__":
    main()
