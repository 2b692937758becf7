#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program's own wall time when its output goes through the whole of `stoker run`, attached,
against `program | tee file`. Goal: at 100,000 lines a second at most 5 % slower."""

import os
import pathlib
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[1])

from bench.lib.sandbox import BENCH_BIN, STOKER, Sandbox, milliseconds, versus

RUNS = int(os.environ.get("RUNS", "5"))


def wall(box, words, report):
    subprocess.run(words, env=box.env, cwd=box.work, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(report, encoding="ascii") as file:
        return float(file.read())


def compare(title, box, lines, rate, batch, goal=""):
    report = box.root + "/report"
    program = [BENCH_BIN + "/log_flood", "produce", str(lines), str(rate), str(batch), report]
    tee, ours = [], []
    for _ in range(RUNS):
        tee.append(wall(box, ["sh", "-c", '"$@" | tee ' + box.root + "/tee.log", "sh", *program], report))
        ours.append(wall(box, [STOKER, "run", "--", *program], report))
    versus(f"{title} ({lines} lines, {RUNS} runs)", "program | tee file", milliseconds(tee), milliseconds(ours), goal)


def main():
    with Sandbox() as box:
        box.write("empty", "")
        compare("100,000 lines/s, a write each", box, 300_000, 100_000, 1, "at most 5 % slower")
        compare("100,000 lines/s, 100 a write", box, 300_000, 100_000, 100, "at most 5 % slower")
        compare("as fast as it goes, a write each", box, 1_000_000, 0, 1)
        compare("as fast as it goes, 64 KiB a write", box, 5_000_000, 0, 1300)


main()
