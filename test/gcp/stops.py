#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""on_stop: restart, on VMs of Compute Engine that boot, in the lab (test/lab). Needs root.

    stops.py [NAME…]     only these parts

While a VM is off somebody has to look: `stoker show`, again and again, as a timer would."""

import pathlib
import sys
import threading
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test.e2e.kit.harness import Results, parts_of
from test.fake_gcs import BUCKET
from test.gcp.gce_world import GceWorld, judge
from test.lab.cloud_world import whole
from test.lab.gce_lab import GceLab
from test.lab.gceapi import lifecycle

FILE = """name: again
workdir: {work}
resources: {{use_spot: {spot}}}
envs: {{PIP_NO_BUILD_ISOLATION: "0"}}
on_stop: restart
inputs: {{train: gs://{bucket}/data}}
outputs: [result]
run: python3 train.py {steps} --pause 0.5
"""
FULL = "ZONE_RESOURCE_POOL_EXHAUSTED"
STEPS = 150


class Looks(threading.Thread):
    """Somebody who looks, each second."""

    def __init__(self, world, job):
        super().__init__(daemon=True)
        self.world, self.job, self.over = world, job, threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(1):
            self.world.stoker("show", self.job)


def submit(lab, world, steps=STEPS, spot="true"):
    lab.gcs.client().bucket(BUCKET).blob("data/part-0").upload_from_string("x" * 1000)
    path = world.root / "job.yaml"
    path.write_text(FILE.format(work=world.work, bucket=BUCKET, steps=steps, spot=spot))
    return world.submit(path, "--infra", world.infra)


def needs_package(world):
    """One of its own, so that nothing is fetched: the image's setuptools builds it."""
    (world.work / "requirements.txt").write_text("--no-index\n./pkg\n")
    package = world.work / "pkg"
    package.mkdir()
    (package / "setup.py").write_text("from setuptools import setup\nsetup(name='tinypkg', version='1', py_modules=['tinypkg'])\n")
    (package / "tinypkg.py").write_text("VERSION = 1\n")


def inputs_of(lab, machine):
    """What tells whether its disk's copy of the input is the one of before."""
    disk = pathlib.Path(lab.folder) / machine.id / "disk"
    return [(found.stat().st_ino, found.stat().st_mtime_ns) for found in disk.glob("**/part-0")]


def starts(lab, since=0):
    return [each for each in lab.log[since:] if each.get("method") == "instances.start"]


def test_thrice(lab, check):
    """Stopped by a hand, by the market with a notice, and by the market at once."""
    with GceWorld(lab, "thrice") as world:
        needs_package(world)
        job = submit(lab, world)
        first = world.machine(job, 0)
        begun = time.time()
        world.trained(first, 5)
        anew = time.time() - begun
        mark = inputs_of(lab, first)
        looks, again, since = Looks(world, job), [], len(lab.log)
        for how in ("hand", "notice", "at once"):
            if how == "hand":
                world.stop(first)
            else:
                world.notice(first, 20 if how == "notice" else 0)
            world.wait_for(f"{how}: it is off", lambda: first.state() == "TERMINATED", 90, 0.1)
            off, step = time.time(), world.step_on(first)
            world.trained(first, step + 5, 180)
            again.append(time.time() - off)
        looks.over.set()
        world.over(job, limit=300)
        state, runs, reasons = world.told(job)
        check("thrice: succeeds", (state, len(runs)) == ("Succeeded", 4), (state, runs, reasons))
        check("thrice: no other machine", len(world.machines(job)) == 1, world.machines(job))
        check("thrice: goes on where it was", not whole(runs, STEPS, 15), runs)
        check("thrice: started by one of all who look", len(starts(lab, since)) == 3, len(starts(lab, since)))
        check(
            "thrice: the input is copied once",
            len(mark) == 1 and len(inputs_of(lab, first)) <= 1 and inputs_of(lab, first) in ([], mark),
            (mark, inputs_of(lab, first)),
        )
        said = world.stoker("logs", job, "--stream", "system").stdout
        made = said.count("making a virtual environment")
        check("thrice: its environment is made once", made == 1, said)
        check("thrice: its output is there", world.result(job) == "42")
        print(
            f"thrice: a new machine has made five steps {anew:.1f} s after it was there; started "
            f"again, five more after {', '.join(f'{each:.1f}' for each in again)} s of being off "
            "(looked at each second)",
            flush=True,
        )


def test_full(lab, check):
    """No room at the second start: another one, and the first is deleted."""
    with GceWorld(lab, "full") as world:
        job = submit(lab, world)
        first = world.machine(job, 0)
        world.trained(first, 5)
        looks = Looks(world, job)
        for turn in (1, 2):
            if turn == 2:
                lab.api.births.add(FULL)
            world.notice(first, 10)
            world.wait_for("it is off", lambda: first.state() == "TERMINATED", 90, 0.1)
            if turn == 1:
                world.trained(first, world.step_on(first) + 5, 180)
        second = world.machine(job, 1, limit=120)
        world.wait_for("the first one is deleted", lambda: first.gone, 60, 0.2)
        looks.over.set()
        world.over(job, limit=300)
        state, runs, reasons = world.told(job)
        check("full: succeeds", (state, len(runs)) == ("Succeeded", 3), (state, runs, reasons))
        check("full: on another machine", second.id != first.id)
        check("full: goes on where it was", not whole(runs, STEPS, 15), runs)
        launch = world.job(job)["launches"][0]
        check("full: it is said why", "cannot be started again" in launch["close_why"], launch)


def test_late(lab, check):
    """Somebody starts it when a successor has taken over: it tells what it has, and ends."""
    with GceWorld(lab, "late") as world:
        job = submit(lab, world)
        first = world.machine(job, 0)
        world.trained(first, 5)
        lab.api.births.add(FULL)
        world.notice(first, 10)
        world.wait_for("it is off", lambda: first.state() == "TERMINATED", 90, 0.1)
        # Nobody may delete it meanwhile.
        first.body["deletionProtection"] = True
        looks = Looks(world, job)
        second = world.machine(job, 1, limit=120)
        world.trained(second, 10)
        lifecycle.by_hand(lab.api, lifecycle.start, first)
        world.wait_for("it is up", lambda: first.state() == "RUNNING", 60, 0.1)
        world.wait_for("it ends by itself", lambda: first.state() == "TERMINATED", 120, 0.2)
        first.body["deletionProtection"] = False
        world.over(job, limit=300)
        looks.over.set()
        state, runs, reasons = world.told(job)
        check("late: succeeds", state == "Succeeded", (state, runs, reasons))
        check("late: two attempts, none beside the other", len(runs) == 2, runs)
        check("late: goes on where it was", not whole(runs, STEPS, 15), runs)


def main(names):
    results, parts = Results(), parts_of(globals())
    with GceLab() as lab:
        for name in names or parts:
            results.run(name, parts[name], lab, results.check)
        judge(lab, results.check)
    results.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
