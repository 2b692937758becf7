# SPDX-License-Identifier: Apache-2.0
"""The program of the chaos test: trains by counting, checkpoints as plain scripts do, knows nothing
of stoker beyond the environment that any launcher gives, and leaves evidence that it cannot forge
for itself: kernel locks for "only one of me runs", block-wise self-checks for "not torn"."""

import argparse
import fcntl
import os
import struct
import sys
import time

BLOCK = struct.Struct("<QQ")  # step, block number
BLOCKS = 4096


def violation(evidence, text):
    with open(os.path.join(evidence, "VIOLATIONS"), "a") as f:
        f.write(text + "\n")
    print("VIOLATION", text, flush=True)


def lock(path):
    """Held until this process is gone: the kernel frees it, whatever kills us."""
    f = open(path, "a")
    try:
        fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return None
    return f


def encode(step):
    return b"".join(BLOCK.pack(step, i) for i in range(BLOCKS))


def decode(data, where, evidence):
    if len(data) != BLOCK.size * BLOCKS:
        violation(evidence, f"{where}: {len(data)} bytes")
        return 0
    step = BLOCK.unpack_from(data)[0]
    for i in range(BLOCKS):
        if BLOCK.unpack_from(data, i * BLOCK.size) != (step, i):
            violation(evidence, f"{where}: torn at block {i}")
            return 0
    return step


def save(style, folder, step):
    data = encode(step)
    if style == "overwrite":
        with open(os.path.join(folder, "checkpoint.pt"), "wb") as f:
            for at in range(0, len(data), 8192):
                f.write(data[at : at + 8192])
    elif style == "rename":
        path = os.path.join(folder, "state.bin")
        with open(path + ".tmp", "wb") as f:
            f.write(data)
        os.rename(path + ".tmp", path)
    else:  # step folders and a pointer
        path = os.path.join(folder, f"step-{step}")
        os.mkdir(path)
        half = len(data) // 2
        for name, part in (("model.bin", data[:half]), ("optim.bin", data[half:])):
            with open(os.path.join(path, name), "wb") as f:
                f.write(part)
        with open(os.path.join(folder, "latest"), "w") as f:
            f.write(f"step-{step}")


def load(style, folder, evidence, who):
    if style == "overwrite" or style == "rename":
        path = os.path.join(folder, "checkpoint.pt" if style == "overwrite" else "state.bin")
        if not os.path.exists(path):
            return 0
        return decode(open(path, "rb").read(), who, evidence)
    pointer = os.path.join(folder, "latest")
    if not os.path.exists(pointer):
        return 0
    name = open(pointer).read()
    path = os.path.join(folder, name)
    if not os.path.isdir(path):
        violation(evidence, f"{who}: latest names {name!r}, which is not there")
        return 0
    data = b"".join(open(os.path.join(path, n), "rb").read() for n in ("model.bin", "optim.bin"))
    return decode(data, f"{who} {name}", evidence)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--evidence", required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--step-ms", type=int, required=True)
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--style", default="overwrite")
    parser.add_argument("--exit-code", type=int, default=0)
    args = parser.parse_args()
    env = os.environ
    job, attempt, rank = env["STOKER_JOB_ID"], env["STOKER_ATTEMPT"], env["NODE_RANK"]
    who = f"{job} attempt {attempt} node {rank}"
    base = os.path.join(args.evidence, f"{job}-{rank}")
    held = lock(base + ".lock")
    if held is None:
        violation(args.evidence, f"{who}: a program of this slot still runs")
    try:
        os.close(os.open(f"{base}-{attempt}.once", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        violation(args.evidence, f"{who}: a second program for this attempt and slot")
    folder = env["STOKER_CHECKPOINT_DIR"]
    os.makedirs(folder, exist_ok=True)
    step = load(args.style, folder, args.evidence, who)
    with open(base + ".starts", "a") as f:
        f.write(f"{attempt} {step}\n")
    print(f"start at {step}", flush=True)
    beat = open(os.path.join(args.evidence, f"beat-{job}-{rank}-{attempt}"), "a", buffering=1)
    while step < args.steps:
        time.sleep(args.step_ms / 1000)
        step += 1
        beat.write("x")
        beat.flush()
        print(f"step {step}", flush=True)
        if rank == "0" and step % args.every == 0:
            save(args.style, folder, step)
    os.makedirs("output", exist_ok=True)
    with open("output/result.txt", "w") as f:
        f.write(f"final {step} of attempt {attempt}\n")
    print(f"final {step}", flush=True)
    sys.exit(args.exit_code)


main()
