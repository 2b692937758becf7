# SPDX-License-Identifier: Apache-2.0
"""A file that is mapped all the time and written in place; `.stoker-done` says when it is whole, as
docs/checkpoints.md advises for such files, and nothing is written until it is gone again."""

import mmap
import os
import time

from witness import Torn, agree, body, check, run

PARTS = {"first": 500_000, "second": 700_000}
SIZE = sum(PARTS.values())
PATIENCE = 60
mapped = []


def mapping(path):
    if not mapped:
        with open(path, "a+b") as file:
            os.ftruncate(file.fileno(), SIZE)
            mapped.append(mmap.mmap(file.fileno(), SIZE))
    return mapped[0]


def before(folder):
    end = time.monotonic() + PATIENCE
    while os.path.exists(f"{folder}/.stoker-done"):
        if time.monotonic() > end:
            raise SystemExit("the mark is there still")
        time.sleep(0.01)


def save(folder, step):
    memory, at = mapping(f"{folder}/weights.map"), 0
    for part, size in PARTS.items():
        memory[at : at + size] = body(part, step, size)
        at += size
    memory.flush()
    with open(f"{folder}/.stoker-done", "w"):
        pass


def load(folder):
    path = f"{folder}/weights.map"
    if not os.path.exists(path):
        return 0
    with open(path, "rb") as file:
        data = file.read()
    if len(data) != SIZE:
        raise Torn("torn", f"{path}: {len(data)} bytes")
    steps, at = {}, 0
    for part, size in PARTS.items():
        steps[part] = check(data[at : at + size], part)
        at += size
    return agree(steps)


run(save, load, before)
