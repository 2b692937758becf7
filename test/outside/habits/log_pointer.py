# SPDX-License-Identifier: Apache-2.0
"""A log that stays open and only grows, and a pointer that says how far it counts."""

import json
import os

from witness import Torn, body, check, run

SIZE = 30_000
opened = []


def save(folder, step):
    if not opened:
        opened.append(open(f"{folder}/history.log", "ab", buffering=0))
    out = opened[0]
    out.write(body("record", step, SIZE))
    os.fsync(out.fileno())
    with open(f"{folder}/pointer.json.tmp", "w") as pointer:
        json.dump({"step": step, "bytes": out.tell()}, pointer)
    os.replace(f"{folder}/pointer.json.tmp", f"{folder}/pointer.json")


def load(folder):
    if not os.path.exists(f"{folder}/pointer.json"):
        if os.path.exists(f"{folder}/history.log"):
            os.truncate(f"{folder}/history.log", 0)
        return 0
    try:
        with open(f"{folder}/pointer.json") as file:
            pointer = json.load(file)
    except ValueError as error:
        raise Torn("torn", f"pointer.json: {error}") from None
    try:
        with open(f"{folder}/history.log", "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise Torn("dangling", "a pointer without its log") from None
    if len(data) < pointer["bytes"] or pointer["bytes"] != pointer["step"] * SIZE:
        raise Torn("mixed", f"{pointer} of a log of {len(data)} bytes")
    for step in range(1, pointer["step"] + 1):
        if check(data[(step - 1) * SIZE : step * SIZE], "record") != step:
            raise Torn("mixed", f"record {step} is of another step")
    os.truncate(f"{folder}/history.log", pointer["bytes"])
    return pointer["step"]


run(save, load)
