#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoker on a machine with a real NVIDIA GPU, by hand: PyTorch on CUDA that is interrupted and goes
on, jobs that share the GPU, what is said of it, what a program that dies there leaves. The Python
that runs this needs torch; Hugging Face's transformers and Lightning for two parts.

    gpu.py [PART…]                         all parts, or these
    STOKER_GPU_REHEARSE=1 gpu.py [PART…]   without a GPU: what needs one is left out, and said"""

import pathlib
import shutil
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.gpu import machine
from test.gpu.machine import REHEARSED, GpuWorld

# Each with the seconds that it may take. Those of a row run side by side.
ROWS = [
    [("said", 60)],
    [("train", 150)],
    [("turns", 90)],
    [
        ("kinds", 90),
        ("torchrun", 90),
        ("nodes", 90),
        ("hugging", 130),
        ("lightning", 130),
        ("jax", 130),
        ("memory", 90),
        ("assertion", 90),
        ("ordinary", 90),
        ("unsaid", 90),
    ],
    [("killed", 90)],
    [("idle", 75)],
    [("stuck", 75)],
    [("pinned", 60)],
    [("big", 90)],
]
NEEDS_GPU = ("idle", "memory", "assertion")


def parts():
    from test.gpu import failing, sharing, training

    found = {}
    for module in (sharing, training, failing):
        found.update({name[5:]: value for name, value in vars(module).items() if name.startswith("part_")})
    return found


def one(name):
    """In a process of its own: `gpu.py --part NAME`."""
    from test.e2e.kit.harness import Results

    results = Results()
    with GpuWorld(name, 4242 if name == "ordinary" else None) as world:
        results.run(name, parts()[name], results, world)
        if results.failed:
            world.tell()
    results.finish()


def row(names):
    """(passed, failed) of parts side by side."""
    begun = time.monotonic()
    running = []
    for name, seconds in names:
        seconds *= 3 if REHEARSED else 1
        words = ["timeout", "-k", "10", str(seconds), sys.executable, __file__, "--part", name]
        running.append((name, seconds, subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)))
    passed = failed = 0
    for name, seconds, process in running:
        out = process.communicate()[0]
        print(f"==== {name}\n{out}", end="", flush=True)
        lines = out.splitlines()
        passed += sum(line.startswith("ok    ") for line in lines)
        said = sum(line.startswith("FAIL  ") for line in lines)
        failed += said
        if process.returncode not in (0, 1) or (process.returncode and not said):
            failed += 1
            print(f"FAIL  {name}: ended with {process.returncode} (124: {seconds} s were over)")
    print(f"      ({time.monotonic() - begun:.0f} s)", flush=True)
    return passed, failed


def main():
    if REHEARSED:
        machine.stand_in()
    if sys.argv[1:2] == ["--part"]:
        return one(sys.argv[2])
    if shutil.which("nvidia-smi") is None or not machine.gpus():
        print("skipped: nvidia-smi finds no GPU here, so nothing was tried")
        sys.exit(77)
    passed = failed = 0
    for names in ROWS:
        names = [each for each in names if not sys.argv[1:] or each[0] in sys.argv[1:]]
        for name, _ in names if REHEARSED else ():
            if name in NEEDS_GPU:
                print(f"      left out, for it takes a real GPU: {name}")
        names = [each for each in names if not (REHEARSED and each[0] in NEEDS_GPU)]
        good, bad = row(names) if names else (0, 0)
        passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
