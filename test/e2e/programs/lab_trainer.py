# SPDX-License-Identifier: Apache-2.0
"""A trainer that leaves evidence: a kernel's lock for its job and for each of its GPUs, and a line
for each start. Two programs of one job, or on one GPU, would show.

    lab_trainer.py EVIDENCE STEPS PAUSE"""

import fcntl
import os
import pathlib
import socket
import sys
import time

evidence, steps, pause = pathlib.Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
job, attempt = os.environ["STOKER_JOB_ID"], os.environ["STOKER_ATTEMPT"]
host = socket.gethostname()
held = []


def hold(name):
    lock = open(evidence / f"lock-{name}", "a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        (evidence / f"clash-{name}-{job}-{attempt}").touch()
    held.append(lock)


hold(f"job-{job}")
for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(","):
    hold(f"gpu-{host}-{gpu}")
folder = pathlib.Path(os.environ["STOKER_CHECKPOINT_DIR"])
folder.mkdir(exist_ok=True)
state = folder / "state.txt"
step = int(state.read_text()) if state.exists() else 0
with open(evidence / f"starts-{job}", "a") as starts:
    starts.write(f"{attempt} {step} {host}\n")
while step < steps:
    step += 1
    fresh = folder / "state.txt.tmp"
    fresh.write_text(str(step))
    fresh.rename(state)
    print("step", step, flush=True)
    time.sleep(pause)
pathlib.Path("result.txt").write_text(f"{step}\n")
print("done", flush=True)
