# SPDX-License-Identifier: Apache-2.0
"""What each training writes down of itself, beside its checkpoints: what it began from, what its
library was given to save and what it then had on disk. It only reads the checkpoint folder.

    EVIDENCE      the folder of these notes
    SAVE_SECONDS  between two saves"""

import hashlib
import json
import os
import pathlib
import time

FOLDER = pathlib.Path("checkpoints")
STEPS = 12  # between two saves
PAUSE = float(os.environ.get("SAVE_SECONDS", "3")) / STEPS
ROOM = pathlib.Path(os.environ["EVIDENCE"])
ATTEMPT = os.environ.get("STOKER_ATTEMPT", "1")
RANK = int(os.environ.get("RANK", "0"))


def note(what, **more):
    if RANK != 0:
        return
    line = json.dumps({"what": what, "at": time.time(), **more}) + "\n"
    file = os.open(ROOM / f"{ATTEMPT}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, line.encode())
    os.close(file)


def digest(state):
    """Of dictionaries, lists, numbers and arrays of whichever library, by their values."""
    out = hashlib.sha256()

    def add(one):
        if isinstance(one, dict):
            for key in sorted(one, key=str):
                out.update(f"{key}:".encode())
                add(one[key])
        elif isinstance(one, (list, tuple)):
            for each in one:
                add(each)
        elif isinstance(one, bytes):
            out.update(one)
        elif hasattr(one, "detach"):
            add(one.detach().cpu().numpy())
        elif hasattr(one, "__array__"):
            import numpy

            array = numpy.asarray(one)
            out.update(f"{array.dtype}{array.shape}".encode())
            out.update(array.tobytes())
        else:
            out.update(repr(one).encode())

    add(state)
    return out.hexdigest()


def files(paths):
    """Digests of plain files, by path below the checkpoint folder; of folders all that is in
    them."""
    found = {}
    for path in paths:
        inside = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
        for one in inside:
            found[str(one.relative_to(FOLDER))] = hashlib.sha256(one.read_bytes()).hexdigest()
    return found


def began(step, state):
    note("began", step=step, hash=state)


def saves(step, state):
    """Right before the library saves it."""
    note("saves", step=step, hash=state)


def saved(step, unit, also=()):
    """Right after. `unit`: what is of this save alone; `also`: what the next one writes again."""
    at = time.time()
    note("saved", step=step, end=at, unit=files(unit), also=files(also))


def enough():
    """Is it to end? Asked after a save."""
    return (ROOM / "stop").exists()
