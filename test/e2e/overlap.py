# SPDX-License-Identifier: Apache-2.0
"""Overlap: two controllers, attached command lines, loops of `ls`, `show` and `logs -f`, `preempt`
and departing agents all reconcile the same jobs at once, none of them killed by this test. Kernel
locks held by the programs say that never two of them ran for one (job, attempt, slot) nor for one
slot of a job; the records say that nobody's overlap cost a machine that was not needed.

  overlap.py [--jobs 10] [--seed 1] [--seconds 12]"""

import argparse
import collections
import pathlib
import random
import subprocess
import sys
import threading
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit import ledger_view
from test.e2e.kit.harness import Results, World

TRAINER = pathlib.Path(__file__).parent / "programs" / "overlap_trainer.py"
PYTHON = "/usr/bin/python3"
FILE = """\
name: overlap-{number}
num_nodes: {nodes}
stop_grace: 2s
checkpoints: {{path: checkpoints, quiet: 100ms}}
run: exec {python} {trainer} {evidence} {steps}
"""


class Overlap:
    def __init__(self, args):
        self.args = args
        self.rng = random.Random(args.seed)
        self.world = World("overlap")
        self.nodes = {}
        self.counts = collections.Counter()
        self.failed = []
        self.stop = threading.Event()
        self.background = []

    def submit(self):
        """Half of them by a command line that stays attached, half detached and watched."""
        for number in range(1, self.args.jobs + 1):
            nodes = 1 + number % 3
            path = self.world.work / f"job-{number}.yaml"
            path.write_text(
                FILE.format(
                    number=number, nodes=nodes, python=PYTHON, trainer=TRAINER, evidence=self.world.evidence, steps=10 * self.args.seconds
                )
            )
            if number % 2:
                self.start("run", path)
                job = self.world.wait_for(f"job {number}", self.new_job, 60)
            else:
                job = self.world.submit(path)
                self.start(*self.rng.choice([["logs", "-f", job], ["wait", job]]))
            self.nodes[job] = nodes

    def new_job(self):
        return next(iter(ledger_view.job_ids(self.world.store) - set(self.nodes)), None)

    def start(self, *words):
        process = self.world.start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.background.append((words, process))
        return process

    def loop(self, rng, verbs):
        """Verb after verb, each of which reconciles as a side effect."""
        while not self.stop.is_set():
            verb = rng.choice(verbs)
            job = rng.choice(list(self.nodes))
            done = self.world.stoker(*[job if w == "JOB" else w for w in verb])
            self.counts[verb[0]] += 1
            if done.returncode != 0:
                self.failed.append(f"{verb[0]}: {done.stderr.strip()}")

    def preempt(self, rng, end):
        while time.monotonic() < end:
            job = rng.choice(list(self.nodes))
            node = rng.randrange(self.nodes[job])
            done = self.world.stoker("preempt", job, "--node", node, "--in", rng.choice(["0s", "200ms", "1s", "2s"]))
            self.counts["notices"] += done.returncode == 0  # there may be no machine just now

    def run(self):
        """True when every job has ended and everything has come to rest by itself."""
        controllers = [self.start("controller", "--interval", "50ms") for _ in range(2)]
        self.submit()
        end = time.monotonic() + self.args.seconds
        work = [(self.loop, [["ls"], ["show", "JOB"]]), (self.loop, [["controller", "--once"]]), (self.preempt, end), (self.preempt, end)]
        loops = [threading.Thread(target=f, args=(random.Random(f"{self.args.seed}-{i}"), what)) for i, (f, what) in enumerate(work)]
        for thread in loops:
            thread.start()
        try:
            self.world.wait_for("rest", self.at_rest, timeout=120, every=0.2)
            rested = True
        except AssertionError:
            rested = False
        self.stop.set()
        for thread in loops:
            thread.join()
        for controller in controllers:
            controller.terminate()
        return rested

    def at_rest(self):
        states = [ledger_view.record(self.world.store, job)["state"] for job in self.nodes]
        return all(state in ledger_view.FINAL for state in states) and not (
            ledger_view.listing(self.world.state / "instances") or ledger_view.listing(self.world.store / "active")
        )

    def judge(self, results):
        attempts = launches = 0
        tokens = set()
        for job, nodes in self.nodes.items():
            record = ledger_view.record(self.world.store, job)
            attempts += len(record["attempts"])
            launches += len(record["launches"])
            tokens |= {request["token"] for request in record["requests"]}
            results.check(
                f"{job} ({nodes} nodes, {len(record['attempts'])} attempts) succeeded", record["state"] == "Succeeded", record.get("result")
            )
            claimed = set(ledger_view.claims(self.world.store, job))
            ran = {tuple(map(int, p.name.removesuffix(".once").rsplit("-", 2)[1:])) for p in self.world.evidence.glob(f"{job}-*.once")}
            results.check(f"{job}: every program had its claim", ran <= claimed, ran - claimed)
        violations = self.world.evidence / "VIOLATIONS"
        results.check(
            "never two programs for one slot, nor for one attempt and slot",
            not violations.exists(),
            violations.exists() and violations.read_text(),
        )
        marks = set(ledger_view.listing(self.world.state / "ended"))
        results.check("no machine was ever made without a launch in a record", marks <= tokens, marks - tokens)
        results.check("no verb failed", not self.failed, self.failed[:3])
        print(f"overlap: {attempts} attempts, {launches} launches, {dict(self.counts)}")

    def background_ends(self, results):
        for words, process in self.background:
            try:
                _, err = process.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                results.check(f"{' '.join(map(str, words))} ends", False)
                continue
            results.check(f"{' '.join(map(str, words))} ends with 0", process.returncode == 0, err)
        left = ledger_view.Processes(self.world.root).all()
        results.check("no process is left", not left, left)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=10, help="of notices")
    args = parser.parse_args()
    results = Results()
    print(f"overlap: seed {args.seed}, {args.jobs} jobs", flush=True)
    overlap = Overlap(args)
    results.check("all jobs ended, and nothing is left of their machines", overlap.run())
    overlap.judge(results)
    overlap.background_ends(results)
    overlap.world.close(keep=bool(results.failed))
    results.finish()


main()
