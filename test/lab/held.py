# SPDX-License-Identifier: Apache-2.0
"""The processes of a room: by its cgroup, where systemd is its first process; where it is not
(BARE), by its UTS namespace, which nothing in it leaves (programs may have pids of their own)."""

import os
import pathlib
import time

BARE = "STOKER_LAB_BARE"  # set: rooms boot without systemd


def bare():
    return bool(os.environ.get(BARE))


def cgroups():
    """Where version 2 of them is mounted."""
    with open("/proc/self/mounts", encoding="utf-8") as source:
        found = [line.split()[1] for line in source if line.split()[2] == "cgroup2"]
    if not found:
        raise RuntimeError("no cgroup2 is mounted on this machine")
    return pathlib.Path(found[0])


def remove_cgroups(top):
    for folder, _, _ in os.walk(top, topdown=False):
        os.rmdir(folder)


def is_agent(pid):
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"__agent" in words[:3]


def of_room(top, name):
    """Of the room `name` of a cloud whose own folder in cgroups, if it has one, is `top`."""
    return ByNamespace() if bare() else ByCgroup(cgroups() / top / name)


class ByCgroup:
    bare = False

    def __init__(self, cgroup):
        self.cgroup = cgroup

    def prepare(self):
        self.cgroup.mkdir(parents=True, exist_ok=True)

    def enter(self):
        """Called by the process that goes in."""
        (self.cgroup / "cgroup.procs").write_text(str(os.getpid()))

    def found(self, init):
        """`init` is the room's first process."""

    def listed(self):
        found = []
        for folder, _, _ in os.walk(self.cgroup):
            try:
                pids = (pathlib.Path(folder) / "cgroup.procs").read_text().split()
            except OSError:
                continue
            found += [(int(pid), folder) for pid in pids]
        return found

    def pids(self):
        return [pid for pid, _ in self.listed()]

    def agent(self):
        found = [pid for pid, folder in self.listed() if folder.endswith("/stoker-agent.service") and is_agent(pid)]
        return found[0] if found else None

    def wait_for_the_last(self):
        """The last of its processes, and their cgroups, go a moment after the first."""
        for _ in range(200):
            try:
                remove_cgroups(self.cgroup)
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"processes are left in {self.cgroup}")


class ByNamespace:
    bare = True

    def __init__(self):
        self.space = None  # kept open, so that no later one has its number

    def prepare(self):
        if self.space is not None:
            os.close(self.space)
            self.space = None

    def enter(self):
        """Nothing: it makes its namespaces itself."""

    def found(self, init):
        self.space = os.open(f"/proc/{init}/ns/uts", os.O_RDONLY | os.O_CLOEXEC)

    def pids(self):
        if self.space is None:
            return []
        number = os.fstat(self.space).st_ino
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.stat(f"/proc/{name}/ns/uts").st_ino == number:
                    found.append(int(name))
            except OSError:
                continue  # it has just ended
        return sorted(found)

    def agent(self):
        return next((pid for pid in self.pids() if is_agent(pid)), None)

    def wait_for_the_last(self):
        for _ in range(200):
            if not self.pids():
                return
            time.sleep(0.05)
        raise RuntimeError(f"processes are left: {self.pids()}")
