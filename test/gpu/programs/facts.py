# SPDX-License-Identifier: Apache-2.0
"""What a program sees of the machine's GPUs: one line for the tests to read."""

import json
import os

import torch

NAMES = ["CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "PET_NPROC_PER_NODE", "SKYPILOT_NUM_GPUS_PER_NODE", "STOKER_ATTEMPT", "STOKER_RESUME"]


def device():
    return "cuda" if torch.cuda.is_available() else "cpu"


def tell(**more):
    """One line, `facts {…}`."""
    seen = {name: os.environ.get(name) for name in NAMES}
    seen["available"] = torch.cuda.is_available()
    seen["count"] = torch.cuda.device_count()
    if seen["available"]:
        seen["name"] = torch.cuda.get_device_name(0)
        free, total = torch.cuda.mem_get_info()
        seen["free_mib"], seen["total_mib"] = free >> 20, total >> 20
    print("facts " + json.dumps({**seen, **more}), flush=True)


if __name__ == "__main__":
    tell()
