# SPDX-License-Identifier: Apache-2.0
"""torch.save to a temporary, which is then renamed."""

import os

import torch
from torch_in_place import load, state
from witness import run


def save(folder, step):
    torch.save(state(step), f"{folder}/model.pt.tmp")
    os.replace(f"{folder}/model.pt.tmp", f"{folder}/model.pt")


run(save, load)
