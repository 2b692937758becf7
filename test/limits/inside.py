# SPDX-License-Identifier: Apache-2.0
"""What limits.py has done inside its machine: jobs, and one line of JSON for each to the console.

inside.py root | user | bare      root's; under a scope that is delegated; in a service"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

STOKER = "/usr/local/bin/stoker"
FILL = """
import sys, time
held = [b'x' * (1 << 20) for _ in range(int(sys.argv[1]))]
print('held', len(held), flush=True)
"""
# The one that takes too much is a child, and its parent would not mind.
CHILD = 'python3 fill.py 400; echo "went on"; exit 0'
BUSY = """
import os, sys, time
# What the kernel lets it have, which no neighbour of this machine changes.
most, path = 'any', '/sys/fs/cgroup' + open('/proc/self/cgroup').read().strip().split('::', 1)[1]
while path.startswith('/sys/fs/cgroup'):
    if os.path.exists(path + '/cpu.max'):
        quota, period = open(path + '/cpu.max').read().split()
        if quota != 'max':
            most = str(int(quota) / int(period))
    path = os.path.dirname(path)
print('most', most, flush=True)
begun = time.monotonic()
children = []
for _ in range(2):
    child = os.fork()
    if not child:
        while time.monotonic() - begun < 6:
            pass
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
used = os.times()
print('cpus', (used.children_user + used.children_system) / (time.monotonic() - begun), flush=True)
"""
ASKED = ("--memory", "100MB", "--cpus", "1")


def groups():
    return [str(path) for path in pathlib.Path("/sys/fs/cgroup").rglob("stoker-*")]


class Inside:
    def __init__(self, who):
        self.who = who
        self.work = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
        (self.work / "fill.py").write_text(FILL)
        (self.work / "busy.py").write_text(BUSY)
        self.env = {"HOME": str(self.work), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "NO_COLOR": "1"}

    def stoker(self, *words):
        return subprocess.run(
            [STOKER, *words],
            cwd=self.work,
            env=self.env,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
        )

    def say(self, what, **facts):
        # Each line is whole; what the kernel says meanwhile has lines of its own.
        text = "RESULT " + json.dumps({"who": self.who, "what": what, **facts})
        with open("/dev/ttyS0" if os.access("/dev/ttyS0", os.W_OK) else "/dev/stdout", "w") as out:
            out.write(f"\n{text}\n")

    def job(self, what, *words, flags=ASKED):
        ran = self.stoker("run", "--infra", "local", "--max-restarts", "0", *flags, "--", *words)
        job = re.search(r"^stoker: job ([a-z0-9]{8}) ", ran.stdout, re.M)[1]
        shown = json.loads(self.stoker("show", job, "--json").stdout)["job"]
        log = self.stoker("logs", job, "--json").stdout
        lines = [json.loads(line) for line in log.splitlines()]
        last = shown["attempts"][-1]
        self.say(
            what,
            state=shown["state"],
            ending=last["ending"],
            code=ran.returncode,
            out=[line["text"] for line in lines if line.get("stream") == "o"],
            said=[line["text"] for line in lines if "enforced" in line.get("text", "")],
            run=ran.stdout[-600:],
        )

    def all(self):
        doctor = self.stoker("doctor")
        self.say(
            "doctor",
            limits=[each for each in doctor.stdout.splitlines() if "limits" in each],
            own=pathlib.Path("/proc/self/cgroup").read_text().strip(),
        )
        self.job("fits", "python3", "fill.py", "40")
        self.job("over", "python3", "fill.py", "400")
        if self.who == "bare":
            return
        self.job("child", "sh", "-c", CHILD)
        for ending in ("cgroup", "subreaper"):
            self.job(f"over by {ending}", "python3", "fill.py", "400", flags=(*ASKED, "--ending", ending))
        self.job("one cpu", "python3", "busy.py")
        self.job("all cpus", "python3", "busy.py", flags=())
        self.job("not asked", "python3", "fill.py", "400", flags=())
        end = time.monotonic() + 20
        while groups() and time.monotonic() < end:
            time.sleep(0.2)
        self.say("left", groups=groups())


if __name__ == "__main__":
    Inside(sys.argv[1]).all()
