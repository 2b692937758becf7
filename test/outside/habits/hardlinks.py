# SPDX-License-Identifier: Apache-2.0
"""A file for each save, of which `last.raw` is a second name; two stay."""

import glob
import os

from witness import Torn, agree, body, check, read, run


def save(folder, step):
    mine = f"{folder}/ckpt-{step:04d}.raw"
    with open(mine, "wb") as out:
        out.write(body("ckpt", step, 1_500_000))
    if os.path.exists(f"{folder}/last.new"):
        os.unlink(f"{folder}/last.new")
    os.link(mine, f"{folder}/last.new")
    os.replace(f"{folder}/last.new", f"{folder}/last.raw")
    old = f"{folder}/ckpt-{step - 2:04d}.raw"
    if os.path.exists(old):
        os.unlink(old)


def load(folder):
    every = [check(read(path), "ckpt") for path in glob.glob(f"{folder}/ckpt-*.raw")]
    if not os.path.exists(f"{folder}/last.raw"):
        if every:
            raise Torn("mixed", f"files of {sorted(every)} without last.raw")
        return 0
    last = check(read(f"{folder}/last.raw"), "ckpt")
    return agree({"last": last, "newest": max(every, default=last)})


run(save, load)
