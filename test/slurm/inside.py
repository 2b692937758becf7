#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stoker run` inside an allocation of Slurm that is not stoker's: a batch script that says it, on
a real Slurm (kit/lab.py). The end of the allocation cancels the job after its save; one that is to
outlive it stays, and goes on where somebody next looks.

    inside.py [NAME…]     only these parts

What is stood in for: a Slurm that holds what is inside in a cgroup, and kills it there. The lab's
does not, so `killed` kills it itself."""

import argparse
import concurrent.futures
import pathlib
import shlex
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit import ledger_view
from test.e2e.kit.harness import BINARY, Results
from test.slurm.kit.lab import Lab
from test.slurm.kit.slurm_world import ENDS, SlurmWorld

# Saves each fourth step, by a rename, and a second after SIGTERM.
PROGRAM = """
import os, signal, sys, time
os.makedirs("checkpoints", exist_ok=True)
names = [name for name in os.listdir("checkpoints") if name.startswith("step-")]
n = max([int(name[5:]) for name in names] or [0])
print("begins at", n, flush=True)
def save():
    open("checkpoints/new", "w").write(str(n))
    os.rename("checkpoints/new", "checkpoints/step-%d" % n)
def term(*_):
    time.sleep(0.5)
    save()
    print("saved", n, flush=True)
    sys.exit(143)
signal.signal(signal.SIGTERM, term)
while True:
    n += 1
    time.sleep(0.3)
    if n % 4 == 0:
        save()
"""


class Script:
    """A batch script with `stoker run` in it, and the job that it made."""

    def __init__(self, world, line, *sbatch):
        self.world, self.lab = world, world.lab
        world.program(PROGRAM, "train.py")
        script = world.root / "script.sh"
        line = line.replace("stoker", shlex.quote(str(BINARY)), 1)
        script.write_text(f"#!/bin/bash\ncd {shlex.quote(str(world.work))}\n{line}\n")
        self.output = world.root / "script.out"
        self.number = subprocess.run(
            ["sbatch", "--parsable", f"--output={self.output}", *sbatch, str(script)],
            env=world.env,
            check=True,
            text=True,
            stdout=subprocess.PIPE,
        ).stdout.strip()
        self.job = world.wait_for("the script to submit", self.made, 60, 0.2)

    def made(self):
        jobs = ledger_view.job_ids(self.world.store) if self.world.store.is_dir() else set()
        return min(jobs) if jobs else None

    def record(self):
        return ledger_view.record(self.world.store, self.job)

    def said(self):
        return self.output.read_text() if self.output.exists() else ""

    def texts(self):
        return [text for _, text in self.world.lines(self.job)]

    def trains(self):
        self.world.wait_for("a checkpoint", lambda: self.world.json("checkpoints", self.job), 60, 0.3)

    def ended(self):
        return self.world.ended(self.job, 60)

    def saved(self):
        """What its newest attempt saved at SIGTERM, and the newest step that is kept of that."""
        last = self.record()["attempts"][-1]["number"]
        at_term = [int(text.split()[1]) for attempt, text in self.world.lines(self.job) if attempt == last and text.startswith("saved ")]
        kept = [row.get("step") or 0 for row in self.world.json("checkpoints", self.job) if row["id"].startswith(f"{last}-")]
        return at_term[-1] if at_term else None, max(kept or [0])


# Before 23.02 a job that is completing says that alone.
SCANCEL = ["it was cancelled", ": it ends"]


def cancelled(check, script, why, told):
    """`told`: one of these is said."""
    state = script.ended()
    at_term, kept = script.saved()
    check(f"{why}: the job is cancelled with it", state == "Cancelled", script.world.job(script.job))
    check(f"{why}: what it saved at SIGTERM is kept", at_term is not None and at_term == kept, (at_term, kept, script.texts()))
    shown = script.world.stoker("show", script.job).stdout
    log = script.world.stoker("logs", script.job).stdout
    said = any(words in shown and words in log for words in told)
    check(f"{why}: show and the log say so", said, (shown, log))


def test_scancel(lab, check):
    with SlurmWorld(lab) as world:
        script = Script(world, "stoker run -- python3 train.py")
        check(
            "at submission it is said what the end of the allocation means",
            f"inside Slurm's job {script.number}: when that ends, the job saves" in script.said() and "cancelled with it" in script.said(),
            script.said(),
        )
        check("and that this script does not wait for the save", "exec stoker run" in script.said(), script.said())
        script.trains()
        lab.out("scancel", script.number)
        cancelled(check, script, "scancel", SCANCEL)


def test_waits(lab, check):
    """What Slurm kills with its script waits for the save where that is `stoker run` itself."""
    with SlurmWorld(lab) as world:
        script = Script(world, "exec stoker run -- python3 train.py")
        check("of a script that waits nothing more is said", "exec stoker run" not in script.said(), script.said())
        script.trains()
        lab.out("scancel", script.number)
        world.wait_for("it to say that it waits", lambda: "waiting for the job's save" in script.said(), 20)
        cancelled(check, script, "scancel of a script that waits", SCANCEL)


def test_returns(lab, check):
    with SlurmWorld(lab) as world:
        script = Script(world, "stoker run --detach -- python3 train.py; sleep 6")
        cancelled(check, script, "a script that ends", ["its script ended"])


def test_limit(lab, check):
    with SlurmWorld(lab) as world:
        script = Script(world, "stoker run -- python3 train.py", "-p", "short", "--time=0:01:00")
        cancelled(check, script, "the time limit", ["its time limit is near"])


def test_preempted(lab, check):
    with SlurmWorld(lab) as world:
        script = Script(world, "stoker run -- python3 train.py", "-p", "low")
        script.trains()
        lab.out("sbatch", "-p", "high", "-N1", "--exclusive", "--output=/dev/null", "--wrap=sleep 5")
        cancelled(check, script, "preemption", ["Slurm preempted it"])


def outlives(world, check, script, why):
    def runs_again():
        seen = world.job(script.job)  # looks
        last = seen["attempts"][-1]
        return seen if last["number"] == 2 and last["state"] == "Running" else None

    state = world.wait_for("it to run again", runs_again, 60, 0.3)
    at_term, _ = script.saved()
    begun = world.wait_for(
        "its program to begin", lambda: [int(text.split()[2]) for text in script.texts() if text.startswith("begins at ")][1:], 30, 0.3
    )
    check(
        f"{why}: it goes on from its checkpoint where somebody looks",
        begun[0] > 0 and begun[0] == (at_term or begun[0]),
        (begun, script.texts()),
    )
    check(f"{why}: it is Running", state["state"] == "Running", state)
    world.stoker("cancel", script.job, "--yes")


def test_outlives(lab, check):
    with SlurmWorld(lab) as world:
        script = Script(world, "stoker run --outlive -- python3 train.py")
        check("at submission it is said that it goes on", "goes on where somebody next looks" in script.said(), script.said())
        shown = world.stoker("show", script.job).stdout
        check(
            "show says that no node starts a replacement then",
            f"none does when Slurm's job {script.number} ends" in shown and "where somebody next looks" in shown,
            shown,
        )
        script.trains()
        lab.out("scancel", script.number)
        # Nobody looks: it does not go on by itself on a node that is others' by now.
        world.wait_for("attempt 1 to end", lambda: script.record()["attempts"][0]["state"] == "Ended", 60, 0.3)
        time.sleep(5)
        seen = script.record()
        machines = [path for path in world.instances() if (path / "machine.json").exists()]
        check("it is not cancelled", seen["state"] not in ("Cancelled", "Failed") and not seen.get("cancel"), seen)
        check("and nothing of it runs on the node", not machines, machines)
        outlives(world, check, script, "--outlive")


def test_moved(lab, check):
    """A job of before that is moved to this machine by a script goes with that one's allocation."""
    with SlurmWorld(lab) as world:
        world.program(PROGRAM, "train.py")
        job = world.submit("--", "/usr/bin/python3", "train.py")
        world.wait_for("a checkpoint", lambda: world.json("checkpoints", job), 60, 0.3)
        script = Script(world, f"stoker move {job} --infra local --force; sleep 300")
        world.wait_for(
            "it to run there",
            lambda: world.job(job)["attempts"][-1]["number"] == 2 and world.job(job)["attempts"][-1]["state"] == "Running",
            60,
            0.3,
        )
        world.wait_for("a checkpoint of it", lambda: [row for row in world.json("checkpoints", job) if row["id"].startswith("2-")], 60, 0.3)
        check(
            "a move says what the end of the allocation means",
            f"inside Slurm's job {script.number}: when that ends" in script.said() and "exec stoker run" not in script.said(),
            script.said(),
        )
        shown = world.stoker("show", job).stdout
        check("so does show", f"Slurm's job {script.number} ends" in shown, shown)
        lab.out("scancel", script.number)
        # "it was cancelled", or "it ends" where Slurm tells no more by then.
        cancelled(check, script, "scancel after a move", SCANCEL)


def test_killed(lab, check):
    """Slurm kills all that is inside, at once: nobody could write anything down."""
    for flags in ((), ("--outlive",)):
        with SlurmWorld(lab) as world:
            line = " ".join(("stoker run", *flags, "-- python3 train.py"))
            script = Script(world, line)
            script.trains()
            mark = f"STOKER_INSTANCE_DIR={world.state}".encode()
            machines = [pid for pid in lab.processes() if mark in Lab.environ(pid) or f"__machine {world.state}" in Lab.command(pid)]
            lab.out("scancel", script.number)
            for pid in sorted(machines):  # machine, agent, enclosure
                Lab.kill(pid)
            if flags:
                outlives(world, check, script, "killed, --outlive")
                continue
            world.wait_for("somebody to see it", lambda: world.job(script.job)["state"] in ENDS, 60, 0.3)
            state = world.job(script.job)["state"]
            check("what was killed with its allocation is cancelled", state == "Cancelled", world.job(script.job))


PARTS = {
    "scancel": test_scancel,
    "waits": test_waits,
    "returns": test_returns,
    "limit": test_limit,
    "preempted": test_preempted,
    "outlives": test_outlives,
    "moved": test_moved,
    "killed": test_killed,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    results = Results()
    with Lab(cpus=8, short="0:02:00") as lab:
        with concurrent.futures.ThreadPoolExecutor(len(PARTS)) as pool:
            begun = [
                pool.submit(results.run, name, part, lab, results.check)
                for name, part in PARTS.items()
                if not args.names or name in args.names
            ]
            for each in begun:
                each.result()
    results.finish()


if __name__ == "__main__":
    main()
