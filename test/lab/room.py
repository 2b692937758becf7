# SPDX-License-Identifier: Apache-2.0
"""One machine that really boots: systemd as its first process (by an ordinary user, bare_init.py),
and cloud-init or Google's guest agent as Debian ships them, in namespaces. Its disk is a folder
over the tree of base_tree.py and outlives a stop; its wire ends at the bridge of the lab's network;
its metadata service is at 169.254.169.254, on its own loopback."""

import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

from test.lab.port22 import Port22
from test.lab.web import Server

HERE = pathlib.Path(__file__).parent
BRIDGE = "lab"
METADATA = "169.254.169.254"
CLONE_NEWNET = 0x40000000
NAMESPACES = "--net --cgroup --mount --uts --ipc --pid --fork --kill-child=KILL".split()
POWER_BUTTON = signal.SIGRTMIN + 4  # systemd's, in a container
libc = ctypes.CDLL(None, use_errno=True)


def run(*words):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")


def bridge(gate):
    """In the lab's own network: a cloud's machines see the lab at this address."""
    run("ip", "link", "set", "lo", "up")
    if BRIDGE not in [name for _, name in socket.if_nameindex()]:
        run("ip", "link", "add", BRIDGE, "type", "bridge")
    run("ip", "addr", "add", f"{gate}/16", "dev", BRIDGE)
    run("ip", "link", "set", BRIDGE, "up")
    # Who calls anywhere else is told at once that there is no way.
    pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def socket_inside(pid, kind=socket.SOCK_STREAM):
    """A socket of the network of `pid`: threads can be in networks of their own."""
    made = []

    def inside():
        with open(f"/proc/{pid}/ns/net", "rb") as there:
            if libc.setns(there.fileno(), CLONE_NEWNET):
                made.append(OSError(ctypes.get_errno(), "setns"))
                return
        made.append(socket.socket(type=kind))

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    if not made or isinstance(made[0], OSError):
        raise made[0] if made else RuntimeError("no socket inside")
    return made[0]


def listen_inside(pid, address, kind=socket.SOCK_STREAM):
    made = socket_inside(pid, kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(address)
    return made


class Cloud:
    """What rooms of one cloud have in common. `boots`: what its images run at each boot, in
    bare_init.py's words; `dress(disk, instance)` writes on a disk before its first boot;
    `hypervisor`: what /sys/hypervisor/uuid says; `names(room, socket)` answers for names on a
    socket inside; `lets_in(instance, address)`: may that address come to port 22?"""

    def __init__(self, gate, host_name, boots, dress=None, hypervisor="", names=None, lets_in=None):
        self.boots = boots
        self.gate = gate  # the lab, as rooms see it
        self.host_name = host_name  # of an instance
        self.dress = dress
        self.hypervisor = hypervisor
        self.names = names
        self.lets_in = lets_in


class Room:
    """`folder` is its disk and console; `held` has its processes (held.py); `metadata` answers as a
    handler of web.py does; `disk`: how much it may write ("6g"), else what this machine has."""

    def __init__(self, folder, tree, instance, held, metadata, cloud, disk=""):
        self.folder = pathlib.Path(folder)
        self.tree = tree
        self.instance = instance
        self.held = held
        self.metadata = metadata
        self.cloud = cloud
        self.wire = "w-" + instance.id[-10:]
        self.more = []  # of room.sh's options
        self.process = None
        self.pressed = None  # when its power button was
        self.killed = False  # whether its power was taken since it booted last
        self.port22 = None
        self.folder.mkdir(parents=True, exist_ok=True)
        if disk:
            run("mount", "-t", "tmpfs", "-o", f"size={disk},mode=755", "tmpfs", self.folder)
        for name in ("disk", "root"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        if cloud.dress:
            cloud.dress(self.folder / "disk", instance)

    def boot(self):
        """Its processes run when this returns."""
        run("rm", "-rf", self.folder / "work")
        (self.folder / "work").mkdir()
        (self.folder / "console").write_bytes(b"")
        self.pressed, self.killed = None, False
        self.held.prepare()
        name = self.cloud.host_name(self.instance)
        self.process = subprocess.Popen(
            [
                "unshare",
                *NAMESPACES,
                "--propagation",
                "private",
                "bash",
                HERE / "room.sh",
                self.folder,
                self.tree,
                name,
                self.cloud.hypervisor,
                *(["-b", self.cloud.boots] if self.held.bare else []),
                *self.more,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=self.enter,
        )
        first = self.process.stdout.readline()
        if first != b"here\n":
            raise RuntimeError(f"no room: {first}")
        self.connect()
        init = self.init()
        self.held.found(init)
        self.servers = [Server(self.metadata, bound=listen_inside(init, (METADATA, 80)))]
        if self.cloud.names:
            socket_of_names = listen_inside(init, (METADATA, 53), socket.SOCK_DGRAM)
            self.servers.append(self.cloud.names(self, socket_of_names))
        if self.cloud.lets_in:
            self.port22 = Port22(self, listen_inside(init, (self.instance.address, 22)), lambda: socket_inside(init))
            self.servers.append(self.port22)
        self.process.stdin.write(b"\n")
        self.process.stdin.close()

    def enter(self):
        libc.prctl(1, signal.SIGKILL)  # it ends with the lab
        self.held.enter()

    def init(self):
        """Its first process, by our count."""
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return int(pathlib.Path(path).read_text().split()[0])

    def connect(self):
        pid = self.init()
        run("ip", "link", "add", self.wire, "type", "veth", "peer", "name", "eth0", "netns", pid)
        run("ip", "link", "set", self.wire, "master", BRIDGE, "up")
        inside = ["nsenter", "-t", pid, "-n", "ip"]
        run(*inside, "link", "set", "lo", "up")
        run(*inside, "addr", "add", f"{METADATA}/32", "dev", "lo")
        run(*inside, "link", "set", "eth0", "address", self.instance.mac, "up")
        run(*inside, "addr", "add", f"{self.instance.address}/16", "dev", "eth0")
        run(*inside, "route", "add", "default", "via", self.cloud.gate)

    def wait(self):
        """Until it is off. True: it wants to boot again."""
        said = self.process.stdout.read()
        code = self.process.wait()
        with open(self.folder / "ended", "a", encoding="utf-8") as out:
            out.write(f"{time.time()} {code} {said.decode(errors='replace')}\n")
        self.process.stdout.close()
        for each in self.servers:
            each.end()
        self.held.wait_for_the_last()
        return code == -signal.SIGHUP

    def press(self):
        self.pressed = time.time()
        os.kill(self.init(), POWER_BUTTON)

    def kill(self):
        self.killed = True
        self.process.kill()

    def pids(self):
        """All its processes, by our count."""
        return self.held.pids()

    def agent(self):
        """stoker's, or None."""
        return self.held.agent()

    def journal(self):
        """What its services have said: without systemd they say it on the console."""
        if self.held.bare:
            return self.console()
        kept = (self.folder / "disk").glob("var/log/journal/*/*.journal")
        return b"".join(each.read_bytes() for each in kept)

    def console(self):
        try:
            return (self.folder / "console").read_bytes()
        except OSError:
            return b""
