# SPDX-License-Identifier: Apache-2.0
"""A tree of ten thousand small files, as zarr keeps chunks: the first save writes all of them, each
later one a tenth."""

import json
import os

from witness import Torn, body, check, read, run

CHUNKS = 10_000
SIZE = 120


def path_of(folder, chunk):
    return f"{folder}/weights.zarr/{chunk // 100}.0/{chunk % 100}.0"


def due(chunk, step):
    return step == 1 or chunk % 10 == step % 10


def save(folder, step):
    for row in range(CHUNKS // 100):
        os.makedirs(f"{folder}/weights.zarr/{row}.0", exist_ok=True)
    for chunk in range(CHUNKS):
        if due(chunk, step):
            with open(path_of(folder, chunk), "wb") as out:
                out.write(body(f"chunk-{chunk}", step, SIZE))
    with open(f"{folder}/weights.zarr/.zattrs", "w") as out:
        json.dump({"step": step, "chunks": CHUNKS}, out)


def load(folder):
    attributes = f"{folder}/weights.zarr/.zattrs"
    if not os.path.exists(attributes):
        if os.path.exists(f"{folder}/weights.zarr"):
            raise Torn("mixed", "chunks without .zattrs")
        return 0
    try:
        step = json.loads(read(attributes))["step"]
    except ValueError as error:
        raise Torn("torn", f".zattrs: {error}") from None
    for chunk in range(CHUNKS):
        want = max(at for at in range(1, step + 1) if at == 1 or due(chunk, at))
        try:
            found = check(read(path_of(folder, chunk)), f"chunk-{chunk}")
        except FileNotFoundError:
            raise Torn("dangling", f"chunk {chunk} of step {step} is not there") from None
        if found != want:
            raise Torn("mixed", f"chunk {chunk} is of step {found}, not {want}, at step {step}")
    return step


run(save, load)
