#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the agent itself takes: memory while a program prints 100,000 lines a second (goal: at most
20 MB resident), and processor time while a program sleeps, against the simplest supervisor in
Python that copies the program's output into a file. And `stoker logs -f` against `tail -f`."""

import os
import pathlib
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[1])

from bench.lib.sandbox import BENCH_BIN, STOKER, Sandbox, cpu_seconds, figure, status_kib

SECONDS = float(os.environ.get("SECONDS_EACH", "8"))
SUPERVISOR = """import subprocess, sys
program = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE)
with open(sys.argv[1], "ab") as log:
    for line in program.stdout: log.write(line)
"""


class Watched:
    """Processes whose memory and processor time are watched for a while."""

    def __init__(self, pids):
        self.pids = pids
        self.rss = dict.fromkeys(pids, 0)
        self.anonymous = dict(self.rss)
        self.began = time.monotonic()
        self.cpu_before = {pid: cpu_seconds(pid) for pid in pids}

    def watch(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for pid in self.pids:
                rss, anonymous = status_kib(pid, "VmRSS", "RssAnon")
                self.rss[pid] = max(self.rss[pid], rss)
                self.anonymous[pid] = max(self.anonymous[pid], anonymous)
            time.sleep(0.1)
        passed = time.monotonic() - self.began
        self.cpu = {pid: 100 * (cpu_seconds(pid) - self.cpu_before[pid]) / passed for pid in self.pids}
        return self

    def say(self, name, pid):
        own = f"{self.anonymous[pid] / 1000:5.1f} MB of it its own"
        print(f"  {name:<26} {self.rss[pid] / 1000:6.1f} MB resident, {own}   {self.cpu[pid]:6.2f} % of a core", flush=True)
        return self.rss[pid], self.cpu[pid]


def first_of(box, role, job=None):
    return box.processes(role, job)[0]


def compare(title, box, program, goal):
    print(f"{title}, watched for {SECONDS:.0f} s")
    plain = subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, box.root + "/plain.log", *program], cwd=box.work, env=box.env, start_new_session=True
    )
    time.sleep(1)
    tail = subprocess.Popen(["tail", "-n", "1", "-f", box.root + "/plain.log"], stdout=subprocess.PIPE)
    reader = subprocess.Popen(["cat"], stdin=tail.stdout, stdout=subprocess.DEVNULL)
    watched = Watched([plain.pid, tail.pid]).watch(SECONDS)
    memory, _ = watched.say("supervisor in Python", plain.pid)
    watched.say("tail -f", tail.pid)
    os.killpg(plain.pid, 9)
    for process in (plain, tail, reader):
        process.kill()
        process.wait()
    job = box.submit("--", *program)
    time.sleep(2)
    agent, machine = first_of(box, "__agent", job), first_of(box, "__machine", job)
    init = first_of(box, "__init")
    watched = Watched([agent, machine, init]).watch(SECONDS)
    rss, cpu = watched.say("stoker's agent", agent)
    figure(f"agent, resident; {title}", [rss / 1000], "MB")
    figure(f"agent, processor; {title}", [cpu], "%")
    watched.say("stoker's machine process", machine)
    watched.say("stoker's init of the task", init)
    follower = subprocess.Popen(
        [STOKER, "logs", "-f", "--since", "1s", job], env=box.env, cwd=box.work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(2)
    watched = Watched([agent, follower.pid]).watch(SECONDS)
    watched.say("stoker's agent, followed", agent)
    watched.say("stoker logs -f", follower.pid)
    follower.kill()
    follower.wait()
    print(f"  ratio of the agent to the supervisor in Python: memory {rss / memory:.2f}   (goal: {goal})", flush=True)
    box.stoker("cancel", job)


def main():
    with Sandbox() as box:
        flood = [BENCH_BIN + "/log_flood", "produce", "1000000000", "100000", "100", "/dev/null"]
        compare("a program that prints 100,000 lines a second", box, flood, "agent at most 20 MB resident")
        compare("a program that sleeps", box, ["sh", "-c", "echo begun; sleep 600"], "agent at most 20 MB resident, 1 % of a core")


main()
