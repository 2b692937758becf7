#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 in the middle of a checkpoint's multipart upload:
killed_checkpoint.py [--trials 10] [--seed 1]

Each trial is a job whose store is a bucket of versitygw. Its program writes checkpoints of one file
that is several parts long. While the parts of one are on their way, which a proxy makes slow, the
agent is killed, or the agent and the process that is its machine, once a random share of the bytes
has passed. The job must then go on from the checkpoint before and come to its end by itself;
whatever a manifest names is whole, and so is what is fetched in the end. At last `stoker gc` takes
the uploads that nobody ended, once they are old."""

import argparse
import hashlib
import json
import pathlib
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test.e2e.kit import ledger_view
from test.e2e.kit.bucket_view import BucketPath, age_uploads
from test.e2e.kit.harness import PYTHON, Results, World
from test.fault_proxy import FaultProxy
from test.faults import big_checkpoint
from test.versity_s3 import VersityS3

PART = 16 << 20  # bytes; what is larger goes in parts
SLOW = 40  # milliseconds that a MiB takes on each connection
OLD = 100 * 3600  # seconds; gc takes uploads of 72 h


class Trial:
    def __init__(self, killed, number):
        self.rng = rng = random.Random(f"{killed.seed}-{number}")
        self.world, self.server, self.proxy = killed.world, killed.server, killed.proxy
        self.processes = killed.processes
        self.number = number
        self.blocks = rng.randint(PART * 2, PART * 5) // big_checkpoint.BLOCK
        self.size = self.blocks * big_checkpoint.BLOCK
        self.style = rng.choice(["overwrite", "rename"])
        self.hit = rng.randint(1, 2)  # the step whose checkpoint is hit
        self.share = rng.random()
        self.victims = rng.choice([["agent"], ["agent"], ["agent", "machine"]])
        self.until = self.world.evidence / f"until-{number}"
        self.starts = self.world.evidence / f"starts-{number}"
        self.problems = []
        self.left = 0  # uploads that nobody ended

    def may(self, step):
        """The program may write the checkpoints up to `step`."""
        new = self.until.with_suffix(".new")
        new.write_text(str(step))
        new.rename(self.until)

    def run(self):
        last = self.hit + 1
        self.may(self.hit - 1)
        program = [PYTHON, HERE / "big_checkpoint.py", self.style, self.blocks, last, self.until, self.starts]
        file = self.world.work / f"job-{self.number}.yaml"
        file.write_text(f"""\
name: killed-{self.number}
stop_grace: 2s
checkpoints: {{path: checkpoints, quiet: 100ms}}
run: |
  exec {shlex.join(map(str, program))}
""")
        self.job = self.world.submit(file)
        if self.hit > 1:
            self.world.wait_for("a checkpoint", lambda: self.newest() == self.hit - 1, 60, 0.1)
        self.in_the_middle()
        self.may(last)
        self.world.wait_for(f"{self.job} ends", self.ended, 120, 0.2)
        self.judge(last)

    def ended(self):
        record = ledger_view.record(self.world.store, self.job)
        return record if record["state"] in ledger_view.FINAL else None

    def in_the_middle(self):
        """Kills while the upload of step `hit` is under way."""
        before = self.sent()
        self.proxy.set(ms_per_mib=SLOW)
        self.may(self.hit)
        self.world.wait_for("an upload begins", lambda: self.uploads() and self.sent() > before, 60, 0.01)
        due = before + self.share * self.size
        self.world.wait_for("its bytes pass", lambda: self.sent() >= due, 60, 0.005)
        mine = [(pid, kind) for pid, kind, job in self.processes.all() if job == self.job]
        reached = self.processes.send([pid for pid, kind in mine if kind in self.victims], signal.SIGKILL)
        if not reached:
            self.problems.append(f"nobody to kill among {mine}")
        self.proxy.set(ms_per_mib=0)
        self.committed = self.newest()

    def sent(self):
        return self.proxy.told()["bytes"].get("up UploadPart", 0)

    def uploads(self):
        return [u for u in self.server.uploads() if f"/jobs/{self.job}/" in u["Key"]]

    def newest(self):
        """Step of the newest checkpoint, 0 = none. Each that there is must be whole."""
        root = self.world.store / "jobs" / self.job / "checkpoints"
        steps = [0]
        for name in ledger_view.listing(root / "manifests"):
            text = (root / "manifests" / name).read_bytes()
            for part in json.loads(text)["parts"] if text else []:
                for entry in part["files"]:
                    data = (root / entry["object"]).read_bytes()
                    good = hashlib.sha256(data).hexdigest() == entry["sha256"]
                    step = big_checkpoint.decode(data, self.blocks)
                    if not good or step is None:
                        self.problems.append(f"checkpoint {name}: {entry['path']} is torn")
                    steps.append(step or 0)
        return steps[-1]

    def judge(self, last):
        record = self.ended()
        if record["state"] != "Succeeded":
            self.problems.append(f"{record['state']}: {record.get('result')}")
        self.left = len(self.uploads())
        started = [line.split() for line in self.starts.read_text().splitlines()]
        steps = [int(step) if step != "torn" else -1 for _, step in started]
        if len(steps) < 2 or steps[0] != 0 or not self.committed <= steps[1] <= self.hit:
            self.problems.append(f"started at {started}, not from {self.committed} on")
        if self.newest() != last:
            self.problems.append(f"the newest checkpoint is of step {self.newest()}, not {last}")
        target = self.world.work / f"fetched-{self.number}"
        self.world.stoker("get", self.job, "checkpoint", target, check=True, timeout=120)
        files = [path for path in target.rglob("*") if path.is_file()]
        got = [big_checkpoint.decode(path.read_bytes(), self.blocks) for path in files]
        if got != [last]:
            self.problems.append(f"fetched {files}: {got}")
        shutil.rmtree(target)

    def make_room(self):
        """For the next: what the job kept is a few hundred MiB."""
        for key in self.server.keys(f"team/jobs/{self.job}/checkpoints/"):
            self.server.client.delete_object(Bucket=self.server.bucket, Key=key)

    def told(self):
        return (
            f"{self.number}: {self.size >> 20} MiB, {self.style}, step {self.hit}, "
            f"{' and '.join(self.victims)} at {self.share:.0%}, "
            f"{self.left} uploads left"
        )


class Killed:
    def __init__(self, world, server, proxy, seed):
        self.world, self.server, self.proxy, self.seed = world, server, proxy, seed
        self.processes = ledger_view.Processes(world.root)

    def quiet(self):
        """No machine is left, nor anything of one."""
        running = [p for p in self.processes.all() if p[1] != "tool"]
        return not running and not self.world.instances()


def trials(results, killed, count):
    middle = 0
    for number in range(1, count + 1):
        trial = Trial(killed, number)
        begun = time.monotonic()
        try:
            trial.run()
        except AssertionError as error:  # it took too long
            trial.problems.append(str(error))
        middle += trial.left > 0
        results.check(f"{trial.told()}, {time.monotonic() - begun:.0f} s", not trial.problems, trial.problems)
        trial.make_room()
    results.check(f"{middle} of {count} were killed in the middle", middle > count // 2)


def swept(results, killed):
    killed.world.wait_for("rest", killed.quiet, 60, 0.5)
    began = len(killed.server.uploads())
    killed.world.stoker("gc", check=True)
    left = len(killed.server.uploads())
    results.check("gc leaves uploads that are young", left == began, f"{left} of {began}")
    age_uploads(killed.server, time.time() - OLD)
    killed.world.stoker("gc", check=True)
    left = killed.server.uploads()
    results.check(f"gc leaves none of {began} old ones", began and not left, left)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    results = Results()
    with VersityS3() as server, FaultProxy(server.endpoint, args.seed) as proxy, World("killed-checkpoint") as world:
        world.env.update(server.env(proxy.endpoint))
        world.stoker("config", "set", "store", f"s3://{server.bucket}/team", check=True)
        world.store = BucketPath(server, "team")
        world.start("controller", "--interval", "200ms", stdout=subprocess.DEVNULL, stderr=open(world.root / "controller.log", "w"))
        killed = Killed(world, server, proxy, args.seed)
        trials(results, killed, args.trials)
        swept(results, killed)
    results.finish()


if __name__ == "__main__":
    main()
