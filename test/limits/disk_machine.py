# SPDX-License-Identifier: Apache-2.0
"""A machine as machine.py's, with a disk, which outlives its power: Debian with systemd, podman and
what podman recommends, none of it configured, sshd, and an ordinary user. The disk is made once, under
$XDG_CACHE_HOME/stoker-test: a minute, as root, and 600 MB; each test has a copy."""

import os
import shutil
import subprocess

from test.limits import machine

# podman's own Recommends are the second line.
PACKAGES = (
    f"{machine.PACKAGES},{machine.KERNEL},kmod,podman,"
    "crun,buildah,catatonit,dbus-user-session,fuse-overlayfs,slirp4netns,uidmap,openssh-server"
)
SIZE = "3G"
# The second disk is what a test gives the machine, with a script.
UNIT = """[Unit]
Description=given
After=multi-user.target systemd-user-sessions.service systemd-logind.service
[Service]
Type=oneshot
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
ExecStart=/bin/sh -c 'mkdir -p /opt/given; mount -o ro /dev/vdb /opt/given && exec /bin/sh /opt/given/run.sh'
"""
# Its clock counts instructions, two nanoseconds each: however little this machine lets it have, nothing
# inside misses its time for that.
HARDWARE = "-accel tcg,thread=single -icount shift=1 -rtc clock=vm -smp 1 -m 2048M".split()
USER_IDS = "user:100000:65536\n"  # as useradd gives them


def settle(tree, folder):
    for name in ("vmlinuz", "initrd"):
        shutil.copy(next((tree / "boot").glob(f"{name}*")), folder / name)
    machine.settle(tree)
    for name in ("subuid", "subgid"):
        (tree / "etc" / name).write_text(USER_IDS)
    units = tree / "etc/systemd/system"
    (units / "given.service").write_text(UNIT)
    (units / "default.target.wants").mkdir(exist_ok=True)
    (units / "default.target.wants/given.service").symlink_to("/etc/systemd/system/given.service")


def pack(tree, disk, size):
    """A disk of what is in the folder `tree`."""
    machine.need("mke2fs", "e2fsprogs")
    made = subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", str(tree), str(disk), size], capture_output=True, text=True)
    if made.returncode:
        raise AssertionError(f"mke2fs {disk}: {made.stdout}{made.stderr}")


def make(folder):
    machine.bootstrap(folder, "tree", "--variant=minbase", f"--include={PACKAGES}")
    settle(folder / "tree", folder)
    pack(folder / "tree", folder / "disk", SIZE)
    shutil.rmtree(folder / "tree")


class DiskMachine:
    """`folder`: an empty one, for its disks; `given`: a folder that it has, read only, as /opt/given,
    with the script run.sh that it begins at each boot. Runs as root, as the tree was made by root."""

    def __init__(self, folder, given):
        self.base = machine.once("disk-machine", (PACKAGES, machine.MASKED, machine.UNNEEDED, UNIT, USER_IDS, SIZE), make)
        self.disk, self.given = folder / "disk", folder / "given.disk"
        subprocess.run(["cp", "--sparse=always", str(self.base / "disk"), str(self.disk)], check=True)
        size = sum(each.stat().st_size for each in given.rglob("*") if each.is_file())
        pack(given, self.given, f"{(size >> 20) + 16}M")

    def boot(self, seconds):
        """As machine.run(). What the machine has written to its disk is there at the next boot, what it
        had not is lost, as it is where power is."""
        drives = []
        # What it flushes is in this machine's memory, which is not what fails.
        for disk, more in ((self.disk, "cache=unsafe"), (self.given, "readonly=on")):
            drives += ["-drive", f"file={disk},if=virtio,format=raw,{more}"]
        start = ["-kernel", os.fspath(self.base / "vmlinuz"), "-initrd", os.fspath(self.base / "initrd")]
        yield from machine.run([*HARDWARE, *drives, *start], "root=/dev/vda rw mitigations=off", seconds)
