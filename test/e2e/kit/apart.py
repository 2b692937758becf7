# SPDX-License-Identifier: Apache-2.0
"""Machines that share nothing but what they reach over their one wire: network, mount, process,
host name and boot of their own, as root or, in a user namespace, as anybody.

The test itself is the place where the wires end: enter() once, before anything else. Each Machine
is 10.77.N.2, sees the test at 10.77.N.1, and has no way to any other."""

import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

USER = "STOKER_TEST_APART"  # set inside: who entered


def enter():
    """Goes on in namespaces of its own; returns there."""
    if os.environ.get(USER):
        run("ip", "link", "set", "lo", "up")
        return
    words = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        words += ["--user", "--map-root-user"]
    os.environ[USER] = str(os.geteuid())
    os.execvp("unshare", [*words, sys.executable, *sys.argv])


def run(*words):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")


def end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Machine:
    """`hidden`: folders that it must not see."""

    def __init__(self, number, name, scratch, hidden=()):
        self.name = name
        self.here, self.there = f"10.77.{number}.1", f"10.77.{number}.2"
        words = "--net --mount --uts --ipc --pid --fork --kill-child --mount-proc".split()
        self.holder = subprocess.Popen(["unshare", *words, "sleep", "infinity"], preexec_fn=end_with_parent)
        self.pid = self.child()
        self.wire(number)
        boot = pathlib.Path(scratch) / f"boot-{name}"
        boot.write_text(f"{number:08x}-0000-4000-8000-000000000000\n")
        self.inside("hostname", name)
        self.inside("mount", "--bind", boot, "/proc/sys/kernel/random/boot_id")
        for folder in hidden:
            self.inside("mount", "-t", "tmpfs", "nothing", folder)

    def child(self):
        path = pathlib.Path(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children")
        end = time.monotonic() + 20
        while time.monotonic() < end:
            found = path.read_text().split()
            if found and pathlib.Path(f"/proc/{found[0]}/cmdline").read_bytes()[:5] == b"sleep":
                return found[0]
            time.sleep(0.02)
        raise RuntimeError("no namespaces: are user namespaces allowed on this machine?")

    def wire(self, number):
        run("ip", "link", "add", f"wire{number}", "type", "veth", "peer", "name", "eth0", "netns", self.pid)
        run("ip", "addr", "add", f"{self.here}/24", "dev", f"wire{number}")
        run("ip", "link", "set", f"wire{number}", "up")
        self.inside("ip", "addr", "add", f"{self.there}/24", "dev", "eth0")
        self.inside("ip", "link", "set", "eth0", "up")
        self.inside("ip", "link", "set", "lo", "up")

    @property
    def wrap(self):
        """What to put before a command that is to run on it."""
        return ["nsenter", "--target", self.pid, "--net", "--mount", "--uts", "--ipc", "--pid"]

    def inside(self, *words):
        run(*self.wrap, "--", *words)

    def reaches(self, address, port):
        """Whether a connection from it can be made."""
        asked = subprocess.run(
            [
                *self.wrap,
                "--",
                sys.executable,
                "-c",
                "import socket, sys\nsocket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=2)",
                address,
                str(port),
            ],
            capture_output=True,
        )
        return asked.returncode == 0

    def listens(self):
        """A port on which something on it listens, until the test ends."""
        with socket.socket() as free:
            free.bind(("", 0))
            port = free.getsockname()[1]
        subprocess.Popen(
            [*self.wrap, "--", sys.executable, "-m", "http.server", str(port)],
            preexec_fn=end_with_parent,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + 20
        while not self.reaches(self.there, port) and time.monotonic() < end:
            time.sleep(0.1)
        return port

    def close(self):
        """Whatever runs on it ends with it."""
        self.holder.kill()
        self.holder.wait()
