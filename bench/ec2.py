#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What stoker takes of its own on EC2, in the lab (test/lab), as root: from the command to
RunInstances, from the unit's start to the program's first line, calls of EC2's API for a launch and
for an hour of a node, and a pass over a gang of 64. The lab's own time is in each figure: its API
and its bucket are Python.

    ec2.py                  all but this:
    ec2.py hour [NODES]     calls of an hour of a job of so many nodes (64), which all boot, from
                            six minutes of it; with STOKER_LAB_BARE=1 this machine has less to do
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
from test.lab.ec2api.machines import Machines

RUNS = int(os.environ.get("RUNS", "5"))
STEADY = 60  # seconds in which calls are counted
STRETCH = 360  # those of many nodes
SETTLED = 120  # so long after all of them run
MANY, KIND = 64, "m5.4xlarge"  # machines of this type do not boot


def calls(lab, begun):
    """Of each service, since then."""
    made = [e for e in lab.log if e["time"] >= begun and "Boto3" not in e["agent"]]
    return collections.Counter(f"{e['service']}:{e.get('action')}" for e in made)


def computed():
    """CPU seconds of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def listed(counter):
    text = ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))
    return f"{sum(counter.values())} ({text})" if counter else "0"


def launch(lab, world, *words):
    """Seconds to RunInstances, those of them in which the lab answered EC2's calls, all calls of
    the command, the job."""
    begun = time.time()
    job = world.submit("--infra", "aws/us-east-1", *words)
    made = calls(lab, begun)
    log = [each for each in lab.log if each["time"] >= begun]
    (sent,) = [each["time"] for each in log if each.get("action") == "RunInstances"]
    return sent - begun, sum(e["took"] for e in log if e["time"] < sent), made, job


def inside(machine, *words):
    command = ["nsenter", "-t", str(machine.room.init()), "-a", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def first_line(world, machine):
    """Milliseconds: to where the binary is there, and to the first line, from the unit's start."""
    world.wait_for("its first line", lambda: " o step 1\n" in world.spooled(machine), 120, 0.2)
    told = inside(machine, "systemctl", "show", "stoker-agent", "-p", "ExecMainStartTimestamp",
                  "--timestamp=us+utc")  # fmt: skip
    at = re.search(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.\d+)", told)
    unit = time.mktime(time.strptime(at[1] + " UTC", "%Y-%m-%d %H:%M:%S %Z")) - time.timezone
    unit = (unit + float(at[2])) * 1000
    disk = pathlib.Path(world.lab.folder) / machine.id / "disk"
    there = (disk / "opt/stoker/stoker").stat().st_mtime * 1000
    line = int(re.search(r"^(\d+) o start", world.spooled(machine), re.M)[1])
    return there - unit, line - unit


def one(lab):
    with LabWorld(lab, "bench") as world:
        seconds, units = [], []
        for run in range(RUNS + 1):
            train = ["--output", "result", "--", "/usr/bin/python3", "train.py", "400"]
            sent, theirs, made, job = launch(lab, world, *train)
            if run == 0:
                print(f"a launch, code uploaded before it, calls of EC2: {listed(made)}")
            else:  # code and binary are in the bucket by now
                seconds.append((sent * 1000, theirs * 1000))
            machine = world.machine(job, 0)
            units.append(first_line(world, machine))
            if run == RUNS:
                begun = time.time()
                time.sleep(STEADY)
                print(f"an hour of one node, from {STEADY} s of it: "
                      f"{listed(scaled(calls(lab, begun), STEADY))}")  # fmt: skip
            world.stoker("cancel", job, check=True)
            world.over(job)
        sent, theirs = (statistics.median(each) for each in zip(*seconds))
        print(f"submit -> RunInstances sent: {sent:.0f} ms in the middle of {RUNS}, of which the "
              f"lab's EC2 took {theirs:.0f}; {max(seconds)[0]:.0f} at most")  # fmt: skip
        own = [line - there for there, line in units]
        print(f"unit start -> first line: {statistics.median(own):.0f} ms besides "
              f"{statistics.median(there for there, _ in units):.0f} ms of the binary's way",
              flush=True)  # fmt: skip


def many(lab):
    with LabWorld(lab, "bench-many") as world:
        sent, _, made, job = launch(lab, world, "--instance-type", KIND, "--num-nodes",
                                       str(MANY), "--", "true")  # fmt: skip
        print(f"{MANY} nodes: RunInstances sent after {sent * 1000:.0f} ms; a launch, calls of "
              f"EC2: {listed(made)}")  # fmt: skip
        begun = time.time()
        passes, own = [], []
        for _ in range(RUNS):
            start, before = time.monotonic(), computed()
            world.stoker("controller", "--once", check=True, timeout=120)
            passes.append((time.monotonic() - start) * 1000)
            own.append((computed() - before) * 1000)
        made = {k: v / RUNS for k, v in calls(lab, begun).items()}
        start = time.monotonic()
        world.stoker("version", check=True)
        alone = (time.monotonic() - start) * 1000
        print(f"'stoker controller --once' over a gang of {MANY}: {statistics.median(passes):.0f} "
              f"ms, of which it computed {statistics.median(own):.0f} (the rest is the lab's "
              f"answers), a command that does nothing {alone:.0f} ms; calls of EC2 a pass: "
              f"{listed(collections.Counter(made))}", flush=True)  # fmt: skip
        world.stoker("cancel", job, "--no-wait", check=True)
        world.wait_for("its end", lambda: world.stoker("ls", check=True)
                       and {e.state() for e in world.machines(job)} == {"terminated"}, 120, 1)


def scaled(made, seconds):
    return collections.Counter({name: round(n * 3600 / seconds) for name, n in made.items()})


def hour(lab, nodes):
    with LabWorld(lab, "bench-hour") as world:
        begun = time.time()
        sent, _, made, job = launch(lab, world, "--num-nodes", str(nodes), "--", "sleep", "100000")
        print(f"{nodes} nodes: RunInstances sent after {sent * 1000:.0f} ms; a launch, calls of "
              f"EC2: {listed(made)}", flush=True)  # fmt: skip

        def record():
            return json.loads(lab.s3.read(f"team/records/{job}.json"))

        world.wait_for("all to run", lambda: record()["state"] == "Running", 3600, 1)
        came = calls(lab, begun)
        print(f"all run {time.time() - begun:.0f} s after the command, by which time EC2 was asked "
              f"{listed(came)}", flush=True)  # fmt: skip
        time.sleep(SETTLED)
        before, begun = record(), time.time()
        time.sleep(STRETCH)
        made, seconds = calls(lab, begun), time.time() - begun
        running = sum(each.state() == "running" for each in world.machines(job))
        calm = record()["rev"] == before["rev"] and running == nodes
        told = scaled(made, seconds)
        print(f"an hour of {nodes} nodes, from {seconds:.0f} s of it ({sum(made.values())} calls"
              f"{'' if calm else ', DISTURBED'}): {listed(told)}, which are "
              f"{sum(told.values()) / nodes:.0f} a node", flush=True)  # fmt: skip
        world.stoker("cancel", job, "--no-wait", check=True)
        world.over(job, 1800)


def short(lab):
    rooms = lab.rooms

    def of_kind(name, boots):
        """Those of that type as machines that do not boot."""
        return lambda instance, *more: (
            getattr(Machines, name)(rooms, instance, *more)
            if instance.asked["InstanceType"] == KIND else boots(instance, *more))  # fmt: skip

    rooms.boot = of_kind("boot", rooms.boot)
    rooms.power_off = of_kind("power_off", rooms.power_off)
    many(lab)
    one(lab)


def main(words):
    with lab_of.Lab() as lab:
        if words[:1] == ["hour"]:
            hour(lab, int((words[1:] or [MANY])[0]))
        else:
            short(lab)
        if lab.bugs:
            sys.exit("\n".join(lab.bugs))


if __name__ == "__main__":
    print(json.dumps({"cpus": os.cpu_count(), "load": os.getloadavg()[0]}), flush=True)
    main(sys.argv[1:])
