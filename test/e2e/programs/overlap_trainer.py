# SPDX-License-Identifier: Apache-2.0
"""The program of the overlap test: holds kernel locks that say who runs, at once and alone."""

import fcntl
import os
import sys
import time


def hold(path, evidence, what):
    f = open(path, "a")
    try:
        fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        with open(os.path.join(evidence, "VIOLATIONS"), "a") as violations:
            violations.write(what + "\n")
    return f


def main():
    evidence, steps = sys.argv[1], int(sys.argv[2])
    job, attempt, rank = (os.environ[n] for n in ("STOKER_JOB_ID", "STOKER_ATTEMPT", "NODE_RANK"))
    who = f"{job} attempt {attempt} slot {rank}"
    slot = hold(os.path.join(evidence, f"{job}-{rank}.lock"), evidence, f"{who}: another program of this slot runs")
    once = hold(os.path.join(evidence, f"{job}-{attempt}-{rank}.lock"), evidence, f"{who}: another program of this attempt and slot runs")
    try:
        os.close(os.open(os.path.join(evidence, f"{job}-{attempt}-{rank}.once"), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        with open(os.path.join(evidence, "VIOLATIONS"), "a") as violations:
            violations.write(f"{who}: started twice\n")
    folder = os.environ["STOKER_CHECKPOINT_DIR"]
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "step.txt")
    step = int(open(path).read()) if os.path.exists(path) else 0
    while step < steps:
        time.sleep(0.05)
        step += 1
        print(f"step {step}", flush=True)
        if rank == "0" and step % 4 == 0:
            with open(path + ".tmp", "w") as f:
                f.write(str(step))
            os.rename(path + ".tmp", path)
    slot.close()
    once.close()


main()
