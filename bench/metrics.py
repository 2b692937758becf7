#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What finding metrics costs, on the node and in a bucket, and how fast event files are read.

reading  one event file by TensorBoard's EventAccumulator, by tensorboard-data-server, and by the
         code of stoker's agent; goals: 20 times the first, as fast as the second
catch_up a whole job: a file of 1 GB appears in the work directory, of scalars and of images; how
         long until all its points are in the store; goal: at most 10 s
cost     the agent of a program that writes 1,000 scalars a second into an event file, and of one
         whose file has another name; goals: 3 % of a core, 10 MB
bucket   the same two in a bucket (versitygw's): requests and bytes an hour, and what is kept

`bench/metrics.py reading cost` runs these alone. SECONDS_EACH=60 how long cost and bucket watch,
BUCKET_AFTER=0 how long bucket waits before: after ten minutes a bucket is written to less often.
READ_MB=40 and CATCH_UP_MB=1000 are sizes."""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent
sys.path[0] = str(pathlib.Path(__file__).parents[1])

from test import cloud_env

cloud_env.enter()
from bench.lib.sandbox import BENCH_BIN, Sandbox, cpu_seconds, figure, status_kib
from test import versity_s3
from test.fault_proxy import FaultProxy

RUNS = int(os.environ.get("RUNS", "5"))
SECONDS = float(os.environ.get("SECONDS_EACH", "60"))
AFTER = float(os.environ.get("BUCKET_AFTER", "0"))
READ = int(os.environ.get("READ_MB", "40")) * 1_000_000
CATCH_UP = int(os.environ.get("CATCH_UP_MB", "1000")) * 1_000_000
RATE, TAGS = 1000, 20
FLOOD = BENCH_BIN + "/event_flood"
FILE = "events.out.tfevents.1700000000.host"

# Points, seconds and processor seconds of one EventAccumulator that keeps everything.
ACCUMULATOR = """
import json, sys, time
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
wall, cpu = time.monotonic(), time.process_time()
read = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0}, purge_orphaned_data=False)
read.Reload()
points = sum(len(read.Scalars(tag)) for tag in read.Tags()["scalars"])
print(json.dumps({"points": points, "seconds": time.monotonic() - wall,
                  "cpu": time.process_time() - cpu}))
"""


def environment():
    """TensorBoard's, as test/metrics has it."""
    return cloud_env.folder(str(ROOT.parent / "test/metrics/requirements.txt"), debian=True)


def told(*words):
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)


def write(path, size, image=0):
    return told(FLOOD, "write", path, str(size), str(TAGS), str(image))["points"]


def accumulator(python, folder):
    return told(python, "-c", ACCUMULATOR, folder)


def data_server(binary, folder, points, *words):
    """It says itself how long it read; it goes on serving, and is killed."""
    server = subprocess.Popen(
        [binary, "--logdir", folder, "--port", "0", "--reload", "once", "-v", *words],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    seconds = None
    for line in server.stderr:
        found = re.search(r"Finished load cycle \(([0-9.]+)(µs|ms|s)\)", line)
        if found:
            seconds = float(found[1]) * {"µs": 1e-6, "ms": 1e-3, "s": 1}[found[2]]
            break
    server.kill()
    _, _, usage = os.wait4(server.pid, 0)
    if seconds is None:
        sys.exit("tensorboard-data-server has not read its folder")
    return {"points": points, "seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime}


def reading():
    python = environment() + "/bin/python3"
    server = told(python, "-c", "import json, tensorboard_data_server as s; print(json.dumps(s.server_binary()))")
    with Sandbox() as box:
        folder = box.folder("events")
        points = write(f"{folder}/{FILE}", READ)
        print(f"an event file of {READ / 1e6:.0f} MB, {points} points, {RUNS} times in turn")
        readers = {
            "EventAccumulator": lambda: accumulator(python, folder),
            "tensorboard-data-server": lambda: data_server(server, folder, points),
            "the same, with --checksum": lambda: data_server(server, folder, points, "--checksum"),
            "stoker, which checks, too": lambda: told(FLOOD, "read", folder),
        }
        taken = {name: [] for name in readers}
        for turn in range(RUNS):
            for name, read in readers.items():
                if turn > 0 and name == "EventAccumulator":
                    continue  # it takes long, and its time is steady enough for a ratio of 20
                one = read()
                if one["points"] != points:
                    sys.exit(f"{name} has read {one['points']} points of {points}")
                taken[name].append(one)
        middle = {(name, what): statistics.median(one[what] for one in all_) for name, all_ in taken.items() for what in ("seconds", "cpu")}
        ours = "stoker, which checks, too"
        figure("metrics, reading an event file", [one["seconds"] for one in taken[ours]], "s")
        for name in readers:
            wall, cpu = middle[name, "seconds"], middle[name, "cpu"]
            print(
                f"  {name:28} {points / wall / 1e6:7.3f} M points/s, {wall:7.3f} s, "
                f"CPU {cpu:7.3f} s   stoker: {wall / middle[ours, 'seconds']:6.1f} times as "
                f"fast, {cpu / middle[ours, 'cpu']:6.1f} by CPU"
            )
        print("  (goals: 20 times EventAccumulator, 1 time tensorboard-data-server)", flush=True)


def agent_of(box, job):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if found := box.processes("__agent", job):
            return found[0]
        time.sleep(0.05)
    raise SystemExit("the job has no agent")


class Watched:
    """An agent: processor time and the most memory of its own, from now on."""

    def __init__(self, pid):
        self.pid, self.most = pid, 0
        self.began, self.before = time.monotonic(), cpu_seconds(pid)

    def look(self):
        (anonymous,) = status_kib(self.pid, "RssAnon")
        self.most = max(self.most, anonymous)

    def watch(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.look()
            time.sleep(0.1)
        return self

    @property
    def cpu(self):
        return cpu_seconds(self.pid) - self.before

    @property
    def share(self):
        return 100 * self.cpu / (time.monotonic() - self.began)


def catch_up():
    for what, image in (("scalars", 0), ("images of 512 KiB", 512 << 10)):
        with Sandbox() as box:
            points = write(f"{box.root}/{FILE}", CATCH_UP, image)
            job = box.submit("--", "sh", "-c", "pwd > $0; sleep 600", f"{box.root}/where")
            agent = agent_of(box, job)
            where = pathlib.Path(f"{box.root}/where")
            while not (where.exists() and where.stat().st_size):
                time.sleep(0.05)
            place = where.read_text().strip()
            time.sleep(5)
            watched = Watched(agent)
            os.rename(f"{box.root}/{FILE}", f"{place}/{FILE}")
            totals = pathlib.Path(box.ledger, "jobs", job, "metrics.json")
            while not totals.exists() or in_all(totals) < points:
                watched.look()
                time.sleep(0.02)
                if time.monotonic() - watched.began > 300:
                    sys.exit("it is not caught up within 300 s")
            seconds = time.monotonic() - watched.began
            figure(f"metrics, catching up with {what}", [seconds], "s")
            figure(f"metrics, catching up with {what}, processor", [watched.cpu], "s")
            figure(f"metrics, catching up with {what}, memory", [watched.most / 1000], "MB")
            print(
                f"a file of {CATCH_UP / 1e6:.0f} MB of {what}, {points} points, until all are in "
                f"the store: {seconds:.2f} s, CPU {watched.cpu:.2f} s, "
                f"{watched.most / 1000:.1f} MB of the agent's own   (goal: 10 s)",
                flush=True,
            )
            box.stoker("cancel", job)


def in_all(totals):
    return sum(one["count"] for one in json.loads(totals.read_text())["newest"])


def compare(box, look):
    """look(job) of the program whose event file has another name, and then of itself."""
    found = []
    for name in ("other.bin", FILE):
        job = box.submit("--", FLOOD, "pace", name, str(RATE), str(TAGS), "0")
        found.append(look(job))
        box.stoker("cancel", job)
        while box.processes("__agent", job):
            time.sleep(0.1)
    return found


def cost():
    print(f"the agent of a program that writes {RATE} scalars a second, {SECONDS:.0f} s each")
    with Sandbox() as box:

        def look(job):
            agent = agent_of(box, job)
            time.sleep(5)
            watched = Watched(agent).watch(SECONDS)
            return watched.share, watched.most / 1000

        (cpu, memory), (cpu_with, memory_with) = compare(box, look)
        figure("metrics, agent's processor beside them", [cpu_with], "%")
        figure("metrics, agent's memory beside them", [memory_with], "MB")
        print(f"  the file has another name  {cpu:5.2f} % of a core, {memory:5.1f} MB of its own")
        print(f"  an event file              {cpu_with:5.2f} % of a core, {memory_with:5.1f} MB")
        print(
            f"  metrics cost               {cpu_with - cpu:5.2f} %, {memory_with - memory:.1f} MB   (goals: at most 3 %, 10 MB)", flush=True
        )


def bucket():
    print(f"the same beside a bucket, an hour, out of {SECONDS:.0f} s after {10 + AFTER:.0f} s")
    with versity_s3.VersityS3() as server, FaultProxy(server.endpoint, seed=1) as proxy:
        with Sandbox() as box:
            box.env.update({**server.env(proxy.endpoint), "AWS_EC2_METADATA_DISABLED": "true"})
            box.stoker("config", "set", "store", f"s3://{versity_s3.BUCKET}/bench")

            def look(job):
                agent = agent_of(box, job)
                time.sleep(10 + AFTER)
                before, watched = proxy.told(), Watched(agent)
                watched.watch(SECONDS)
                after, hours = proxy.told(), SECONDS / 3600
                return tuple(
                    {k: (n - before[kind].get(k, 0)) / hours for k, n in after[kind].items()} for kind in ("requests", "bytes")
                ) + (watched.share, watched.most / 1000)

            plain, with_metrics = compare(box, look)
            for name, (requests, size, cpu, memory) in (("another name", plain), ("an event file", with_metrics)):
                kinds = ", ".join(f"{k} {n:.0f}" for k, n in sorted(requests.items()) if n)
                print(
                    f"  {name:14} {sum(requests.values()):5.0f} requests/h ({kinds}), "
                    f"{sum(size.values()) / 1e6:.2f} MB/h; agent {cpu:.2f} %, "
                    f"{memory:.1f} MB"
                )
            figure("metrics, requests an hour beside them", [sum(with_metrics[0].values())], "")
            figure("metrics, bytes an hour beside them", [sum(with_metrics[1].values()) / 1e6], "MB")
            more = [sum(with_metrics[i].values()) - sum(plain[i].values()) for i in (0, 1)]
            print(
                f"  metrics cost   {more[0]:5.0f} requests/h, {more[1] / 1e6:.2f} MB/h; agent "
                f"{with_metrics[2] - plain[2]:.2f} %, {with_metrics[3] - plain[3]:.1f} MB",
                flush=True,
            )


def main():
    parts = {"reading": reading, "catch_up": catch_up, "cost": cost, "bucket": bucket}
    for name in sys.argv[1:] or parts:
        parts[name]()


main()
