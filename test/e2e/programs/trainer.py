#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trainer in small: saves every step by rename, resumes, and ends as it is told.

Usage: trainer.py STEPS [--pause S] [--fail-at STEP] [--code N]. Prints "start K" and "step I"."""

import argparse
import os
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("steps", type=int)
parser.add_argument("--pause", type=float, default=0.05)
parser.add_argument("--fail-at", type=int, default=-1)
parser.add_argument("--code", type=int, default=5)
args = parser.parse_args()

folder = os.environ["STOKER_CHECKPOINT_DIR"]
os.makedirs(folder, exist_ok=True)
state = os.path.join(folder, "state.txt")
step = 0
if os.path.exists(state):
    step = int(open(state, encoding="ascii").read())
resume, attempt = os.environ["STOKER_RESUME"], os.environ["STOKER_ATTEMPT"]
print(f"start {step} resume {resume} attempt {attempt}", flush=True)
while step < args.steps:
    step += 1
    with open(state + ".tmp", "w", encoding="ascii") as out:
        out.write(str(step))
    os.rename(state + ".tmp", state)
    print(f"step {step}", flush=True)
    if step == args.fail_at and os.environ["STOKER_RESUME"] == "0":
        time.sleep(3)
        print("cannot go on", file=sys.stderr, flush=True)
        sys.exit(args.code)
    time.sleep(args.pause)
print("done", flush=True)
