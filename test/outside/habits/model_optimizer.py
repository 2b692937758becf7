# SPDX-License-Identifier: Apache-2.0
"""Two files of raw bytes that must agree, one written after the other."""

import os

from witness import Torn, agree, body, check, read, run

PARTS = {"model.raw": 700_000, "optimizer.raw": 1_400_000}


def save(folder, step):
    for part, size in PARTS.items():
        with open(f"{folder}/{part}", "wb") as out:
            data = body(part, step, size)
            for at in range(0, size, 65536):
                out.write(data[at : at + 65536])


def load(folder):
    found = {part: check(read(f"{folder}/{part}"), part) for part in PARTS if os.path.exists(f"{folder}/{part}")}
    if found and len(found) < len(PARTS):
        raise Torn("mixed", f"only {sorted(found)}")
    return agree(found)


run(save, load)
