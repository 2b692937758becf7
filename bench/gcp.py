#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What stoker takes of its own on Compute Engine, in the lab (test/lab), as root: from the command
to instances.insert, from the start-up script's binary to the program's first line, calls of
Compute for a launch and for an hour of a node. The lab's own time is in each figure: its API is
Python. What a VM that is started again takes beside a new one, test/gcp/stops.py prints.

    gcp.py                  all but this:
    gcp.py hour [NODES]     calls of an hour of a job of so many nodes (64), which all boot, from
                            four minutes of it; with STOKER_LAB_BARE=1 this machine has less to do
"""

import collections
import json
import os
import pathlib
import re
import statistics
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[1])

from test.lab import lab as lab_of

lab_of.enter()
from test.fake_gcs import BUCKET
from test.gcp.gce_world import LAUNCHES, GceWorld
from test.lab.gce_lab import GceLab
from test.lab.gceapi.machines import Machines

RUNS = int(os.environ.get("RUNS", "3"))
STEADY = 60  # seconds in which calls are counted
STRETCH = 240  # those of many nodes
SETTLED = 90  # so long after all of them run
MANY = 64


def calls(lab, begun, until=None):
    """Of Compute, by method, between then and then."""
    return collections.Counter(each.get("method") for each in lab.log
                               if begun <= each["time"] < (until or time.time()))  # fmt: skip


def listed(counter):
    text = ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))
    return f"{sum(counter.values())} ({text})" if counter else "0"


def many(lab):
    """Of machines that do not boot."""
    booting, lab.api.machines = lab.api.machines, Machines(lab.api.settings)
    lab.api.machines.api = lab.api
    with GceWorld(lab, "bench-many") as world:
        sent, made, job = launch(lab, world, "--num-nodes", str(MANY), "--", "true")
        print(f"{MANY} nodes: asked for after {sent * 1000:.0f} ms; a launch, calls of Compute: "
              f"{listed(made)}", flush=True)  # fmt: skip
        world.stoker("cancel", job, "--no-wait", check=True)
        world.wait_for("its end", lambda: world.stoker("ls", check=True)
                       and all(each.gone for each in world.machines(job)), 120, 1)  # fmt: skip
    lab.api.machines = booting


def scaled(made, seconds):
    return collections.Counter({name: round(n * 3600 / seconds) for name, n in made.items()})


def launch(lab, world, *words):
    """Seconds to the request that asks for machines, all calls of the command, the job."""
    begun = time.time()
    job = world.submit("--infra", world.infra, *words)
    made = calls(lab, begun)
    sent = [e["time"] for e in lab.log if e["time"] >= begun and e.get("method") in LAUNCHES]
    return sent[0] - begun, made, job


def spooled(world, machine):
    found = world.files_on(machine, "**/spool-*/*.log")
    return "".join(each.read_text(errors="replace") for each in found)


def first_line(world, machine):
    """Milliseconds from where the start-up script has the binary to the first line."""
    world.wait_for("its first line", lambda: " o step 1\n" in spooled(world, machine), 120, 0.2)
    disk = pathlib.Path(world.lab.folder) / machine.id / "disk"
    there = (disk / "opt/stoker/stoker").stat().st_mtime * 1000
    return int(re.search(r"^(\d+) o start", spooled(world, machine), re.M)[1]) - there


def one(lab):
    with GceWorld(lab, "bench") as world:
        seconds, lines = [], []
        for run in range(RUNS + 1):
            train = ["--output", "result", "--", "/usr/bin/python3", "train.py", "100000"]
            sent, made, job = launch(lab, world, *train)
            if run == 0:
                print(f"a launch, code uploaded before it, calls of Compute: {listed(made)}")
            else:  # code and binary are in the bucket by now
                seconds.append(sent * 1000)
            lines.append(first_line(world, world.machine(job, 0)))
            if run == RUNS:
                print(f"a launch after that: {listed(made)}")
                begun = time.time()
                time.sleep(STEADY)
                print(f"an hour of one node, from {STEADY} s of it: "
                      f"{listed(scaled(calls(lab, begun), STEADY))}", flush=True)  # fmt: skip
            world.stoker("cancel", job, check=True)
            world.over(job)
        print(f"submit -> insert sent: {statistics.median(seconds):.0f} ms in the middle of {RUNS}"
              f", {max(seconds):.0f} at most")  # fmt: skip
        print(f"binary there -> first line: {statistics.median(lines):.0f} ms in the middle of "
              f"{len(lines)}, {max(lines):.0f} at most", flush=True)  # fmt: skip


def hour(lab, nodes):
    with GceWorld(lab, "bench-hour") as world:
        begun = time.time()
        sent, made, job = launch(lab, world, "--num-nodes", str(nodes), "--", "sleep", "100000")
        print(f"{nodes} nodes: asked for after {sent * 1000:.0f} ms; a launch, calls of Compute: "
              f"{listed(made)}", flush=True)  # fmt: skip

        def record():
            found = lab.gcs.client().bucket(BUCKET).blob(f"team/records/{job}.json")
            return json.loads(found.download_as_bytes())

        world.wait_for("all to run", lambda: record()["state"] == "Running", 3600, 1)
        print(f"all run {time.time() - begun:.0f} s after the command, by which time Compute was "
              f"asked {listed(calls(lab, begun))}", flush=True)  # fmt: skip
        time.sleep(SETTLED)
        before, begun = record(), time.time()
        time.sleep(STRETCH)
        made, seconds = calls(lab, begun), time.time() - begun
        calm = record()["rev"] == before["rev"]
        told = scaled(made, seconds)
        print(f"an hour of {nodes} nodes, from {seconds:.0f} s of it ({sum(made.values())} calls"
              f"{'' if calm else ', DISTURBED'}): {listed(told)}", flush=True)  # fmt: skip
        world.stoker("cancel", job, "--no-wait", check=True)
        world.over(job, 1800)


def main(words):
    with GceLab() as lab:
        if words[:1] == ["hour"]:
            hour(lab, int((words[1:] or [MANY])[0]))
        else:
            many(lab)
            one(lab)
        if lab.bugs:
            sys.exit("\n".join(lab.bugs))


if __name__ == "__main__":
    print(json.dumps({"cpus": os.cpu_count(), "load": os.getloadavg()[0]}), flush=True)
    main(sys.argv[1:])
