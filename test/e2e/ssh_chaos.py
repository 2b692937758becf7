#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chaos on boxes that ssh reaches: jobs of two submitters, each with a GPU, on three boxes with two
each (kit/pool.py), while boxes are rebooted and cut off, and processes of stoker killed on them.
Judged by what programs left: all end right, never two programs of one job, never two on one GPU,
none began before what had been committed; nothing is left on the boxes.

    ssh_chaos.py [--jobs N] [--seed N] [--seconds N]"""

import argparse
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import threading
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test import go_tools, versity_s3
from test.e2e.kit import apart
from test.e2e.kit.harness import PYTHON, Results, patience
from test.e2e.kit.job_kit import PROGRAMS
from test.e2e.kit.pool import Pool

FINAL = ("Succeeded", "Failed", "Cancelled")


class Storm:
    """One trouble after the other, each undone before the next on that box."""

    def __init__(self, pool, rng, worlds, jobs):
        self.pool, self.rng, self.worlds, self.jobs = pool, rng, worlds, jobs
        self.done = []
        self.cut_until = {}

    def step(self):
        now = time.monotonic()
        for box, until in list(self.cut_until.items()):
            if now >= until:
                box.cut(False)
                del self.cut_until[box]
        box = self.rng.choice(self.pool.boxes)
        what = self.rng.choice(["reboot", "cut", "kill", "kill", "preempt", "session"])
        if box in self.cut_until and what != "kill":
            return
        if what == "reboot":
            box.reboot()
        elif what == "cut":
            box.cut(True)
            self.cut_until[box] = now + self.rng.uniform(3, 40)
        elif what == "kill":
            processes = box.processes()
            if not processes:
                return
            kill(self.rng.choice(processes))
        elif what == "session":
            box.sshd.stop()
            box.sshd.start(self.pool.client.authorized)
        else:
            done = self.worlds[0].stoker("preempt", self.rng.choice(self.jobs), "--in", "3s", timeout=120)
            if done.returncode != 0:
                return
        self.done.append(f"{what} {box.name}" if what != "preempt" else what)

    def calm(self):
        for box in self.cut_until:
            box.cut(False)
        self.cut_until = {}


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def check_job(results, world, evidence, job):
    shown = world.json("show", job)["job"]
    starts = [tuple(map(int, line.split()[:2])) for line in (evidence / f"starts-{job}").read_text().splitlines()]
    problems = []
    if shown["state"] != "Succeeded":
        problems.append(f"{shown['state']}: {shown.get('result')}")
    for before, after in zip(starts, starts[1:]):
        # Within an attempt the folder is left as it was; between two, the newest checkpoint.
        if after[0] < before[0] or after[1] < before[1]:
            problems.append(f"went back: {starts}")
            break
    results.check(f"{job}: {len(shown['attempts'])} attempts, {len(starts)} starts, {shown['state']}", not problems, problems)


def storm_over(world, jobs):
    states = {entry["id"]: entry["state"] for entry in world.json("ls", "--all", timeout=120)}
    return all(states.get(job) in FINAL for job in jobs)


def weather(options, results, pool, worlds, scratch):
    rng = random.Random(options.seed)
    evidence = pathlib.Path(scratch) / "evidence"
    evidence.mkdir()
    work = pathlib.Path(scratch) / "work"
    work.mkdir()
    shutil.copy(PROGRAMS / "lab_trainer.py", work)
    jobs = []
    for number in range(options.jobs):
        jobs.append(
            worlds[number % 2].submit(
                "--infra",
                "ssh/lab",
                "--gpus",
                "1",
                "--name",
                f"chaos{number}",
                "--stop-grace",
                "2s",
                "--",
                PYTHON,
                "lab_trainer.py",
                evidence,
                "150",
                "0.1",
                cwd=work,
                timeout=120,
            )
        )
    print(f"{len(jobs)} jobs submitted", flush=True)
    # As a timer would: somebody looks at all jobs.
    over = threading.Event()

    def look():
        while not over.is_set():
            worlds[1].stoker("controller", "--once", timeout=300)
            over.wait(1)

    looker = threading.Thread(target=look)
    looker.start()
    storm = Storm(pool, rng, worlds, jobs)
    try:
        until = time.monotonic() + options.seconds
        while time.monotonic() < until and not storm_over(worlds[0], jobs):
            storm.step()
            time.sleep(rng.uniform(0.3, 1.5))
        storm.calm()
        print("storm:", ", ".join(storm.done), flush=True)
        end = time.monotonic() + patience(options.limit)
        while time.monotonic() < end and not storm_over(worlds[0], jobs):
            time.sleep(2)
        for job in jobs:
            check_job(results, worlds[0], evidence, job)
        clashes = sorted(path.name for path in evidence.glob("clash-*"))
        results.check("never two programs of one job, nor two on one GPU", not clashes, clashes)

        def left():
            return [f"{box.name} {box.sshd.instances()} {box.processes()}" for box in pool.boxes if box.sshd.instances() or box.processes()]

        end = time.monotonic() + patience(90)
        while left() and time.monotonic() < end:
            time.sleep(1)
        results.check("nothing is left on the boxes", not left(), left())
        active = pool.server.keys("team/active/")
        results.check("no job is looked after any more", not active, active)
    finally:
        over.set()
        looker.join()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=90, help="so long the storm lasts at most")
    parser.add_argument("--limit", type=float, default=300, help="until all have ended, after it")
    options = parser.parse_args()
    go_tools.tool(versity_s3.MODULE)
    apart.enter()
    results = Results()
    with tempfile.TemporaryDirectory(prefix="stoker-pool-") as scratch:
        with versity_s3.VersityS3(host="0.0.0.0") as server:
            pool = Pool(server, scratch)
            try:
                with pool.submitter("here") as here, pool.submitter("there") as there:
                    weather(options, results, pool, [here, there], scratch)
            finally:
                pool.close()
    results.finish()


if __name__ == "__main__":
    main()
