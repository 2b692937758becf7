#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What stoker takes of its own on EC2 and on Compute Engine, in the lab (test/lab), as root: from the
command to the request for machines, from where the binary is on a machine to the program's first
line, calls of the cloud's API for a launch and for an hour of a node, and a pass over a gang of 64
of EC2. The lab's own time is in each figure: its APIs and EC2's bucket are Python. What a VM that is
started again takes beside a new one, test/gcp/stops.py prints.

    cloud.py [ec2|gcp]              all but this; of both
    cloud.py ec2|gcp hour [NODES]   calls of an hour of a job of so many nodes (64), which all boot,
                                    from four minutes of it (EC2: six); with STOKER_LAB_BARE=1 this
                                    machine has less to do
"""

import collections
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[1])

from test.lab import lab as lab_of

lab_of.enter()
from test.ec2.lab_world import LabWorld
from test.fake_gcs import BUCKET
from test.gcp.gce_world import LAUNCHES, GceWorld
from test.lab.ec2api.machines import Machines as UnbootedInstances
from test.lab.gce_lab import GceLab
from test.lab.gceapi.machines import Machines as UnbootedVms

STEADY = 60  # seconds in which calls are counted
MANY = 64


class Cloud:
    """`stretch`: seconds in which calls of many nodes are counted, `settled` so long after all of them
    run."""

    def __init__(self, lab):
        self.lab = lab
        self.rounds = int(os.environ.get("RUNS", self.runs))


class Ec2(Cloud):
    api, request, runs, stretch, settled, steps = "EC2", "RunInstances", 5, 360, 120, "400"
    kind = "m5.4xlarge"  # machines of this type do not boot
    Lab, World = lab_of.Lab, LabWorld

    def few(self):
        """From here on."""
        rooms, kind = self.lab.rooms, self.kind

        def of_kind(name, boots):
            return lambda instance, *more: (
                getattr(UnbootedInstances, name)(rooms, instance, *more)
                if instance.asked["InstanceType"] == kind
                else boots(instance, *more)
            )

        rooms.boot = of_kind("boot", rooms.boot)
        rooms.power_off = of_kind("power_off", rooms.power_off)
        return "--instance-type", kind

    def all(self):
        """They boot again."""

    def calls(self, begun):
        made = [e for e in self.lab.log if e["time"] >= begun and "Boto3" not in e["agent"]]
        return collections.Counter(f"{e['service']}:{e.get('action')}" for e in made)

    def requests(self, since):
        return [e for e in self.lab.log if e["time"] >= since and e.get("action") == "RunInstances"]

    def took(self, begun, sent):
        """Milliseconds of the lab's, and what says so."""
        theirs = sum(e["took"] for e in self.lab.log if begun <= e["time"] < sent) * 1000
        return theirs, ", of which the lab's EC2 took {:.0f}"

    def first_line(self, world, machine):
        """Milliseconds from the unit's start: to where the binary is there, and to the first line."""
        there, line = there_and_line(world, machine)
        command = [
            "nsenter",
            "-t",
            str(machine.room.init()),
            "-a",
            "systemctl",
            "show",
            "stoker-agent",
            "-p",
            "ExecMainStartTimestamp",
            "--timestamp=us+utc",
        ]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        at = re.search(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.\d+)", told)
        unit = time.mktime(time.strptime(at[1] + " UTC", "%Y-%m-%d %H:%M:%S %Z")) - time.timezone
        unit = (unit + float(at[2])) * 1000
        return there - unit, line - unit

    def print_lines(self, lines):
        own = statistics.median(line - there for there, line in lines)
        print(
            f"unit start -> first line: {own:.0f} ms besides {statistics.median(there for there, _ in lines):.0f} ms of the binary's way",
            flush=True,
        )

    def passes(self, world):
        """Over a gang."""
        begun, took, own = time.time(), [], []
        for _ in range(self.rounds):
            start, before = time.monotonic(), computed()
            world.stoker("controller", "--once", check=True, timeout=120)
            took.append((time.monotonic() - start) * 1000)
            own.append((computed() - before) * 1000)
        made = {k: v / self.rounds for k, v in self.calls(begun).items()}
        start = time.monotonic()
        world.stoker("version", check=True)
        alone = (time.monotonic() - start) * 1000
        print(
            f"'stoker controller --once' over a gang of {MANY}: {statistics.median(took):.0f} "
            f"ms, of which it computed {statistics.median(own):.0f} (the rest is the lab's "
            f"answers), a command that does nothing {alone:.0f} ms; calls of EC2 a pass: "
            f"{listed(collections.Counter(made))}",
            flush=True,
        )

    def record(self, job):
        return json.loads(self.lab.s3.read(f"team/records/{job}.json"))

    def alive(self, world, job):
        return sum(each.state() == "running" for each in world.machines(job))


class Gce(Cloud):
    api, request, runs, stretch, settled, steps = "Compute", "insert", 3, 240, 90, "100000"
    Lab, World = GceLab, GceWorld

    def few(self):
        self.booting, self.lab.api.machines = self.lab.api.machines, UnbootedVms(self.lab.api.settings)
        self.lab.api.machines.api = self.lab.api
        return ()

    def all(self):
        self.lab.api.machines = self.booting

    def calls(self, begun):
        return collections.Counter(e.get("method") for e in self.lab.log if begun <= e["time"])

    def requests(self, since):
        return [e for e in self.lab.log if e["time"] >= since and e.get("method") in LAUNCHES]

    def took(self, begun, sent):
        return 0, ""

    def first_line(self, world, machine):
        """Milliseconds from where the start-up script has the binary to the first line."""
        there, line = there_and_line(world, machine)
        return line - there

    def print_lines(self, lines):
        print(
            f"binary there -> first line: {statistics.median(lines):.0f} ms in the middle of {len(lines)}, {max(lines):.0f} at most",
            flush=True,
        )

    def passes(self, world):
        """None are measured."""

    def record(self, job):
        found = self.lab.gcs.client().bucket(BUCKET).blob(f"team/records/{job}.json")
        return json.loads(found.download_as_bytes())

    def alive(self, world, job):
        return sum(not each.gone for each in world.machines(job))


def computed():
    """CPU seconds of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def listed(counter):
    text = ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))
    return f"{sum(counter.values())} ({text})" if counter else "0"


def scaled(made, seconds):
    return collections.Counter({name: round(n * 3600 / seconds) for name, n in made.items()})


def there_and_line(world, machine):
    """Milliseconds: when the binary was there, and the first line."""

    def spooled():
        found = world.files_on(machine, "**/spool-*/*.log")
        return "".join(each.read_text(errors="replace") for each in found)

    world.wait_for("its first line", lambda: " o step 1\n" in spooled(), 120, 0.2)
    disk = pathlib.Path(world.lab.folder) / machine.id / "disk"
    there = (disk / "opt/stoker/stoker").stat().st_mtime * 1000
    return there, int(re.search(r"^(\d+) o start", spooled(), re.M)[1])


def launch(cloud, world, *words):
    """Seconds to the request that asks for machines, the lab's milliseconds among them, all calls of
    the command, the job."""
    begun = time.time()
    job = world.submit("--infra", world.infra, *words)
    made, sent = cloud.calls(begun), cloud.requests(begun)[0]["time"]
    return sent - begun, cloud.took(begun, sent)[0], made, job


def one(cloud):
    with cloud.World(cloud.lab, "bench") as world:
        seconds, lines = [], []
        for run in range(cloud.rounds + 1):
            train = ["--output", "result", "--", "/usr/bin/python3", "train.py", cloud.steps]
            sent, theirs, made, job = launch(cloud, world, *train)
            if run == 0:
                print(f"a launch, code uploaded before it, calls of {cloud.api}: {listed(made)}")
            else:  # code and binary are in the bucket by now
                seconds.append((sent * 1000, theirs))
            lines.append(cloud.first_line(world, world.machine(job, 0)))
            if run == cloud.rounds:
                print(f"a launch after that: {listed(made)}")
                begun = time.time()
                time.sleep(STEADY)
                print(f"an hour of one node, from {STEADY} s of it: {listed(scaled(cloud.calls(begun), STEADY))}", flush=True)
            world.stoker("cancel", job, check=True)
            world.over(job)
        sent, theirs = (statistics.median(each) for each in zip(*seconds))
        print(
            f"submit -> {cloud.request} sent: {sent:.0f} ms in the middle of {cloud.rounds}"
            f"{cloud.took(0, 0)[1].format(theirs)}; {max(seconds)[0]:.0f} at most"
        )
        cloud.print_lines(lines)


def many(cloud):
    """Of machines that do not boot."""
    few = cloud.few()
    with cloud.World(cloud.lab, "bench-many") as world:
        sent, _, made, job = launch(cloud, world, *few, "--num-nodes", str(MANY), "--", "true")
        print(f"{MANY} nodes: asked for after {sent * 1000:.0f} ms; a launch, calls of {cloud.api}: {listed(made)}", flush=True)
        cloud.passes(world)
        world.stoker("cancel", job, "--no-wait", check=True)
        world.wait_for(
            "its end", lambda: world.stoker("ls", check=True) and all(world.is_over(each) for each in world.machines(job)), 120, 1
        )
    cloud.all()


def hour(cloud, nodes):
    with cloud.World(cloud.lab, "bench-hour") as world:
        begun = time.time()
        sent, _, made, job = launch(cloud, world, "--num-nodes", str(nodes), "--", "sleep", "100000")
        print(f"{nodes} nodes: asked for after {sent * 1000:.0f} ms; a launch, calls of {cloud.api}: {listed(made)}", flush=True)
        world.wait_for("all to run", lambda: cloud.record(job)["state"] == "Running", 3600, 1)
        print(
            f"all run {time.time() - begun:.0f} s after the command, by which time {cloud.api} was asked {listed(cloud.calls(begun))}",
            flush=True,
        )
        time.sleep(cloud.settled)
        before, begun = cloud.record(job), time.time()
        time.sleep(cloud.stretch)
        made, seconds = cloud.calls(begun), time.time() - begun
        calm = cloud.record(job)["rev"] == before["rev"] and cloud.alive(world, job) == nodes
        told = scaled(made, seconds)
        print(
            f"an hour of {nodes} nodes, from {seconds:.0f} s of it ({sum(made.values())} calls"
            f"{'' if calm else ', DISTURBED'}): {listed(told)}, which are "
            f"{sum(told.values()) / nodes:.0f} a node",
            flush=True,
        )
        world.stoker("cancel", job, "--no-wait", check=True)
        world.over(job, 1800)


def main(words):
    clouds = {"ec2": Ec2, "gcp": Gce}
    for name in words[:1] or clouds:
        with clouds[name].Lab() as lab:
            cloud = clouds[name](lab)
            if words[1:2] == ["hour"]:
                hour(cloud, int((words[2:] or [MANY])[0]))
            else:
                many(cloud)
                one(cloud)
            if lab.bugs:
                sys.exit("\n".join(lab.bugs))


if __name__ == "__main__":
    print(json.dumps({"cpus": os.cpu_count(), "load": os.getloadavg()[0]}), flush=True)
    main(sys.argv[1:])
