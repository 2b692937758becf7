# SPDX-License-Identifier: Apache-2.0
"""A compressed stream, written over the same file."""

import gzip
import os
import zlib

from witness import Torn, body, check, run


def save(folder, step):
    data = body("stream", step, 600_000)
    with gzip.open(f"{folder}/state.gz", "wb", compresslevel=1) as out:
        for at in range(0, len(data), 50_000):
            out.write(data[at : at + 50_000])


def load(folder):
    if not os.path.exists(f"{folder}/state.gz"):
        return 0
    try:
        with gzip.open(f"{folder}/state.gz") as file:
            data = file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise Torn("torn", f"state.gz: {error}") from None
    return check(data, "stream")


run(save, load)
