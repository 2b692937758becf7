# SPDX-License-Identifier: Apache-2.0
"""Who runs for a world, and what lies in its home: seen in /proc and in the file system, without a
word of stoker's."""

import hashlib
import os
import pathlib
import signal


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


class Process:
    def __init__(self, pid, parent, words, job):
        self.pid, self.parent, self.words, self.job = pid, parent, words, job

    def __str__(self):
        return f"{self.pid} {b' '.join(self.words[:3]).decode(errors='replace')[:90]}"

    def kind(self):
        """For people: what its command line says of it."""
        inner = [word for word in self.words[1:2] if word.startswith(b"__")]
        return inner[0].decode() if inner else os.path.basename(self.words[0]).decode(errors="replace")

    def is_program(self):
        return self.job is not None


def processes(root):
    """By pid, everybody whose environment or command line names a path below `root`."""
    mark, me, found = os.fsencode(root), os.getpid(), {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == me:
            continue
        words = read(f"/proc/{name}/cmdline").split(b"\0")
        environ = read(f"/proc/{name}/environ")
        if mark not in environ and not any(mark in word for word in words):
            continue
        job = None
        for one in environ.split(b"\0"):
            if one.startswith(b"STOKER_JOB_ID="):
                job = one.split(b"=", 1)[1].decode()
        stat = read(f"/proc/{name}/stat").rsplit(b")", 1)[-1].split()
        if words != [b""] and len(stat) > 1 and stat[0] not in (b"Z", b"X"):
            found[int(name)] = Process(int(name), int(stat[1]), words, job)
    return found


def of_job(everybody, job):
    """The programs of `job` and all above them, outermost first."""
    mine = {}
    for one in everybody.values():
        above = one if one.job == job else None
        while above and above.pid not in mine:
            mine[above.pid] = above
            above = everybody.get(above.parent)

    def depth(one):
        count = 0
        while one := everybody.get(one.parent):
            count += 1
        return count

    return sorted(mine.values(), key=lambda one: (depth(one), one.pid))


def send(pids, number):
    """Those that were reached."""
    reached = []
    for pid in pids:
        try:
            os.kill(pid, number)
            reached.append(pid)
        except ProcessLookupError:
            continue
    return reached


def kill(pids):
    return send(pids, signal.SIGKILL)


def tree(folder):
    """Digest by path, in hex, of every file below `folder`; paths are bytes and may be long."""
    found, root = {}, os.fsencode(folder)
    for at, _, names, fd in os.fwalk(root):
        for one in names:
            path = os.path.relpath(os.path.join(at, one), root)
            with os.fdopen(os.open(one, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=fd), "rb") as file:
                found[path.hex()] = hashlib.sha256(file.read()).hexdigest()
    return found


# What docs/ledger.md and docs/stores.md know of, outside the ledger itself: the binary that
# machines run, who this machine is, which of its instances have ended, and the room that is kept
# back for cancelling on a full disk; in the settings folder, who its person is and which stores
# were used.
KNOWN = (
    "stoker/bin/",
    "stoker/host",
    "stoker/ended/",
    "stoker/ledger/",
    "stoker/reserve",
    "stoker/swept/",
    "stoker/ui-",
    ".cache/stoker/",
    ".config/stoker/config.yaml",
    ".config/stoker/me",
    ".config/stoker/stores/",
    ".config/stoker/told-notes",
)


def strangers(home, named=()):
    """Files of `home` that nothing accounts for; those below the folders `named` are told about."""
    found = []
    for at, _, names in os.walk(home):
        found += [os.path.join(at, one) for one in names]
    told = tuple(f"{folder}/" for folder in named)
    return [path for path in found if not path.startswith(told) and not any(known in path for known in KNOWN)]


def unsaved(home):
    """The folders of `home` where what could not be kept lies, each with its job."""
    return {str(one): one.name.split("-")[0] for one in pathlib.Path(home).glob(".local/share/stoker/unsaved/*")}
