# SPDX-License-Identifier: Apache-2.0
"""A machine of its own for a test: Debian with systemd on Debian's kernel, in memory, in qemu. It
is interpreted (TCG), so that it needs neither /dev/kvm nor root, and has no network. The tree and
the kernel are made once under $XDG_CACHE_HOME/stoker-test: half a minute, and 400 MB."""

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

from test.cloud_env import cache_root
from test.lab.base_tree import mirror

PACKAGES = "systemd,systemd-sysv,dbus,dbus-user-session,libpam-systemd,python3,procps"
KERNEL = "linux-image-cloud-amd64"
USER = 1000
# What looks for hardware, asks at a console, or does what nobody needs here.
MASKED = (
    "console-getty.service",
    "getty@tty1.service",
    "serial-getty@ttyS0.service",
    "systemd-udevd.service",
    "systemd-udev-trigger.service",
    "systemd-timesyncd.service",
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "systemd-pstore.service",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "systemd-modules-load.service",
    "modprobe@.service",
    "systemd-update-utmp.service",
    "systemd-random-seed.service",
)
UNNEEDED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/zoneinfo", "var/cache", "var/lib/apt", "boot")


def need(program, package):
    if not shutil.which(program):
        sys.exit(f"machine: there is no {program}: apt-get install {package}")


def settle(tree):
    for name in UNNEEDED:
        shutil.rmtree(tree / name, ignore_errors=True)
    for unit in MASKED:
        path = tree / "etc/systemd/system" / unit
        path.unlink(missing_ok=True)
        path.symlink_to("/dev/null")
    (tree / "init").unlink(missing_ok=True)
    (tree / "init").symlink_to("/lib/systemd/systemd")
    (tree / "etc/machine-id").write_text("")
    with (tree / "etc/passwd").open("a") as out:
        out.write(f"user:x:{USER}:{USER}::/home/user:/bin/sh\n")
    with (tree / "etc/group").open("a") as out:
        out.write(f"user:x:{USER}:\n")
    with (tree / "etc/shadow").open("a") as out:
        out.write("user:!:19000:0:99999:7:::\n")  # PAM lets nobody in who has no line
    (tree / "home/user").mkdir(parents=True)
    os.chown(tree / "home/user", USER, USER)


def archive(tree, out):
    """As the kernel unpacks it into memory."""
    with open(out, "wb") as to:
        found = subprocess.Popen(["find", ".", "-print0"], cwd=tree, stdout=subprocess.PIPE)
        subprocess.run(["cpio", "--null", "--create", "--format=newc", "--quiet"], cwd=tree, stdin=found.stdout, stdout=to, check=True)
        assert found.wait() == 0


def bootstrap(folder, name, *words):
    with open(folder / f"{name}.log", "wb") as log:
        done = subprocess.run(
            ["mmdebstrap", *words, "bookworm", str(folder / name), *mirror()], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    if done.returncode:
        said = (folder / f"{name}.log").read_text(errors="replace")
        sys.exit(f"machine: mmdebstrap failed:\n{said[-2000:]}")


def begin(folder):
    """What is made there is whole or not at all: it may be cut off at any moment."""
    need("mmdebstrap", "mmdebstrap")
    if os.geteuid():
        sys.exit("machine: making its tree needs root, once")
    print(f"machine: making {folder}: half a minute", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def make(folder):
    need("cpio", "cpio")
    bootstrap(folder, "kernel", "--variant=extract", f"--include={KERNEL}")
    shutil.copy(next((folder / "kernel/boot").glob("vmlinuz-*")), folder / "vmlinuz")
    bootstrap(folder, "tree", "--variant=minbase", f"--include={PACKAGES}")
    settle(folder / "tree")
    archive(folder / "tree", folder / "tree.cpio")
    for name in ("kernel", "tree"):
        shutil.rmtree(folder / name)


def once(name, key, make):
    """The folder that `make` has made for `key`; waits while another test makes it."""
    version = hashlib.sha256(repr(key).encode()).hexdigest()[:12]
    folder = pathlib.Path(cache_root()) / f"{name}-{version}"
    with open(f"{folder}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            begin(folder)
            make(folder)
            (folder / "whole").touch()
    return folder


def boot(added, words, seconds, memory="1536M", cpus=2):
    """Starts the tree, with the folder `added` laid over it, and yields the lines of its console
    until it powers off: see run()."""
    folder = once("machine", (PACKAGES, KERNEL, MASKED, UNNEEDED), make)
    disk = pathlib.Path(added).parent / "disk.cpio"
    archive(added, disk)
    whole = pathlib.Path(added).parent / "whole.cpio"
    with open(whole, "wb") as out:
        for part in (folder / "tree.cpio", disk):
            with open(part, "rb") as source:
                shutil.copyfileobj(source, out)
    hardware = ["-accel", "tcg,thread=multi", "-smp", str(cpus), "-m", memory]
    yield from run([*hardware, "-kernel", str(folder / "vmlinuz"), "-initrd", str(whole)], words, seconds)


def run(hardware, words, seconds):
    """A machine of `hardware`, in qemu's words, and the lines of its console until it powers off, reboots,
    or nobody reads on: that ends it as a cut of its power does. After `seconds` it is cut off, which is
    the last line."""
    need("qemu-system-x86_64", "qemu-system-x86")
    line = f"console=ttyS0 quiet panic=-1 systemd.show_status=false {words}"
    qemu = ["qemu-system-x86_64", "-cpu", "max", "-nographic", "-no-reboot", "-nic", "none"]
    with subprocess.Popen(
        ["timeout", "--kill-after=5", str(seconds), *qemu, *hardware, "-append", line],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as machine:
        try:
            for line in machine.stdout:
                yield line.rstrip()
        finally:
            machine.terminate()  # 'timeout' hands it on
            code = machine.wait(30)
    if code == 124:
        yield f"machine: cut off after {seconds} s"
