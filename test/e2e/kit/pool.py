# SPDX-License-Identifier: Apache-2.0
"""A pool of boxes: each a real sshd in network, mount, process and host name spaces of its own
(apart.py), with a home folder that the others do not see, and as many GPUs as STOKER_CAPACITY says
there: the devices are stood in for, and a job is given numbers, as with real ones. They share a
bucket, and nothing else but `evidence`, where programs leave what the tests judge by.

Whoever submits is where the wires end. A box is rebooted by ending its process namespace, so that
nothing of it lives on, and starting anew with another boot id; it is cut off by taking its wire
down."""

import os
import pathlib
import subprocess
import time

from test import sshd
from test.e2e.kit import apart
from test.e2e.kit.harness import World

STORE_FOLDER = "team"


class Box(apart.Machine):
    def __init__(self, number, scratch, client, env):
        self.number, self.scratch, self.client = number, pathlib.Path(scratch), client
        self.boots = 0
        self.env = env
        self.sshd = sshd.Sshd(scratch, f"box{number}", env, host=f"10.77.{number}.2", port=22)
        client.know(self.sshd)
        self.boot()

    def boot(self):
        self.boots += 1
        number, name = self.number, f"box{self.number}"
        super().__init__(number, name, self.scratch)
        boot = self.scratch / f"boot-{name}-{self.boots}"
        boot.write_text(f"{number:08x}-0000-4000-8000-{self.boots:012x}\n")
        self.inside("mount", "--bind", boot, "/proc/sys/kernel/random/boot_id")
        self.inside("ip", "route", "add", "default", "via", self.here)
        self.inside("mount", "-t", "tmpfs", "nothing", "/run")
        self.inside("mkdir", "-m", "755", "/run/sshd")
        for other in self.scratch.glob("box*"):
            if other.name != name and other.is_dir():
                self.inside("mount", "-t", "tmpfs", "nothing", other)
        self.sshd.wrap = [*self.wrap, "--"]
        self.sshd.start(self.client.authorized)

    def reboot(self):
        self.sshd.stop()
        self.close()
        # The kernel takes it away with the namespace, some time later.
        wire = f"wire{self.number}"
        subprocess.run(["ip", "link", "del", wire], capture_output=True)
        end = time.monotonic() + 20
        while pathlib.Path(f"/sys/class/net/{wire}").exists() and time.monotonic() < end:
            time.sleep(0.05)
        self.boot()

    def cut(self, off):
        apart.run("ip", "link", "set", f"wire{self.number}", "down" if off else "up")

    def processes(self):
        """Of stoker on it, but for sessions: pids as the test sees them."""
        space = os.stat(f"/proc/{self.pid}/ns/pid").st_ino
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                inside = os.stat(f"/proc/{pid}/ns/pid_for_children").st_ino == space
            except OSError:
                continue
            verbs = (b"__machine", b"__agent", b"__waiter", b"__init")
            if inside and any(word in verbs for word in words):
                found.append(int(pid))
        return found


class Pool:
    """Boxes box1 … boxN, and what submitters need to use them."""

    def __init__(self, server, scratch, boxes=3, capacity="cpus=8 memory=0 gpus=2 name=L4", more=None):
        """`more`: variables of all sessions on the boxes."""
        self.server = server
        self.scratch = pathlib.Path(scratch)
        self.store = f"s3://{server.bucket}/{STORE_FOLDER}"
        self.client = sshd.Client(self.scratch / "client")
        pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1\n")
        env = more or {}
        port = server.endpoint.rsplit(":", 1)[1]
        numbers = range(1, boxes + 1)
        for number in numbers:  # all are there before one hides the others
            (self.scratch / f"box{number}").mkdir(exist_ok=True)
        self.boxes = [
            Box(number, self.scratch, self.client, {"STOKER_CAPACITY": capacity, **server.env(f"http://10.77.{number}.1:{port}"), **env})
            for number in numbers
        ]

    def submitter(self, name):
        world = World(name)
        world.env.update(self.server.env())
        world.env["PATH"] = f"{self.client.bin}:{world.env['PATH']}"
        world.stoker("config", "set", "store", self.store, check=True)
        hosts = ",".join(box.name for box in self.boxes)
        world.stoker("config", "set", "pools.lab", hosts, check=True)
        return world

    def close(self):
        for box in self.boxes:
            box.sshd.stop()
            box.close()
