# SPDX-License-Identifier: Apache-2.0
"""A folder that is built beside the current one and takes its place by renames."""

import os
import shutil

from witness import Torn, agree, body, check, read, run

PARTS = {"model": 600_000, "optimizer": 900_000, "args": 500}


def save(folder, step):
    new, cur, old = (f"{folder}/{name}" for name in ("new", "cur", "old"))
    shutil.rmtree(new, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)
    os.mkdir(new)
    for part, size in PARTS.items():
        with open(f"{new}/{part}", "wb") as out:
            out.write(body(part, step, size))
    if os.path.exists(cur):
        os.rename(cur, old)
    os.rename(new, cur)
    shutil.rmtree(old, ignore_errors=True)


def load(folder):
    for name in ("cur", "old"):
        if os.path.isdir(f"{folder}/{name}"):
            break
    else:
        return 0
    try:
        return agree({part: check(read(f"{folder}/{name}/{part}"), part) for part in PARTS})
    except FileNotFoundError as error:
        raise Torn("torn", f"{name}: {error}") from None


run(save, load)
