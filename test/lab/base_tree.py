# SPDX-License-Identifier: Apache-2.0
"""The disk that every room begins with: Debian 12 with systemd, cloud-init, sshd and Google's guest
agent, made once under $XDG_CACHE_HOME/stoker-test. It takes a minute and 500 MB, and root, or what
user_space.py gives an ordinary user. It has host keys of its own, as an image has that somebody
made of a machine.

With STOKER_LAB_IMAGE=vendor it is as bare as the images of the vendors: of Python nothing but
python3, so no venv, no ensurepip, no pip; and disks of rooms are small (room.py). With
STOKER_LAB_IMAGE=engines it has podman, too."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys

from test.cloud_env import cache_root
from test.lab import user_space

PACKAGES = (
    "ca-certificates,iproute2,procps,curl,busybox-static,python3,cloud-init,systemd,systemd-sysv,"
    "dbus,google-guest-agent,openssh-server,sudo"
)
# What an image has besides that somebody made for training.
MORE = "python3-venv,python3-setuptools,git"
VENDOR, ENGINES = "vendor", "engines"
# What looks for hardware, or would start while a test runs.
MASKED = (
    "console-getty.service",
    "getty@tty1.service",
    "systemd-logind.service",
    "systemd-udevd.service",
    "systemd-udev-trigger.service",
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    # Rooms of Google have its scripts' units again (gce_rooms.py).
    "google-guest-agent.service",
    "google-startup-scripts.service",
    "google-shutdown-scripts.service",
)
APART = "unshare --mount --pid --fork --kill-child --mount-proc".split()
CLOUD = """datasource_list: [ Ec2 ]
datasource:
  Ec2:
    strict_id: false
    timeout: 5
    max_wait: 20
network: {config: disabled}
ssh_genkeytypes: [ed25519]
"""
# Who comes from outside comes by port22.py.
SSHD = """ListenAddress 127.0.0.1
AuthorizedKeysCommand /usr/bin/instance-connect-keys %u
AuthorizedKeysCommandUser nobody
"""
# As images that have EC2 Instance Connect; Amazon's own verifies a signature, too.
CONNECT = """#!/bin/sh
there=http://169.254.169.254/latest
token=$(curl -sf -m 5 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' $there/api/token) || exit
exec curl -sf -m 5 -H "X-aws-ec2-metadata-token: $token" \\
  "$there/meta-data/managed-ssh-keys/active-keys/$1/"
"""

FILES = {
    "etc/cloud/cloud.cfg.d/90_lab.cfg": CLOUD,
    "etc/resolv.conf": "nameserver 127.0.0.1\n",  # it refuses at once
    "etc/hosts": "127.0.0.1 localhost\n",
    "etc/ssh/sshd_config.d/lab.conf": SSHD,
    "usr/bin/instance-connect-keys": CONNECT,
}
PROGRAMS = ("usr/bin/instance-connect-keys",)


def is_vendors():
    return os.environ.get("STOKER_LAB_IMAGE") == VENDOR


def packages():
    if is_vendors():
        return PACKAGES
    engines = ",podman" if os.environ.get("STOKER_LAB_IMAGE") == ENGINES else ""
    return f"{PACKAGES},{MORE}{engines}"


def disk():
    """How much a room may write: of a root disk of 8 GiB an image takes two."""
    return "6g" if is_vendors() else ""


def say(words):
    print(f"base_tree: {words}", file=sys.stderr, flush=True)


def mirror():
    """Packages come from where this machine's come from, if it is a Debian."""
    with open("/etc/os-release", encoding="utf-8") as source:
        if "ID=debian\n" not in source.read():
            return []
    told = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"], capture_output=True, text=True, check=True
    ).stdout.split()
    return [each.rstrip("/") for each in told if "security" not in each][:1]


def settle(tree):
    """The network is the room's, made before anything runs in it, and without names."""
    for unit in MASKED:
        path = os.path.join(tree, "etc/systemd/system", unit)
        if os.path.lexists(path):
            os.unlink(path)
        os.symlink("/dev/null", path)
    for name, text in FILES.items():
        with open(os.path.join(tree, name), "w", encoding="utf-8") as out:
            out.write(text)
    for name in PROGRAMS:
        os.chmod(os.path.join(tree, name), 0o755)
    for name in ("dhclient", "dhclient-script"):
        path = os.path.join(tree, "usr/sbin", name)
        if os.path.exists(path):
            os.unlink(path)


def make(folder):
    """A whole tree or none: it may be cut off at any moment."""
    user_space.run(["rm", "-rf", folder])
    os.makedirs(folder)
    tree = os.path.join(folder, "tree")
    if not shutil.which("mmdebstrap"):
        sys.exit("base_tree: there is no mmdebstrap: apt-get install mmdebstrap")
    say(f"making the disk of rooms in {folder}: about a minute")
    apart = [] if os.geteuid() == 0 else APART  # a user has no mounts outside
    command = [*apart, "mmdebstrap", "--variant=minbase", f"--include={packages()}", "bookworm", tree]
    log = os.path.join(folder, "log")
    with open(log, "wb") as out:
        failed = user_space.run(command + mirror(), stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    if failed:
        with open(log, encoding="utf-8", errors="replace") as said:
            sys.exit("base_tree: mmdebstrap failed:\n" + said.read()[-2000:])
    settle(tree)
    with open(os.path.join(folder, "whole"), "w", encoding="utf-8"):
        pass
    say("made")


def tree():
    """Its folder; waits while another test makes it."""
    version = hashlib.sha256(repr((packages(), MASKED, FILES)).encode()).hexdigest()[:12]
    folder = os.path.join(cache_root(), f"room-{version}")
    with open(folder + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(os.path.join(folder, "whole")):
            make(folder)
    return os.path.join(folder, "tree")
