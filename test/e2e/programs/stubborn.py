#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that do not want to end. Usage: stubborn.py KIND; $EVIDENCE has a folder per attempt.

Every process beats: it prints "NAME NUMBER", then notes number and time in NAME.beats there and
syncs that file. So each noted line was in the pipe before, and a process lives while
its file grows.
The time of a SIGTERM goes to NAME.term. It is the same clock in every namespace."""

import os
import signal
import sys
import time

OWN = os.path.join(os.environ.get("EVIDENCE", ""), os.environ.get("STOKER_ATTEMPT", ""))
EVIDENCE = sys.argv[2] if len(sys.argv) > 2 else OWN
os.makedirs(EVIDENCE, exist_ok=True)
PAUSE = 0.02


def note(name, text, kind="beats"):
    path = os.path.join(EVIDENCE, f"{name}.{kind}")
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(fd, text.encode())
    os.fsync(fd)
    os.close(fd)


def ignore_term(name):
    signal.signal(signal.SIGTERM, lambda *_: note(name, f"{time.monotonic():.3f}\n", "term"))


def beat(name, first=0, count=None):
    number = first
    while count is None or number < first + count:
        os.write(1, f"{name} {number}\n".encode())
        note(name, f"{number} {time.monotonic():.3f}\n")
        number += 1
        time.sleep(PAUSE)
    return number


def daemon():
    """Ignores SIGTERM; forks twice and calls setsid, and drops every mark that it inherited."""
    ignore_term("main")
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execve(sys.executable, [sys.executable, __file__, "orphan", EVIDENCE], {})
        os._exit(0)
    beat("main")


def orphan():
    ignore_term("orphan")
    beat("orphan")


def replaced():
    """Becomes another program by exec, again and again."""
    ignore_term("main")
    number = int(os.environ.get("NUMBER", "0"))
    number = beat("main", number, 20)
    os.environ["NUMBER"] = str(number)
    os.execv(sys.executable, [sys.executable, __file__, "replaced"])


def holder():
    """Main dies of SIGTERM; a child in a session of its own keeps the pipe open and ignores it."""
    if os.fork() == 0:
        os.setsid()
        ignore_term("child")
        beat("child")
    beat("main")


def holder_ends():
    """The same, but main ends by itself with 0 while the child goes on."""
    if os.fork() == 0:
        os.setsid()
        ignore_term("child")
        beat("child")
    beat("main", 0, 40)
    sys.exit(0)


def respawn():
    """A new process for every line: each forks its successor and ends. None lives long."""
    if os.fork() != 0:
        ignore_term("main")
        beat("main")
    os.setsid()
    ignore_term("chain")
    number = 0
    while True:
        os.write(1, f"chain {number}\n".encode())
        note("chain", f"{number} {time.monotonic():.3f}\n")
        number += 1
        if os.fork() != 0:
            os._exit(0)


def storm():
    """Like respawn, but without a pause; gives up by itself after a minute."""
    if os.fork() != 0:
        ignore_term("main")
        beat("main")
    ignore_term("chain")
    number = 0
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if number % 100 == 0:
            os.write(1, f"chain {number // 100}\n".encode())
            note("chain", f"{number // 100} {time.monotonic():.3f}\n")
        number += 1
        if os.fork() != 0:
            os._exit(0)
        os.setsid()


def worker():
    """What torchrun starts: one of its workers, which ignores SIGTERM."""
    name = "worker" + os.environ["RANK"]
    ignore_term(name)
    beat(name)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
