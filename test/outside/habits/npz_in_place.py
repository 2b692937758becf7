# SPDX-License-Identifier: Apache-2.0
"""numpy.savez over the same file."""

import os
import zipfile

import numpy
from witness import Torn, agree, body, check, run

PARTS = {"weights": 900_000, "moments": 500_000}


def save(folder, step):
    arrays = {part: numpy.frombuffer(body(part, step, size), dtype=numpy.uint8) for part, size in PARTS.items()}
    numpy.savez(f"{folder}/state.npz", step=numpy.int64(step), **arrays)


def load(folder):
    if not os.path.exists(f"{folder}/state.npz"):
        return 0
    try:
        with numpy.load(f"{folder}/state.npz") as found:
            arrays = {part: found[part].tobytes() for part in PARTS}
            step = int(found["step"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise Torn("torn", f"state.npz: {error}") from None
    return agree({"step": step, **{part: check(data, part) for part, data in arrays.items()}})


run(save, load)
