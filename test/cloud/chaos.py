#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chaos on machines that boot, of EC2 or of Compute Engine: jobs of one and two nodes that are given
notices, lose machines, agents and zones, find no room, are stopped and started, while the cloud's
API fails, the metadata server is sick and the bucket goes away, whose new machines cannot begin, or whose owner ends
one by hand. One job at a time, so three machines
at most; each meets two acts, the first for certain.

    chaos.py ec2|gcp [--jobs 8] [--full 0] [--seed 7]

`--full` so many more have the market's two minutes, and a bucket that is away for a minute; for the
others every lead is a tenth of that, but for the power button's, which is Google's.

The programs are those of the main line's chaos (test/e2e/programs/chaos_trainer.py), and so are the
checks: kernel locks show that two of one slot never run at once, a checkpoint checks itself, and
every line of the attempt that succeeded is in the log once."""

import argparse
import os
import pathlib
import random
import signal
import sys
import time
import types

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test.door import door_to
from test.e2e.kit import chaos_checks
from test.e2e.kit.bucket_view import BucketPath
from test.e2e.kit.harness import Results
from test.e2e.kit.job_kit import PROGRAMS
from test.ec2 import lab_world as ec2
from test.gcp import gce_world as gcp
from test.lab import ec2_rooms, gce_rooms
from test.lab.ec2api import lifecycle as ec2_lifecycle
from test.lab.gceapi import lifecycle as gce_lifecycle

PROGRAM = PROGRAMS / "chaos_trainer.py"
LIMIT = 400
ON_ITS_WAY = 5  # seconds
FULL = "ZONE_RESOURCE_POOL_EXHAUSTED"


class Act:
    """What is done to one job, on time. A cloud adds its own, each as do_NAME, and says its ACTS in
    the order in which jobs meet them, for which of them a job wants spot machines, and how all is
    mended: mend()."""

    def __init__(self, lab, world, job, rng, scale):
        self.lab, self.world, self.job, self.rng, self.scale = lab, world, job, rng, scale
        self.away, self.lead = 60 * scale, 120 * scale
        self.zones = []
        self.by_hand = None  # when the owner has ended one
        self.api, self.bucket = self.cloud.parts(lab)

    @staticmethod
    def before(lab, acts):
        """What the first request for machines meets."""

    def do(self, what):
        getattr(self, "do_" + what.replace(" ", "_"))()

    def running(self):
        """One of its machines, or None."""
        found = [each for each in self.world.machines(self.job.id) if self.is_up(each)]
        return self.rng.choice(found) if found else None

    def do_agent(self):
        machine = self.running()
        pid = machine and machine.room.agent()
        if pid:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def do_notice(self):
        if machine := self.running():
            self.world.notice(machine, self.lead)

    def do_lost_answers(self):
        for call in self.CALLS:
            self.api.faults.add(call, self.rng.choice(["lost_answer", "lost_request"]), 1)
        self.do_notice()

    def do_boot_fails(self):
        """The machine in the place of the one that is taken finds no bucket, and ends itself."""
        before = {id(each) for each in self.world.machines(self.job.id)}
        self.do_notice()

        def new():
            return [each for each in self.world.machines(self.job.id) if id(each) not in before]

        try:
            self.world.wait_for("another is asked for", new, 60, 0.05)
        except AssertionError:
            return  # there was none to take, or the job is over
        self.world.door.how = "outage"
        try:
            self.world.wait_for("it has not begun", lambda: all(map(self.world.is_off, new())), 120, 0.3)
        finally:
            self.world.door.how = "open"

    def do_cancel(self):
        """Its owner ends a machine with the cloud's own tools: from then on no other is made."""
        machine = self.running()
        if machine is None or ended(self.world, self.job):
            return
        self.end_by_hand(machine)
        self.by_hand = time.time()  # once that was taken

    def made_since(self):
        """Machines that were made though their owner had ended one; the requests that were on
        their way apart."""
        if self.by_hand is None:
            return []
        return [each for each in self.world.machines(self.job.id) if each.born > self.by_hand + ON_ITS_WAY]

    def do_bucket_away(self):
        """A server that answers nobody for a while."""
        self.bucket.process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(self.away)
        finally:
            self.bucket.process.send_signal(signal.SIGCONT)


class Ec2Act(Act):
    cloud = ec2
    # Each job meets the first of its two acts for certain; in the order of the issue.
    ACTS = (
        "notice",
        "boot fails",
        "cancel",
        "taken",
        "withdrawn",
        "stop and start",
        "agent",
        "errors",
        "lost answers",
        "zone full",
        "bucket away",
    )
    CALLS = ("RunInstances", "DescribeInstances", "TerminateInstances", "CreateTags")

    @staticmethod
    def store(lab):
        """The bucket as ledger_view reads it."""
        return BucketPath(lab.s3, "team")

    @staticmethod
    def wants_spot(acts):
        return "stop and start" not in acts

    def is_up(self, machine):
        return machine.state() == "running"

    def do_taken(self):
        """Without a word to it."""
        machine = self.running()
        if machine is None:
            return
        with self.api.world.lock:
            machine.state_reason = ec2_lifecycle.SPOT
            machine.reason = f"Server.SpotInstanceTermination {ec2_lifecycle.stamp()}"
            machine.move((0, "shutting-down"))
        self.lab.rooms.kill(machine)

    def end_by_hand(self, machine):
        """A person whose cloud errs types it again."""
        for _ in range(10):
            try:
                self.lab.client.terminate_instances(InstanceIds=[machine.id])
                return
            except self.lab.client.exceptions.ClientError:
                time.sleep(0.5)

    def do_withdrawn(self):
        machine = self.running()
        if machine is None:
            return
        machine.notice = {"action": "terminate", "time": time.time() + self.lead}
        time.sleep(self.lead / 2)
        machine.notice = None

    def do_stop_and_start(self):
        machine = self.running()
        if machine is None or machine.spot:
            return
        self.lab.client.stop_instances(InstanceIds=[machine.id])
        self.world.wait_for("it is off", lambda: machine.state() not in ("running", "stopping"), 180, 0.2)
        try:
            self.lab.client.start_instances(InstanceIds=[machine.id])
        except self.lab.client.exceptions.ClientError:
            return  # somebody has ended it by now

    def do_errors(self):
        for call in self.CALLS:
            self.api.faults.add(call, "error", self.rng.randint(1, 3), code="InternalError", status=500)
            self.api.faults.add(call, "error", self.rng.randint(1, 2))  # too many requests
        self.do_notice()

    def do_zone_full(self):
        if machine := self.running():
            self.api.capacity.set(0, zone=machine.asked["Zone"])
            self.zones.append(machine.asked["Zone"])
            self.do_notice()

    def mend(self):
        self.api.faults.clear()
        for zone in self.zones:
            self.api.capacity.set(None, zone=zone)


class GcsPath:
    """The bucket as test/e2e/kit/ledger_view.py reads it."""

    def __init__(self, gcs, key=""):
        self.gcs, self.key = gcs, key

    def __truediv__(self, name):
        return GcsPath(self.gcs, f"{self.key}/{name}".lstrip("/"))

    @property
    def name(self):
        return self.key.rpartition("/")[2]

    def read_bytes(self):
        from google.api_core.exceptions import NotFound

        try:
            return self.gcs.read(self.key)
        except NotFound:
            raise FileNotFoundError(self.key) from None

    def is_dir(self):
        return False

    def names(self):
        before = self.key + "/"
        keys = [each[len(before) :] for each in self.gcs.keys(before)]
        return sorted({each.split("/")[0] for each in keys if each})


class GceAct(Act):
    cloud = gcp
    ACTS = (
        "notice",
        "boot fails",
        "cancel",
        "classic notice",
        "taken",
        "no room",
        "rolled back",
        "sender killed",
        "lost answers",
        "errors",
        "silent zone",
        "sick metadata",
        "stopped",
        "agent",
        "bucket away",
    )
    CALLS = (
        "instances.insert",
        "instances.bulkInsert",
        "instances.aggregatedList",
        "instances.get",
        "instances.delete",
        "zoneOperations.get",
        "zoneOperations.list",
    )

    @staticmethod
    def store(lab):
        return GcsPath(lab.gcs, "team")

    @staticmethod
    def wants_spot(acts):
        return "stopped" not in acts

    @staticmethod
    def before(lab, acts):
        lab.api.settings.operation_delay = 2.0
        if acts[0] == "no room":
            lab.api.births.add(FULL)
        if acts[0] == "rolled back":
            lab.api.capacity.set(1, zone="us-central1-a", type="*", market="*")

    def is_up(self, machine):
        return machine.state() == "RUNNING"

    def do_classic_notice(self):
        """The metadata turns with the power button, which has its thirty seconds."""
        machine = self.running()
        if machine is None:
            return
        with self.api.world.lock:
            machine.preempted = True
            gce_lifecycle.taken(self.api, machine, False)

    def do_taken(self):
        if machine := self.running():
            self.world.notice(machine, 0)

    def end_by_hand(self, machine):
        gce_lifecycle.by_hand(self.api, gce_lifecycle.delete, machine)

    def do_no_room(self):
        self.api.births.add(FULL, count=2)
        self.do_notice()

    def do_rolled_back(self):
        """Both machines are lost at once; there is room for one where they were."""
        mine = [each for each in self.world.machines(self.job.id) if self.is_up(each)]
        if mine:
            self.api.capacity.set(1, zone=mine[0].zone)
        for each in mine:
            self.world.notice(each, 0)

    def do_sender_killed(self):
        """The agent that asks for the successor dies before the operation ends."""
        machine = self.running()
        if machine is None:
            return
        self.api.births.add(FULL)
        since = len(self.lab.log)
        self.do_notice()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if any("nsert" in each.get("method", "") for each in self.lab.log[since:]):
                break
            time.sleep(0.02)
        self.do_agent()

    def do_errors(self):
        for call in self.CALLS:
            self.api.faults.add(call, "error", self.rng.randint(1, 3), status=503, code="backendError")
            self.api.faults.add(call, "error", self.rng.randint(1, 2), status=403, code="rateLimitExceeded")
        self.do_notice()

    def do_silent_zone(self):
        if machine := self.running():
            self.api.silent_zones.add(machine.zone)
            self.do_notice()
            time.sleep(self.lead)
            self.api.silent_zones.discard(machine.zone)

    def do_sick_metadata(self):
        machine = self.running()
        if machine is None:
            return
        machine.room.metadata.broken = 20  # so many answers of 503
        self.do_notice()

    def do_stopped(self):
        if machine := self.running():
            self.world.stop(machine)

    def mend(self):
        self.api.faults.clear()
        self.api.births.clear()
        self.api.capacity.clear()
        self.api.silent_zones.clear()
        self.api.settings.operation_delay = 0.1


# Where the bucket is said to be, and from where machines reach this one.
DOORS = {"aws": ("AWS_ENDPOINT_URL_S3", ec2_rooms.GATE), "gcp": ("STORAGE_EMULATOR_HOST", gce_rooms.GATE)}


def prepare(world):
    (world.work / PROGRAM.name).write_text(PROGRAM.read_text())
    world.lab.rooms.more = ["-s", str(world.evidence)]
    variable, gate = DOORS[world.infra.partition("/")[0]]
    world.door = door_to(world.lab.env[variable], gate, "open")
    world.env[variable] = world.door.url


def submit(world, rng, number, acts, scale, spot):
    nodes = rng.choice([1, 1, 2])
    steps = rng.randint(30, 60) * (8 if scale == 1 else 1)  # a notice is over before they are
    style = rng.choice(["overwrite", "rename", "folders"])
    job = world.submit(
        "--infra",
        world.infra,
        *(["--spot"] if spot else []),
        "--name",
        f"chaos-{number}",
        "--num-nodes",
        str(nodes),
        "--output",
        "output",
        "--",
        "/usr/bin/python3",
        PROGRAM.name,
        "--evidence",
        "/shared",
        "--steps",
        str(steps),
        "--step-ms",
        str(rng.randint(200, 500)),
        "--style",
        style,
    )
    return types.SimpleNamespace(id=job, number=number, fate="ends", style=style, nodes=nodes, steps=steps, done=acts, seconds=0)


def beats(world, job):
    return sum(each.stat().st_size for each in world.evidence.glob(f"beat-{job}-*"))


def ended(world, job):
    record = chaos_checks.ledger_view.record(world.store, job.id)
    return record and record["state"] in chaos_checks.ledger_view.FINAL


def play(acts_of, world, results, number, seed, scale):
    rng = random.Random(f"{seed}-{number}")
    acts = [acts_of.ACTS[number % len(acts_of.ACTS)], rng.choice(acts_of.ACTS)]
    begun = time.monotonic()
    acts_of.before(world.lab, acts)
    job = submit(world, rng, number, acts, scale, acts_of.wants_spot(acts))
    act = acts_of(world.lab, world, job, rng, scale)
    try:
        for what in acts:
            enough = beats(world, job.id) + rng.randint(3, 12)
            world.wait_for(f"{job.id} trains", lambda: beats(world, job.id) >= enough or ended(world, job), 240, 0.3)
            act.do(what)
        time.sleep(rng.uniform(0, 5))
    except AssertionError:
        print(world.stoker("show", job.id).stdout, flush=True)
        raise
    finally:
        act.mend()
    world.wait_for(f"{job.id} to end", lambda: ended(world, job), LIMIT, 0.5)
    world.over(job.id, LIMIT)
    job.seconds = time.monotonic() - begun
    if act.by_hand:
        job.fate = "cancelled"
        record = chaos_checks.ledger_view.record(world.store, job.id)
        results.check(f"job {number}: its owner's end is a cancel", record["state"] == "Cancelled", record["state"])
        results.check(f"job {number}: no machine is made after it", not act.made_since(), act.made_since())
    chaos_checks.check_job(world, job, results)
    return job


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cloud", choices=CLOUDS)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--full", type=int, default=0)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--first", type=int, default=0, help="number of the first job")
    args = parser.parse_args()
    acts_of, results = CLOUDS[args.cloud], Results()
    with acts_of.cloud.Lab() as lab, acts_of.cloud.World(lab, f"{args.cloud}-chaos") as world:
        world.store = acts_of.store(lab)
        prepare(world)
        acts_of.cloud.parts(lab)[0].settings.boot_tries = 3
        looks = world.start("controller", "--interval", "5s", stdout=-3, stderr=-3)
        jobs = []
        for number, scale in enumerate([0.1] * args.jobs + [1] * args.full, args.first):
            results.run(f"chaos-{number}", lambda n=number, s=scale: jobs.append(play(acts_of, world, results, n, args.seed, s)))
        wrong = world.evidence / "VIOLATIONS"
        results.check("no program ran twice, no checkpoint was torn", not wrong.exists(), wrong.read_text() if wrong.exists() else "")
        looks.terminate()
        looks.wait()
        print(f"{len(jobs)} jobs, {len(list(world.all_machines()))} machines", flush=True)
        acts_of.cloud.judge(lab, results.check)
    results.finish()


CLOUDS = {"ec2": Ec2Act, "gcp": GceAct}

if __name__ == "__main__":
    main()
