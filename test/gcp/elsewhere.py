#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One job whose choices are places of different clouds, and this machine among them: the first has
no room, or a machine is taken and there is no room any more where it was. The job goes on at the
next one, from its checkpoint, and each node asks its own provider alone (decision 0035). Needs
root, or what the lab needs for an ordinary user.

    elsewhere.py [first] [taken] [here]"""

import json
import pathlib
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab.three_places import AMAZON, GOOGLE, Both, BothWorld  # first: it enters the lab

# isort: split
from test.e2e.kit.harness import Results
from test.e2e.kit.job_kit import MOVABLE, steps_told
from test.lab.gce_lab import NODES, SUBMITTER
from test.lab.gceapi import lifecycle

STEPS = 900


class Choices(BothWorld):
    def __init__(self, lab, name):
        super().__init__(lab, name)
        (self.work / "moves.py").write_text(MOVABLE)

    def ordered(self, name, steps, *choices):
        file = self.work / f"{name}.yaml"
        file.write_text(
            json.dumps(
                {"name": name, "workdir": ".", "run": f"exec /usr/bin/python3 moves.py {steps}", "resources": {"ordered": list(choices)}}
            )
        )
        return self.submit(file)

    def runs(self, job, provider, limit=150):
        """Until it trains on a machine of that provider."""

        def there():
            record = self.job(job)
            live = [each for each in record["launches"] if not each.get("closed") and not each.get("closed_at")]
            return record["state"] == "Running" and live and live[-1]["provider"] == provider

        self.wait_for(f"{job} to run at {provider}", there, limit, 1)

    def trained_to(self, job, step, limit=60):
        self.wait_for(f"step {step} of {job}", lambda: f"step {step}\n" in self.stoker("logs", job).stdout, limit, 0.5)

    def taken(self, machine):
        """As the spot market does it, and it has no other one."""
        self.lab.google.api.capacity.set(0)
        with self.lab.google.api.world.lock:
            lifecycle.preempt(self.lab.google.api, machine)

    def asked(self):
        """By whom each cloud was asked for machines: {cloud: [who]}."""
        amazon = [each["key"] for each in self.lab.amazon.log if each.get("action") == "RunInstances"]
        google = [each["email"] for each in self.lab.google.log if each.get("method") in ("instances.insert", "instances.bulkInsert")]
        return {"amazon": amazon, "google": google}

    def ended(self, results, job, steps):
        done = self.stoker("wait", job, timeout=240)
        results.check(f"{job} ends", done.returncode == 0, done.stdout + done.stderr)
        told = steps_told(self.stoker("logs", job).stdout)
        results.check("no step is trained twice", told == list(range(1, steps + 1)), told)
        self.wait_for(
            "its machines to be gone",
            lambda: all(self.is_over(each) for each in self.machines(job) if getattr(each, "admitted", True)),
            240,
            1,
        )
        dry = self.stoker("gc", "--dry-run", timeout=120)
        left = [line for line in dry.stdout.splitlines() if job in line and "terminated" not in line]
        results.check("gc finds no machine of it", dry.returncode == 0 and not left, dry.stdout)


def cleared(lab):
    lab.google.api.capacity.clear()
    lab.amazon.ec2.capacity.set(None)


def first(results, lab):
    """No room at the first choice when it is submitted: the other cloud, asked by who submits."""
    spots = {"gce": {"infra": GOOGLE, "use_spot": True}, "ec2": {"infra": AMAZON, "use_spot": True}}
    for full, other in (("gce", "ec2"), ("ec2", "gce")):
        with Choices(lab, "first") as world:
            (lab.google.api if full == "gce" else lab.amazon.ec2).capacity.set(0)
            job = world.ordered(f"not-{full}", 20, spots[full], spots[other])
            world.ended(results, job, 20)
            record = world.job(job)
            results.check(f"{full} is full: {other}", record["launches"][-1]["provider"] == other, record["launches"])
            refused = [each for each in record["requests"] if each.get("refusal")]
            results.check(
                "and the story has why",
                refused and refused[0]["provider"] == full and refused[0]["refusal"]["what"] == "capacity",
                record["requests"],
            )
            cleared(lab)


def taken(results, lab):
    """A spot VM is taken and Google has no other. Its node may ask Google alone, and waits; with
    somebody who may ask Amazon the job goes on there."""
    with Choices(lab, "taken") as world:
        mine = lab.amazon.env.get("AWS_ACCESS_KEY_ID")
        job = world.ordered("taken", STEPS, {"infra": GOOGLE, "use_spot": True}, {"infra": AMAZON})
        world.runs(job, "gce")
        world.trained_to(job, 20)
        before = world.asked()
        world.taken(world.of_google(job)[0])
        at = time.time()
        world.wait_for("its VM is gone", lambda: world.is_over(world.of_google(job)[0]), 200, 0.5)
        alone = world.asked()
        results.check(
            "its node asked Google, and nobody asked Amazon",
            alone["amazon"] == before["amazon"] and set(alone["google"][len(before["google"]) :]) <= {NODES},
            (before, alone),
        )
        looks = world.start("controller")
        world.runs(job, "ec2")
        print(f"taken: runs at the other cloud {time.time() - at:.0f} s after the notice, which had thirty", flush=True)
        after = world.asked()
        results.check(
            "who looks asked Amazon, once, with its own credentials", after["amazon"][len(before["amazon"]) :] == [mine], (after, mine)
        )
        world.ended(results, job, STEPS)
        looks.terminate()
        record = world.job(job)
        results.check(
            "there, then at the other",
            [each["ending"]["reason"] for each in record["attempts"] if not each.get("not_needed")] == ["Interrupted", "Completed"],
            record["attempts"],
        )
        results.check("from its checkpoint", record["attempts"][-1].get("restore"), record["attempts"])
        cleared(lab)


def here(results, lab):
    """The next choice is this machine, where nobody looks at first."""
    with Choices(lab, "here") as world:
        job = world.ordered("here", STEPS, {"infra": GOOGLE, "use_spot": True}, {"infra": "local"})
        world.runs(job, "gce")
        world.trained_to(job, 20)
        world.taken(world.of_google(job)[0])
        world.wait_for("its VM is gone", lambda: world.is_over(world.of_google(job)[0]), 200, 0.5)
        shown = world.stoker("show", job, timeout=60)
        print(shown.stdout, shown.stderr, sep="\n", flush=True)
        looks, at = world.start("controller"), time.time()
        world.runs(job, "local", 120)
        print(f"here: runs on this machine {time.time() - at:.0f} s after somebody looked", flush=True)
        world.ended(results, job, STEPS)
        looks.terminate()
        record = world.job(job)
        results.check("from its checkpoint", record["attempts"][-1].get("restore"), record["attempts"])
        who = world.asked()["google"]
        results.check("Google was asked by who submitted and by its node alone", set(who) <= {SUBMITTER, NODES}, who)
        cleared(lab)


def main(parts):
    results = Results()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)  # of the lab's own network
    with Both() as lab:
        lab.google.api.settings.notices = ()  # the classic one, of thirty seconds
        lab.google.api.settings.refuse_notice = True
        for part in (first, taken, here):
            if not parts or part.__name__ in parts:
                results.run(part.__name__, part, results, lab)
        results.check("nothing strange was asked", not lab.wrong(), lab.wrong())
    results.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
