#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From the command to the first line of the program on the terminal: `stoker run -- PROGRAM`
against PROGRAM alone, in turns. Goal: at most 100 ms more. And in a loop, on a machine that has
room for one of them: the next one needs what the one before it had."""

import os
import pathlib
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[1])

from bench.lib.sandbox import STOKER, Sandbox, Terminal, figure, milliseconds, versus

RUNS = int(os.environ.get("RUNS", "25"))
PAUSE = 1  # seconds


def first_line(words, box, cwd):
    terminal = Terminal(words, box.env, cwd)
    seconds = terminal.wait_for(b"hello from the program") - terminal.began
    terminal.close()
    return seconds


def in_a_loop(box):
    """Each second one begins as soon as the one before it has ended, as the next of a loop does."""
    env = box.env
    box.env = dict(env, STOKER_CAPACITY="cpus=1 memory=0")
    words = [STOKER, "run", "--", "./prog.sh"]
    rested, second, whole = [], [], []
    for _ in range(RUNS):
        time.sleep(PAUSE)
        began = time.monotonic()
        rested.append(first_line(words, box, box.work))
        second.append(first_line(words, box, box.work))
        whole.append((time.monotonic() - began) / 2)
    box.env = env
    versus(
        f"the second run of a loop, to its first line, {RUNS} runs",
        "the same, after a pause",
        milliseconds(rested),
        milliseconds(second),
        "at most 1.3 times",
    )
    figure("a run of that loop, all of it", milliseconds(whole), "ms")


def compare(title, box, program, cwd):
    bare, ours = [], []
    for _ in range(RUNS + 1):
        bare.append(first_line(program, box, cwd))
        ours.append(first_line([STOKER, "run", "--", *program], box, cwd))
    # The first one makes the ledger and copies the binary into it: once a version.
    print(f"{title}: the very first job took {1e3 * ours[0]:.0f} ms")
    versus(f"{title}, {RUNS} runs", "the program alone", milliseconds(bare[1:]), milliseconds(ours[1:]), "at most 100 ms over it")


def main():
    with Sandbox() as box:
        box.write("prog.sh", "#!/bin/sh\necho hello from the program\n")
        box.write("prog.py", "print('hello from the program', flush=True)\n")
        compare("a shell script", box, ["./prog.sh"], box.work)
        in_a_loop(box)
        compare("a Python program", box, ["python3", "prog.py"], box.work)
        for number in range(200):
            box.write(f"module{number}.py", f"NUMBER = {number}\n" * 200)
        for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=b", "-c", "user.email=b@b", "commit", "-q", "-m", "x"]):
            subprocess.run(["git", *words], cwd=box.work, check=True)
        compare("a Python program in a git work tree of 200 files", box, ["python3", "prog.py"], box.work)


main()
