# SPDX-License-Identifier: Apache-2.0
"""The safetensors format by hand: eight bytes of length, JSON, then the tensors' bytes."""

import json
import struct

from witness import Torn, body, check


def dump(path, step, sizes):
    """`sizes`: of each tensor, by name."""
    head, at = {"__metadata__": {"step": str(step)}}, 0
    for part, size in sizes.items():
        head[part] = {"dtype": "U8", "shape": [size], "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(head).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for part, size in sizes.items():
            out.write(body(part, step, size))


def steps(path):
    """Step of each tensor of the file, and of its head."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        length = struct.unpack_from("<Q", data)[0]
        head = json.loads(data[8 : 8 + length])
    except (struct.error, ValueError) as error:
        raise Torn("torn", f"{path}: {error}") from None
    found = {f"{path} head": int(head.pop("__metadata__")["step"])}
    for part, one in head.items():
        begin, end = one["data_offsets"]
        found[f"{path} {part}"] = check(data[8 + length + begin : 8 + length + end], part)
    return found
