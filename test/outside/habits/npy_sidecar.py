# SPDX-License-Identifier: Apache-2.0
"""An array and a small JSON file beside it that says what it is of."""

import hashlib
import json
import os

import numpy
from witness import Torn, agree, body, check, read, run


def save(folder, step):
    numpy.save(f"{folder}/weights.npy", numpy.frombuffer(body("weights", step, 900_000), dtype=numpy.uint8))
    digest = hashlib.sha256(read(f"{folder}/weights.npy")).hexdigest()
    with open(f"{folder}/weights.json", "w") as out:
        json.dump({"step": step, "sha256": digest}, out)


def load(folder):
    paths = [f"{folder}/weights.npy", f"{folder}/weights.json"]
    there = [os.path.exists(path) for path in paths]
    if not any(there):
        return 0
    if not all(there):
        raise Torn("mixed", "one of an array and its JSON is not there")
    try:
        sidecar = json.loads(read(paths[1]))
        array = numpy.load(paths[0]).tobytes()
    except (OSError, ValueError, EOFError) as error:
        raise Torn("torn", str(error)) from None
    step = agree({"array": check(array, "weights"), "sidecar": sidecar["step"]})
    if hashlib.sha256(read(paths[0])).hexdigest() != sidecar["sha256"]:
        raise Torn("mixed", "the array is not the one that its JSON names")
    return step


run(save, load)
