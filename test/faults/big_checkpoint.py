# SPDX-License-Identifier: Apache-2.0
"""The program of killed_checkpoint.py: writes checkpoints of one large file that tells by itself
whether it is whole.

  big_checkpoint.py overwrite|rename BLOCKS LAST UNTIL STARTS

Writes the checkpoint of step K when the file UNTIL holds a number >= K, and ends after that of step
LAST. Notes in STARTS which step it found when it started: "<attempt> <step>"."""

import os
import pathlib
import struct
import sys
import time

BLOCK = 4096  # bytes
HEAD = struct.Struct("<QQ")  # step, block number


def encode(step, blocks):
    filling = bytes(BLOCK - HEAD.size)
    return b"".join(HEAD.pack(step, i) + filling for i in range(blocks))


def decode(data, blocks):
    """Its step; None = it is torn."""
    if len(data) != BLOCK * blocks:
        return None
    step = HEAD.unpack_from(data)[0]
    return step if data == encode(step, blocks) else None


def main(style, blocks, last, until, starts):
    folder = pathlib.Path(os.environ["STOKER_CHECKPOINT_DIR"])
    folder.mkdir(exist_ok=True)
    file = folder / "model.bin"
    step = decode(file.read_bytes(), blocks) if file.exists() else 0
    with open(starts, "a", encoding="ascii") as out:
        out.write(f"{os.environ['STOKER_ATTEMPT']} {'torn' if step is None else step}\n")
    if step is None:
        sys.exit("the checkpoint is torn")
    while step < last:
        if int(pathlib.Path(until).read_text(encoding="ascii")) <= step:
            time.sleep(0.02)
            continue
        step += 1
        target = file if style == "overwrite" else folder / "model.tmp"
        target.write_bytes(encode(step, blocks))
        target.rename(file)
        print(f"step {step}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
