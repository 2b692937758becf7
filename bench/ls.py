#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stoker ls` with 10,000 jobs in the ledger, 20 of them running, against what one does without an
index: reading every record. Sorted and chosen by metrics, too, which four of five jobs have. Goal:
at most 100 ms."""

import glob
import os
import pathlib
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[1])

from bench.lib.sandbox import BENCH_BIN, FIGURES, STOKER, Sandbox, in_memory, milliseconds, versus

RUNS = int(os.environ.get("RUNS", "15"))
JOBS = 10_000
RUNNING = 20
BY_METRIC = "--sort val_loss --where val_acc>0.5 --columns name,val_loss,val_acc".split()
CAT = "find {}/records -type f -size +0 -exec cat {{}} +"
READ_ALL = """
import json, os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        if name.startswith(("at-", "unborn")): continue
        with open(os.path.join(folder, name)) as file: job = json.load(file)
        if job["id"] is None: print(job)
"""


def timed(words, box, check=True):
    began = time.monotonic()
    subprocess.run(words, env=box.env, cwd=box.work, check=check, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - began


def main():
    with Sandbox(in_memory(2000)) as box:
        # Builds from before there were metrics are compared by jobs that have none.
        env = dict(os.environ, **({"MANY_JOBS_METRICS": "no"} if FIGURES else {}))
        subprocess.run([BENCH_BIN + "/many_jobs", box.ledger, str(JOBS)], env=env, check=True)
        for _ in range(RUNNING):
            box.submit("--", "sleep", "600")
        plain, ours, every, ours_all, by_metric = [], [], [], [], []
        for _ in range(RUNS):
            # A record that changes just then has another file: cat says so, and goes on.
            plain.append(timed(CAT.format(box.ledger).split(), box, check=False))
            ours.append(timed([STOKER, "ls"], box))
            ours_all.append(timed([STOKER, "ls", "--all"], box))
            if not FIGURES:
                by_metric.append(timed([STOKER, "ls", *BY_METRIC], box))
        for _ in range(3):
            every.append(timed([sys.executable, "-c", READ_ALL, box.ledger + "/records"], box))
        rebuilt = []
        for _ in range(3):
            for segment in glob.glob(box.ledger + "/index/**", recursive=True):
                if os.path.isfile(segment):
                    os.unlink(segment)
            rebuilt.append(timed([STOKER, "ls"], box))
        title = f"`stoker ls`: {JOBS} jobs that ended, {RUNNING} that run"
        versus(title, "cat of every record", milliseconds(plain), milliseconds(ours), "at most 100 ms", over=False)
        versus(title, "Python reads every record", milliseconds(every), milliseconds(ours), over=False)
        versus("`stoker ls --all`", "cat of every record", milliseconds(plain), milliseconds(ours_all), over=False)
        if by_metric:
            versus(
                f"`stoker ls {' '.join(BY_METRIC)}`",
                "Python reads every record",
                milliseconds(every),
                milliseconds(by_metric),
                "at most 100 ms",
                over=False,
            )
        versus(
            "`stoker ls` that finds no index and makes it again",
            "Python reads every record",
            milliseconds(every),
            milliseconds(rebuilt),
            over=False,
        )


main()
