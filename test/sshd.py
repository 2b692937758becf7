# SPDX-License-Identifier: Apache-2.0
"""A real sshd (openssh-server) for tests, with a home folder, a queue and devices of its own, and a
real ssh whose configuration names it: what a pool's box is. Several of them may be on one machine,
on ports of its loopback, or each in namespaces of its own (kit/apart.py)."""

import ctypes
import getpass
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
SSH = shutil.which("ssh") or "/usr/bin/ssh"
PATIENCE = 60.0  # seconds for the start


def end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def keygen(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)


class Sshd:
    """`wrap`: words before a command that is to run where the box is; `env`: of all its sessions,
    STOKER_CAPACITY among them: the devices that it says it has."""

    def __init__(self, root, name, env=None, host="127.0.0.1", port=None, wrap=()):
        self.name, self.host, self.wrap = name, host, list(wrap)
        self.port = port or free_port()
        self.root = pathlib.Path(root) / name
        self.home = self.root / "home"
        self.home.mkdir(parents=True)
        self.env = {
            "HOME": str(self.home),
            "STOKER_QUEUE": str(self.root / "queue"),
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin",
            **(env or {}),
        }
        keygen(self.root / "host_key")
        self.process = None

    @property
    def state(self):
        return self.home / ".local" / "share" / "stoker"

    def instances(self):
        folder = self.state / "instances"
        return sorted(p.name for p in folder.glob("*")) if folder.is_dir() else []

    def start(self, authorized):
        config = self.root / "sshd_config"
        env = " ".join(f'"{name}={value}"' for name, value in self.env.items())
        config.write_text(
            f"Port {self.port}\nListenAddress {self.host}\nHostKey {self.root}/host_key\n"
            f"AuthorizedKeysFile {authorized}\nPidFile none\nUsePAM no\nStrictModes no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n"
            f"MaxStartups 100\nMaxSessions 100\nLogLevel ERROR\nSetEnv {env}\n"
        )
        if os.geteuid() == 0:
            # As its service does when it starts: root's sshd wants it, and here nothing has.
            os.makedirs("/run/sshd", 0o755, exist_ok=True)
        with open(self.root / "sshd.log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.wrap, SSHD, "-D", "-e", "-f", str(config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=end_with_parent,
            )
        end = time.monotonic() + PATIENCE
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("sshd did not start: " + (self.root / "sshd.log").read_text())
            time.sleep(0.05)

    def answers(self):
        probe = [
            "-c",
            "import socket,sys; s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 1); sys.exit(s.recv(4) != b'SSH-')",
        ]
        done = subprocess.run([*self.wrap, "python3", *probe, self.host, str(self.port)], capture_output=True)
        return done.returncode == 0

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


class Client:
    """Who may log in to the boxes: a key, and an ssh in the folder `bin` that knows their names."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.root.mkdir(parents=True, exist_ok=True)
        self.key = self.root / "id"
        keygen(self.key)
        self.authorized = self.root / "id.pub"
        self.config = self.root / "config"
        self.config.write_text(f"Host *\n  IdentityFile {self.key}\n  IdentitiesOnly yes\n  UserKnownHostsFile {self.root}/known_hosts\n")
        self.bin = self.root / "bin"
        self.bin.mkdir()
        wrapper = self.bin / "ssh"
        wrapper.write_text(f'#!/bin/sh\nexec {SSH} -F {self.config} "$@"\n')
        wrapper.chmod(0o755)

    def know(self, box):
        with self.config.open("a") as config:
            config.write(
                f"Host {box.name}\n  HostName {box.host}\n  Port {box.port}\n  User {getpass.getuser()}\n  HostKeyAlias {box.name}\n"
            )
        public = (box.root / "host_key.pub").read_text().split()
        with (self.root / "known_hosts").open("a") as known:
            known.write(f"{box.name} {public[0]} {public[1]}\n")
