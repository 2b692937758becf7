#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One job with choices: this machine while it has room, else a VM of Compute Engine; and when all
are full it waits until one of them has room. Needs root.

    any_of.py"""

import json
import pathlib
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test.e2e.kit.harness import Results
from test.gcp.gce_world import GceWorld
from test.lab.gce_lab import GceLab


class Choices:
    def __init__(self, world, results):
        self.world, self.results = world, results
        cpus = next(each["cpus"] for each in world.json("places") if each["infra"] == "local")
        self.either = [{"infra": "local", "cpus": cpus}, {"infra": world.infra, "use_spot": True}, {"infra": world.infra}]

    def submit(self, name, seconds, *flags, key="any_of"):
        file = self.world.work / f"{name}.yaml"
        file.write_text(
            json.dumps(
                {
                    "name": name,
                    "run": f"echo it is {name}; sleep {seconds}; mkdir out; echo 42 > out/x",
                    "outputs": ["out"],
                    "resources": {key: self.either},
                }
            )
        )
        return self.world.submit(file, *flags)

    def where(self, job, limit=120):
        """The provider and market of the machine that it runs on."""
        self.world.wait_for(f"{job} runs", lambda: self.world.job(job)["state"] == "Running", limit, 0.5)
        record = self.world.job(job)
        last = record["requests"][-1]
        return last["provider"], last.get("market", "")

    def ended(self, what, job):
        done = self.world.stoker("wait", job, timeout=300)
        state = self.world.job(job)["state"]
        self.results.check(what, (done.returncode, state) == (0, "Succeeded"), done.stderr)


def full(results, world, lab):
    choices = Choices(world, results)
    first = choices.submit("first", 60)
    results.check("this machine has room", choices.where(first)[0] == "local", world.job(first))
    lab.api.capacity.set(0, market="spot")
    second = choices.submit("second", 5)
    there = choices.where(second)
    results.check("it is full, and so is the spot market: a VM on demand", there[0] == "gce" and "spot" not in there[1].lower(), there)
    said = [each.get("reason", "") for each in world.job(second)["requests"]]
    results.check("it is said why", any("not local" in each for each in said), said)
    choices.ended("and ends there", second)
    lab.api.capacity.set(0)
    third = choices.submit("third", 1)
    refused = world.wait_for(
        "all of them refuse",
        lambda: {each["provider"] for each in world.job(third)["requests"] if each.get("refusal")} == {"local", "gce"},
        60,
        0.5,
    )
    results.check("all are full: it waits", refused and not world.machines(third))
    choices.ended("the first ends here", first)
    choices.ended("this machine has room again: the third", third)
    last = world.job(third)["launches"][-1]
    results.check("it ran here", last["provider"] == "local", last)
    lab.api.capacity.clear()


def in_order(results, world, lab):
    """The same choices, written the other way round, and --infra for one of them."""
    choices = Choices(world, results)
    choices.either.reverse()
    job = choices.submit("last", 1, key="ordered")
    results.check("as they are written", choices.where(job)[0] == "gce", world.job(job))
    choices.ended("it ends", job)
    job = choices.submit("here", 1, "--infra", "local", key="ordered")
    choices.ended("one place alone", job)
    results.check("here", world.job(job)["launches"][-1]["provider"] == "local", world.job(job))


def main():
    results = Results()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)  # of the lab's own network
    with GceLab() as lab, GceWorld(lab, "any-of") as world:
        results.run("full", full, results, world, lab)
        results.run("in order", in_order, results, world, lab)
        world.wait_for("all VMs are gone", lambda: all(world.is_over(each) for each in world.all_machines() if each.admitted), 120, 0.5)
        results.check("nothing strange was asked", not lab.bugs and not lab.front.strange(), (lab.bugs, lab.front.strange()))
    results.finish()


if __name__ == "__main__":
    main()
