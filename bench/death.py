#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From kill -9 of the agent to the first line that the program prints again on the terminal, which
follows the job, against a shell loop that starts the program again. The program keeps no
checkpoint, so there is nothing to restore. Goal: at most 2 s."""

import os
import pathlib
import signal
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[1])

from bench.lib.sandbox import STOKER, Sandbox, Terminal, milliseconds, versus

RUNS = int(os.environ.get("RUNS", "7"))
PROGRAM = """import os, time
print(f"started by {os.getpid()} again", flush=True)
while True: time.sleep(0.05); print("step", flush=True)
"""


def in_a_loop(box):
    terminal = Terminal(["sh", "-c", "until python3 train.py; do :; done"], box.env, box.work)
    terminal.wait_for(b"started by ")
    terminal.wait_for(b" again")
    time.sleep(1)
    with open(f"/proc/{terminal.process.pid}/task/{terminal.process.pid}/children", encoding="ascii") as file:
        program = int(file.read())
    killed = time.monotonic()
    os.kill(program, signal.SIGKILL)
    seconds = terminal.wait_for(b"started by ") - killed
    os.killpg(terminal.process.pid, signal.SIGKILL)
    terminal.close()
    return seconds


def in_a_job(box):
    terminal = Terminal([STOKER, "run", "--", "python3", "train.py"], box.env, box.work)
    terminal.wait_for(b"started by ")
    time.sleep(1)
    agents = box.processes("__agent")
    killed = time.monotonic()
    for agent in agents:
        os.kill(agent, signal.SIGKILL)
    seconds = terminal.wait_for(b"started by ") - killed
    box.stoker("cancel", "-")
    terminal.close()
    return seconds


def main():
    with Sandbox() as box:
        box.write("train.py", PROGRAM)
        loop, ours = [], []
        for _ in range(RUNS):
            loop.append(in_a_loop(box))
            ours.append(in_a_job(box))
        versus(
            f"agent killed -9 -> the program prints again, {RUNS} jobs",
            "shell loop, program killed",
            milliseconds(loop),
            milliseconds(ours),
            "at most 2000 ms",
        )


main()
