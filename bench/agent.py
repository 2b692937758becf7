#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the agent itself takes: memory while a program prints 100,000 lines a second (goal: at most
20 MB resident), and processor time while a program sleeps, against the simplest supervisor in
Python that copies the program's output into a file. And `stoker logs -f` against `tail -f`."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from sandbox import BENCH_BIN, STOKER, Sandbox, cpu_seconds, status_kib  # noqa: E402

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
        self.rss = {pid: 0 for pid in pids}
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
        self.cpu = {pid: 100 * (cpu_seconds(pid) - self.cpu_before[pid]) / passed
                    for pid in self.pids}
        return self

    def say(self, name, pid):
        print(f"  {name:<26} {self.rss[pid] / 1000:6.1f} MB resident, {self.anonymous[pid] / 1000:5.1f}"
              f" MB of it its own   {self.cpu[pid]:6.2f} % of a core", flush=True)
        return self.rss[pid], self.cpu[pid]


def supervised(box, program):
    process = subprocess.Popen([sys.executable, "-c", SUPERVISOR, box.root + "/plain.log", *program],
                               cwd=box.work, env=box.env, start_new_session=True)
    time.sleep(1)
    watched = Watched([process.pid]).watch(SECONDS)
    os.killpg(process.pid, 9)
    process.wait()
    return watched.say("supervisor in Python", process.pid)


def compare(title, box, program, goal):
    print(title)
    plain = supervised(box, program)
    job = box.submit("--", *program)
    time.sleep(2)
    agent = box.processes("__agent", job)[0]
    machine = box.processes("__machine", job)[0]
    init = [pid for pid in box.processes("__init")
            if pid != agent and pid != machine][0]
    follower = subprocess.Popen([STOKER, "logs", "-f", job], env=box.env, cwd=box.work,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    tail = subprocess.Popen(["tail", "-n", "+1", "-f", box.root + "/plain.log"],
                            stdout=subprocess.DEVNULL)
    alone = Watched([agent, machine, init])
    time.sleep(0.5)
    both = Watched([follower.pid, tail.pid])
    alone.watch(SECONDS)
    both.watch(0.1)
    rss, cpu = alone.say("stoker's agent, followed", agent)
    alone.say("stoker's machine process", machine)
    alone.say("stoker's init of the task", init)
    both.say("tail -f", tail.pid)
    both.say("stoker logs -f", follower.pid)
    tail.kill()
    follower.kill()
    tail.wait()
    follower.wait()
    quiet = Watched([agent]).watch(SECONDS)
    quiet.say("stoker's agent, unfollowed", agent)
    print(f"  ratio of the agent to the supervisor in Python: memory {rss / plain[0]:.2f}"
          f"   (goal: {goal})", flush=True)
    box.stoker("cancel", job)


def main():
    with Sandbox() as box:
        flood = [BENCH_BIN + "/log_flood", "produce", "1000000000", "100000", "100", "/dev/null"]
        compare(f"a program that prints 100,000 lines a second, watched for {SECONDS:.0f} s", box,
                flood, "agent at most 20 MB resident")
        compare("a program that sleeps", box, ["sh", "-c", "echo begun; sleep 600"],
                "agent at most 20 MB resident, 1 % of a core")


main()
