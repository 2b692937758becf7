#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chaos on a real Slurm: jobs of one and two nodes, whose allocations are preempted, suspended,
requeued and given notices, whose nodes and processes die, while slurmctld comes and goes.

    chaos.py [--jobs N] [--seed N] [--limit SECONDS]

The programs are those of the main line's chaos (test/e2e/programs/chaos_trainer.py): kernel locks
show that two of one rank never run at once, and each checkpoint checks itself. Judged by that, by
the last line and the output of each job, and by what is left in Slurm, on the nodes, in the state
folder."""

import argparse
import os
import pathlib
import random
import signal
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit import ledger_view
from test.e2e.kit.harness import Results, patience
from test.slurm.kit.lab import Lab
from test.slurm.kit.slurm_world import ENDS, PROGRAMS, SlurmWorld, job_of

ACTS = (
    ["requeue"] * 2
    + ["drill"] * 4
    + ["suspend"] * 2
    + ["agent"] * 3
    + ["node process"] * 2
    + ["program"] * 2
    + ["script"]
    + ["preempt"] * 2
    + ["node"]
    + ["slurmctld"]
)


class Storm:
    def __init__(self, lab, world, rng):
        self.lab, self.world, self.rng = lab, world, rng
        self.acts = {}
        self.dead = {}  # node: when it comes back
        self.suspended = {}
        self.drained = []

    def running(self):
        return [(number, name) for number, name, state in self.lab.all_jobs() if state == "RUNNING" and job_of(name)]

    def processes(self, *words):
        return [pid for pid in self.lab.processes() if all(word in self.lab.command(pid) for word in words)]

    def act(self):
        what = self.rng.choice(ACTS)
        running = self.running()
        if not running:
            return
        number, name = self.rng.choice(running)
        job = job_of(name)
        done = getattr(self, "do_" + what.replace(" ", "_"))(number, job)
        if done is not False:
            self.acts[what] = self.acts.get(what, 0) + 1

    def do_requeue(self, number, _):
        self.lab.try_out("scontrol", "update", f"JobId={number}", "Requeue=1")
        return self.lab.try_out("scontrol", "requeue", number) is not None

    def do_drill(self, _, job):
        lead = self.rng.choice(["1s", "3s", "10s"])
        return self.world.stoker("preempt", job, "--in", lead).returncode == 0

    def do_suspend(self, number, _):
        if self.lab.try_out("scontrol", "suspend", number) is None:
            return False
        self.suspended[number] = time.monotonic() + self.rng.choice([2, 60])
        return True

    def kill_one(self, *words):
        pids = self.processes(*words)
        if not pids:
            return False
        self.lab.kill(self.rng.choice(pids))
        return True

    def do_agent(self, *_):
        return self.kill_one("__agent")

    def do_node_process(self, *_):
        return self.kill_one("__slurm_node")

    def do_program(self, _, job):
        pids = self.world.programs(job)
        if not pids:
            return False
        self.lab.kill(self.rng.choice(pids))
        return True

    def do_script(self, *_):
        return self.kill_one("slurm_script")

    def do_preempt(self, *_):
        return (
            self.lab.try_out("sbatch", "-p", "over", "-N1", "-c4", "--output=/dev/null", "--job-name=other", "--wrap=sleep 2") is not None
        )

    def do_node(self, *_):
        alive = [name for name in self.lab.names if name not in self.dead]
        if len(alive) <= 3:
            return False
        name = self.rng.choice(alive)
        self.lab.kill_node(name)
        self.dead[name] = time.monotonic() + 20
        return True

    def do_slurmctld(self, *_):
        self.lab.stop("slurmctld", self.rng.choice([signal.SIGTERM, signal.SIGKILL]))
        time.sleep(self.rng.uniform(0, 4))
        self.lab.start_controller()
        return True

    def mend(self, all_of_it=False):
        for name in [n for n, when in self.dead.items() if all_of_it or when < time.monotonic()]:
            del self.dead[name]
            self.lab.start_node(name)
        for number in [n for n, when in self.suspended.items() if all_of_it or when < time.monotonic()]:
            del self.suspended[number]
            self.lab.try_out("scontrol", "resume", number)
        self.drained += self.lab.resume_nodes(but=self.dead)


def submit(world, rng, number):
    nodes = rng.choice([1, 1, 2])
    steps = rng.randint(20, 60)
    style = rng.choice(["overwrite", "rename", "folders"])
    job = world.submit(
        "--infra",
        "slurm/under",
        "--name",
        f"chaos-{number}",
        "--num-nodes",
        str(nodes),
        "--max-restarts",
        "50",
        "--",
        "/usr/bin/python3",
        "chaos_trainer.py",
        "--evidence",
        str(world.evidence),
        "--steps",
        str(steps),
        "--step-ms",
        str(rng.randint(100, 400)),
        "--style",
        style,
    )
    return job, nodes, steps


def judge(results, world, lab, jobs):
    wrong = world.evidence / "VIOLATIONS"
    results.check("no program ran twice, no checkpoint was torn", not wrong.exists(), wrong.read_text() if wrong.exists() else "")
    states = {job: ledger_view.record(world.store, job)["state"] for job, _, _ in jobs}
    bad = {job: state for job, state in states.items() if state != "Succeeded"}
    results.check("each job has ended well", not bad, bad)
    for job, _, steps in jobs:
        if job in bad:
            continue
        last = [text for _, text in world.lines(job)][-1:]
        if not last or not last[0].startswith(f"final {steps}"):
            results.check(f"the last line of {job}", False, last)
    attempts = sum(len(ledger_view.record(world.store, job)["attempts"]) for job, _, _ in jobs)
    print(f"{len(jobs)} jobs, {attempts} attempts", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--limit", type=int, default=600)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    results = Results()
    with Lab(cpus=4, keep=60) as lab, SlurmWorld(lab, "slurm-chaos") as world:
        (world.work / "chaos_trainer.py").write_text((PROGRAMS / "chaos_trainer.py").read_text())
        jobs = [submit(world, rng, number) for number in range(args.jobs)]
        storm = Storm(lab, world, rng)
        looks = world.start("controller", "--interval", "2s", stdout=-3, stderr=-3)
        end = time.monotonic() + patience(args.limit)
        calm = time.monotonic() + patience(args.limit) / 3

        def over():
            return all((ledger_view.record(world.store, job) or {}).get("state") in ENDS for job, _, _ in jobs)

        while not over() and time.monotonic() < end:
            storm.mend()
            if time.monotonic() < calm:
                storm.act()
            else:
                storm.mend(all_of_it=True)
            time.sleep(rng.uniform(0.3, 1.5))
        storm.mend(all_of_it=True)
        print("acts:", storm.acts, flush=True)
        if storm.drained:
            print("resumed:", storm.drained, flush=True)
        judge(results, world, lab, jobs)
        for job, _, _ in jobs:
            results.run(f"nothing is left of {job}", world.nothing_left, job, 120)
        looks.terminate()
        looks.wait()
        deadline = time.monotonic() + patience(30)
        while lab.left() and time.monotonic() < deadline:
            time.sleep(0.2)
        results.check("nothing of any job runs", not lab.left(), lab.left())
        # What was killed could not clear its folder away: the next job on that node does.
        last = world.submit("--infra", "slurm/under", "--", "true")
        looks = world.start("wait", last, stdout=-3, stderr=-3)  # its node may not begin it
        results.check("the last job succeeds", world.ended(last) == "Succeeded")
        looks.wait()
        results.run("nothing is left of it", world.nothing_left, last, 60)
        # Another Lab's nodes, on which something runs, may be beside it.
        runs = b"".join(lab.environ(p.name) for p in pathlib.Path("/proc").glob("[0-9]*"))
        folders = [str(p) for p in pathlib.Path(f"/tmp/stoker-{os.getuid()}").glob("*") if str(p).encode() not in runs]
        results.check("nodes have no folder of any", not folders, folders)
    results.finish()


if __name__ == "__main__":
    main()
