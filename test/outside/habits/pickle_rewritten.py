# SPDX-License-Identifier: Apache-2.0
"""A pickle in a file that is opened once and written over again and again."""

import os
import pickle

from witness import Torn, agree, body, check, run

PARTS = {"model": 500_000, "optim": 500_000}
opened = []


def save(folder, step):
    if not opened:
        opened.append(os.fdopen(os.open(f"{folder}/state.pkl", os.O_RDWR | os.O_CREAT), "r+b"))
    out = opened[0]
    out.seek(0)
    pickle.dump({"step": step, **{p: body(p, step, size) for p, size in PARTS.items()}}, out)
    out.truncate()
    out.flush()
    os.fsync(out.fileno())


def load(folder):
    if not os.path.exists(f"{folder}/state.pkl"):
        return 0
    try:
        with open(f"{folder}/state.pkl", "rb") as file:
            state = pickle.load(file)
    except (EOFError, ValueError, pickle.UnpicklingError) as error:
        raise Torn("torn", f"state.pkl: {error}") from None
    return agree({"step": state["step"], **{part: check(state[part], part) for part in PARTS}})


run(save, load)
