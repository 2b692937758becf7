#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of many habits (test/outside) in containers of a real engine, each of which is killed once:
itself, the container's first process, conmon or the shim, the agent, docker's daemon. Judged by the
outside oracle: nothing torn, nothing double; and at the end nothing is left.

    kills.py podman|docker [--kills 30] [--parallel 3] [--seed 1]"""

import argparse
import collections
import os
import pathlib
import re
import signal
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.containers.containers import boxed, children, parent_of
from test.containers.engines import HOST_IMAGE, Engine, host_container
from test.e2e.kit.harness import Results, World, patience
from test.outside import jobs, oracle, storm

LIMIT = 120  # seconds for one job
TRIES = 2  # more, for one that nobody has killed
WHO = {"podman": ("program", "agent", "keeper", "init"), "docker": ("program", "agent", "keeper", "init", "daemon")}


def read(path):
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return b""


def of_job(pids, job):
    return [pid for pid in pids if job.encode() in read(f"/proc/{pid}/mountinfo")]


def agents(firsts):
    """Of the machines whose containers these are: both name the machine's folder."""
    machines = {one for first in firsts for one in re.findall(rb"/instances/(\w+)", read(f"/proc/{first}/mountinfo"))}
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        words = read(f"/proc/{pid}/cmdline").split(b"\0")
        if b"__agent" in words and any(one in word for one in machines for word in words):
            found.append(int(pid))
    return found


class Killed(storm.Job):
    """A job of the storm without its violence, but for one kill."""

    def __init__(self, world, engine, seed, number):
        super().__init__(world, seed, number)
        self.engine = engine
        self.who = WHO[engine.name][(number - 1) % len(WHO[engine.name])]
        self.acts, self.gaps, self.fate, self.nodes, self.attached = [], [0.0], "ends", 1, False
        self.killed_at, self.kill_at, self.past = None, None, self.rng.uniform(0, 1.5)
        self.quiet = 3.0  # on a busy machine two files of one save may lie seconds apart
        traits = jobs.HABITS[self.habit]
        self.saves = (6 if traits.get("many") else 25) * traits.get("quick", 1)  # it does not end before

    def saves_so_far(self):
        return [e for events in jobs.evidence(self.world, self.id).values() for e in events if e["e"] == "saved"]

    def victims(self):
        if self.who == "daemon":
            return [self.engine.daemon.pid]
        if self.who == "agent":
            return agents(of_job(boxed(self.world), self.id))
        first = of_job(boxed(self.world), self.id)
        if self.who == "keeper":  # conmon, or containerd's shim
            return [parent_of(pid) for pid in first]
        return first if self.who == "init" else [pid for one in first for pid in children(one)]

    def step(self, others):
        """One look; kills once something has been saved."""
        now = time.monotonic()
        if now >= self.look:
            self.look = now + 1.0
            self.list_checkpoints()
        if self.killed_at is not None or len(self.saves_so_far()) < 2:
            return
        self.kill_at = self.kill_at or now + self.past
        victims = self.victims() if now >= self.kill_at else []
        if not victims or min(victims) <= 1:
            return
        for one in victims:
            os.kill(one, signal.SIGKILL)
        self.killed_at = now
        self.done.append(f"kill {self.who}")
        for one in [self, *(others if self.who == "daemon" else [])]:
            one.took("killed")
        if self.who == "daemon":
            self.engine.restart()


def cgroups(ids):
    """Of these containers, as the kernel has them."""
    return [at for at, _, _ in os.walk("/sys/fs/cgroup") if any(one in at for one in ids)]


def play(args, world, engine, results):
    waiting = [Killed(world, engine, args.seed, number + 1) for number in range(args.kills)]
    live, breaches, tries, ids, asked = [], collections.Counter(), collections.Counter(), set(), 0.0
    while waiting or live:
        while waiting and len(live) < args.parallel:
            live.append(waiting.pop(0))
            live[-1].submit()
        for job in live:
            job.step([one for one in live if one is not job])
        time.sleep(0.1)
        if time.monotonic() < asked + 2:
            continue
        asked = time.monotonic()
        ids.update(engine.containers())
        states = {one["id"]: one["state"] for one in world.json("ls", "--all")}
        world.stoker("controller", "--once", timeout=120)
        for job in list(live):
            job.state = states.get(job.id, "")
            late = time.monotonic() - job.begun > patience(LIMIT)
            if job.state not in storm.FINAL and not late:
                continue
            live.remove(job)
            found = [("never", f"it is {job.state}")] if late else oracle.judge(job.facts())[0]
            if not job.killed_at and not found and tries[job.number] < TRIES:
                tries[job.number] += 1  # it was over before the test came by: a busy machine
                waiting.append(Killed(world, engine, args.seed, job.number))
                continue
            found += [] if job.killed_at else [("unkilled", "nobody was killed")]
            breaches.update(kind for kind, _ in found)
            results.check(job.text(), not found, "; ".join(f"{k}: {t}" for k, t in found))
    again = sum(tries.values())
    print(f"{args.engine}: {args.kills} kills; {again} jobs were over before theirs, and begun again; {len(ids)} containers were seen")
    print(f"{args.engine}: breaches: {dict(breaches) or 'none'}", flush=True)
    world.wait_for("the machines to be gone", lambda: not world.instances(), timeout=60)
    try:
        world.wait_for("all to be gone", lambda: not engine.containers() and not engine.left() and not cgroups(ids), timeout=30)
    except AssertionError:
        # What an agent that was killed has left in the books goes with the sweep.
        world.stoker("gc", timeout=120)
    results.check("no container is left", not engine.containers(), engine.containers())
    results.check("no mount is left", not engine.left(), engine.left())
    results.check("no cgroup is left", not cgroups(ids), cgroups(ids))
    results.check("no process is left", not boxed(world), boxed(world))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("engine", choices=sorted(WHO))
    options.add_argument("--kills", type=int, default=30)
    options.add_argument("--parallel", type=int, default=3)
    options.add_argument("--seed", type=int, default=1)
    args = options.parse_args()
    results = Results()
    with World(f"kills-{args.engine}") as world:
        world.root.chmod(0o755)
        world.ships = 5.0
        jobs.plant_code(world.work / "code")
        engine = Engine(args.engine, world, HOST_IMAGE)
        world.env.update(engine.env)
        world.container = host_container(engine.name, [world.evidence])
        try:
            results.run("kills", play, args, world, engine, results)
        finally:
            engine.close()
    results.finish()


if __name__ == "__main__":
    main()
