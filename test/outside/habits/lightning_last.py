# SPDX-License-Identifier: Apache-2.0
"""As Lightning does: a file for each save, the best two stay, and `last.ckpt` is written over."""

import glob
import os
import re

import torch
from torch_in_place import state, steps
from witness import Torn, agree, run


def save(folder, step):
    torch.save(state(step), f"{folder}/epoch={step // 10}-step={step}.ckpt")
    torch.save(state(step), f"{folder}/last.ckpt")
    for old in glob.glob(f"{folder}/epoch=*.ckpt"):
        if int(re.search(r"step=(\d+)", old)[1]) <= step - 2:
            os.unlink(old)


def load(folder):
    found = {}
    for path in glob.glob(f"{folder}/epoch=*.ckpt"):
        name = int(re.search(r"step=(\d+)", path)[1])
        found[name] = agree({**steps(path), "name": name})
    try:
        last = agree(steps(f"{folder}/last.ckpt"))
    except FileNotFoundError:
        if found:
            raise Torn("mixed", f"files of {sorted(found)} without last.ckpt") from None
        return 0
    return agree({"last": last, "newest": max(found, default=last)})


run(save, load)
